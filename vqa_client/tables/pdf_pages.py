"""The pages of PDF documents as images, drawn by PDFium: `report.pdf#3@144` is its third page at 144 dpi.

A document may be in a cell of a table too: `rows.tsv#7:image#3@144`.

PDFium isn't safe for threads, so pages are drawn in processes. A drawn page is kept in a folder under the document's
digest, so that a resumed run sends the same bytes without drawing them again.
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

from vqa_client.errors import DataError, UsageError
from vqa_client.files import replacing, sha256_of
from vqa_client.shipped import install
from vqa_client.tables.rows import NumberedRow, Table

if TYPE_CHECKING:
    from vqa_client.parallel import Processes

DRAWN = "drawn_pages"
"""The folder beside a report where the pages of PDF documents are kept as they were sent."""
POINTS_PER_INCH = 72
MOST_PIXELS = 80_000_000
"""A page that would have more, such as a poster, is refused."""
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
    """A document as a place of images; it has no rows."""

    def rows(self, columns: frozenset[str] | None = None) -> Iterator[NumberedRow]:
        """None: a document is asked about, and has no questions."""
        raise DataError(f"{self.path} is a PDF document: these are not rows", hint="give the file with the questions")

    def image(self, place: str) -> bytes:
        """The page as PNG; raises ValueError where there is no such page, or where PDFium can't draw it."""
        match = _PLACE.fullmatch(place)
        if match is None:
            raise ValueError(f"{place!r} is not a page, such as 3@144")
        return _DRAWING.page(PageJob(str(self.path), int(match["page"]), int(match["dpi"])))

    def is_near(self, place: str) -> bool:
        """Whether the page is drawn already."""
        return False


class _Run:
    """Where a run keeps its drawn pages; its processes start with the first page."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder, self._workers, self._starting = folder, workers, Lock()
        self._processes: Processes[PageJob, bytes] | None = None

    def draw(self, job: PageJob) -> bytes:
        with self._starting:
            if self._processes is None:
                from vqa_client.parallel import Processes  # which most runs do without

                self._processes = Processes(draw, self._workers)
        return self._processes.submit(job).result()

    def close(self) -> None:
        if self._processes is not None:
            self._processes.close()


class _Drawing:
    """Draws pages in processes while a run is going on, in this process otherwise."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def page(self, job: PageJob, document: bytes | None = None) -> bytes:
        """A page of the document at the job's path, or of these bytes, which are written beside their pages."""
        if not self._runs:
            return draw(job, document)
        run = self._runs[-1]
        digest = _digest(job.path, os.stat(job.path).st_mtime_ns) if document is None else _short_digest(document)
        name = run.folder / digest / f"{job.page}@{job.dpi}.png"
        if name.is_file():
            return name.read_bytes()
        if document is not None:
            job = job._replace(path=str(name.with_name("document.pdf")))
            if not os.path.isfile(job.path):
                with replacing(Path(job.path)) as file:
                    file.write(document)
        page_png = run.draw(job)
        with replacing(name) as file:
            file.write(page_png)
        return page_png

    @contextmanager
    def into(self, folder: Path, workers: int) -> Iterator[None]:
        """Runs of one process may overlap: the last one that is still going on draws for all."""
        run = _Run(folder, workers)
        self._runs.append(run)
        try:
            yield
        finally:
            self._runs.remove(run)
            run.close()


_DRAWING = _Drawing()


@contextmanager
def drawn_pages_in(folder: Path, workers: int) -> Iterator[None]:
    """Meanwhile, draw pages in so many processes, and keep them in a folder, which is made with the first one."""
    with _DRAWING.into(folder, workers):
        yield


def page_count(path: str) -> int:
    """How many pages a document has; raises ValueError where it can't be opened."""
    with _open(path) as document:
        return len(document)


def document_of(name: str) -> tuple[str, int]:
    """The document that a page is drawn from and the page's number; the name and 0 for any other image."""
    match = _IN_DOCUMENT.fullmatch(name)
    return (match["document"], int(match["page"])) if match else (name, 0)


def page_in_cell(name: str, document: bytes) -> bytes:
    """As `PdfPages.image`, of a page by its whole name and the document that its cell has."""
    match = _IN_DOCUMENT.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is not a page, such as a.tsv#7:image#3@144")
    return _DRAWING.page(PageJob(match["document"], int(match["page"]), int(match["dpi"])), document)


def written_or_drawn(pages: Sequence[str], document: Sequence[str], dpi: int = 144) -> tuple[str, ...]:
    """Pages that are files; where they aren't, as many of the document in a cell, as they are drawn at `dpi`."""
    if len(document) != 1 or (pages and os.path.isfile(pages[0])):
        return tuple(pages)
    return tuple(f"{document[0]}#{number}@{dpi}" for number in range(1, len(pages) + 1))


def page_texts(path: str, content: bytes | None = None) -> list[str]:
    """The text layer of each page, "" where a page has none; raises ValueError where it can't be opened."""
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
    """A document; neighbours are mostly pages of the same one."""
    with _PDFIUM:
        yield _document(path, os.stat(path).st_mtime_ns) if content is None else _load(content)


@lru_cache(maxsize=2)
def _document(path: str, changed_ns: int) -> Any:
    del changed_ns
    return _load(path)


def _load(source: str | bytes) -> Any:
    try:
        from pypdfium2 import PdfDocument, PdfiumError
    except ImportError:
        raise UsageError("PDF documents need pypdfium2", hint=install("render")) from None
    try:
        return PdfDocument(source)
    except PdfiumError as error:
        content = source if isinstance(source, bytes) else Path(source).read_bytes()
        if error.err_code == _PASSWORD and _ENCRYPTED in content:  # the code may be left from another document
            raise ValueError("the document is encrypted: save it without its password") from None
        raise ValueError("PDFium can't open the document: it is damaged, or has no pages") from None


def _short_digest(document: bytes) -> str:
    return hashlib.sha256(document).hexdigest()[:16]


@lru_cache(maxsize=1024)
def _digest(path: str, changed_ns: int) -> str:
    del changed_ns
    return sha256_of(path)[:16]
