"""The page reader: an OpenAI-compatible server that reads page images with Tesseract and quotes what it read.

An OCR baseline and no vision-language model: it looks at the pixels, finds words, and knows nothing else.
"""

MODEL = "page-reader-ocr-baseline"
CANT_FIND = "I can't find that on the pages."
CANT_TELL = "I can't tell from the pages."
NO_PAGES = "There are no pages to read."
