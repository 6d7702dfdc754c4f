"""The page reader: an OpenAI-compatible server that reads page images with Tesseract and quotes what it read.

It is an OCR baseline, not a vision-language model: it finds words in the pixels and knows nothing else.
"""

MODEL = "page-reader-ocr-baseline"
CANT_FIND = "I can't find that on the pages."
CANT_TELL = "I can't tell from the pages."
NO_PAGES = "There are no pages to read."
