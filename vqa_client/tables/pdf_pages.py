"""The pages of PDF documents as images, drawn by PDFium: `report.pdf#3@144` is its third page at 144 dpi.

A document may also be in a cell of a table: `rows.tsv#7:image#3@144`.

PDFium isn't thread-safe, so pages are drawn in processes. A drawn page is kept in a folder with the document's digest
as its name, so that a resumed run sends the same bytes without drawing the page again.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, NamedTuple

from vqa_client.errors import DataError
from vqa_client.files import replacing, sha256_of
from vqa_client.shipped import importing
from vqa_client.tables.rows import NumberedRow, Table

if TYPE_CHECKING:
    from vqa_client.parallel import Processes

DRAWN = "drawn_pages"
"""The folder beside a report with the pages of PDF documents as they were sent."""
POINTS_PER_INCH = 72
MOST_PIXELS = 80_000_000
"""A larger page, such as a poster, is refused."""
_PLACE = re.compile(r"(?P<page>\d+)@(?P<dpi>\d+)")
_IN_DOCUMENT = re.compile(rf"(?P<document>.+)#{_PLACE.pattern}", re.DOTALL)
_PDFIUM = RLock()
_PASSWORD = 4
"""PDFium's error for a document that is encrypted."""
_ENCRYPTED = b"/Encrypt"


class PageJob(NamedTuple):
    """A page to draw; `page` counts from 1."""

    path: str
    page: int
    dpi: int


class PdfPages(Table):
    """A document whose pages are images; it has no rows."""

    def rows(self, columns: frozenset[str] | None = None) -> Iterator[NumberedRow]:
        """Raises DataError: a document has no questions."""
        raise DataError(f"{self.path} is a PDF document: these are not rows", hint="give the file with the questions")

    def image(self, place: str) -> bytes:
        """The page as PNG; raises ValueError if it doesn't exist or PDFium can't draw it."""
        match = _PLACE.fullmatch(place)
        if match is None:
            raise ValueError(f"{place!r} is not a page, such as 3@144")
        return _page(PageJob(str(self.path), int(match["page"]), int(match["dpi"])))

    def is_near(self, place: str) -> bool:
        """Drawing takes longer than reading a file."""
        return False


class _PageDrawer:
    """Draws the pages of a run in processes, which start with the first page, and keeps them in a folder."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._folder, self._workers, self._starting = folder, workers, Lock()
        self._processes: Processes[PageJob, bytes] | None = None

    def page(self, job: PageJob, document: bytes | None) -> bytes:
        """A page of the document at the job's path, or of these bytes, which are written beside their pages."""
        if document is None:
            digest = _digest(job.path, os.stat(job.path).st_mtime_ns)
        else:
            digest = hashlib.sha256(document).hexdigest()
        kept = self._folder / digest[:16] / f"{job.page}@{job.dpi}.png"
        if kept.is_file():
            return kept.read_bytes()
        if document is not None:
            job = job._replace(path=str(kept.with_name("document.pdf")))
            if not os.path.isfile(job.path):
                with replacing(Path(job.path)) as file:
                    file.write(document)
        with self._starting:
            if self._processes is None:
                from vqa_client.parallel import Processes  # most runs don't need it

                self._processes = Processes(draw, self._workers)
        page_png = self._processes.submit(job).result()
        with replacing(kept) as file:
            file.write(page_png)
        return page_png

    def close(self) -> None:
        if self._processes is not None:
            self._processes.close()


_DRAWERS: list[_PageDrawer] = []
"""Those of the runs in progress, which may overlap: the last one draws all pages."""


@contextmanager
def drawn_pages_in(folder: Path, workers: int) -> Iterator[None]:
    """Within the context, draw pages in `workers` processes and keep them in a folder; the first page makes it."""
    drawer = _PageDrawer(folder, workers)
    _DRAWERS.append(drawer)
    try:
        yield
    finally:
        _DRAWERS.remove(drawer)
        drawer.close()


def _page(job: PageJob, document: bytes | None = None) -> bytes:
    """The page as PNG, drawn in this process if no run is in progress."""
    return _DRAWERS[-1].page(job, document) if _DRAWERS else draw(job, document)


def page_count(path: str) -> int:
    """The number of pages of a document; raises ValueError if it can't be opened."""
    with _open(path) as document:
        return len(document)


def document_of(name: str) -> tuple[str, int]:
    """The document of a page and the page's number; the name itself and 0 for another image."""
    match = _IN_DOCUMENT.fullmatch(name)
    return (match["document"], int(match["page"])) if match else (name, 0)


def page_in_cell(name: str, document: bytes) -> bytes:
    """As `PdfPages.image`, for the whole name of a page and the document in its cell."""
    match = _IN_DOCUMENT.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is not a page, such as a.tsv#7:image#3@144")
    return _page(PageJob(match["document"], int(match["page"]), int(match["dpi"])), document)


def written_or_drawn(pages: Sequence[str], document: Sequence[str]) -> tuple[str, ...]:
    """The pages if they are files; else as many pages of the document in a cell, drawn at 144 dpi."""
    if len(document) != 1 or (pages and os.path.isfile(pages[0])):
        return tuple(pages)
    return tuple(f"{document[0]}#{number}@144" for number in range(1, len(pages) + 1))


def page_texts(path: str, content: bytes | None = None) -> list[str]:
    """The text layer of each page, "" if it has none; raises ValueError if the document can't be opened."""
    with _open(path, content) as document:
        return [document[at].get_textpage().get_text_range() for at in range(len(document))]


def draw(job: PageJob, content: bytes | None = None) -> bytes:
    """Draw a page as PNG: the same bytes for the same document, resolution and libraries."""
    with _open(job.path, content) as document:
        if not 0 < job.page <= len(document):
            raise ValueError(f"there is no page {job.page}: the document has {len(document)}")
        page = document[job.page - 1]
        width, height = (side * job.dpi / POINTS_PER_INCH for side in page.get_size())
        if width * height > MOST_PIXELS:
            raise ValueError(
                f"page {job.page} would have {width:,.0f} x {height:,.0f} pixels at {job.dpi} dpi; the limit is "
                f"{MOST_PIXELS:,}"
            )
        image = page.render(scale=job.dpi / POINTS_PER_INCH).to_pil()
    png = BytesIO()
    image.save(png, "PNG", compress_level=4)  # twice as quick as 6 for 4 % more bytes
    return png.getvalue()


@contextmanager
def _open(path: str, content: bytes | None = None) -> Iterator[Any]:
    """Open a document; the last two stay open, since neighbours are usually of one document."""
    with _PDFIUM:
        yield _document(path, os.stat(path).st_mtime_ns) if content is None else _load(content)


@lru_cache(maxsize=2)
def _document(path: str, changed_ns: int) -> Any:
    del changed_ns
    return _load(path)


def _load(source: str | bytes) -> Any:
    with importing("render", "PDF documents need pypdfium2"):
        from pypdfium2 import PdfDocument, PdfiumError
    try:
        return PdfDocument(source)
    except PdfiumError as error:
        content = source if isinstance(source, bytes) else Path(source).read_bytes()
        if error.err_code == _PASSWORD and _ENCRYPTED in content:  # the code may be that of another document
            raise ValueError("the document is encrypted: save it without its password") from None
        raise ValueError("PDFium can't open the document: it is damaged, or has no pages") from None


@lru_cache(maxsize=1024)
def _digest(path: str, changed_ns: int) -> str:
    del changed_ns
    return sha256_of(path)
