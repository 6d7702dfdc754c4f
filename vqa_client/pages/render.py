"""Renders documents as folders of page images: laid out in this process, drawn in several."""

import contextlib
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from vqa_client.errors import DataError, VqaClientError
from vqa_client.files import encode, natural_key, remove_leftovers, replacing
from vqa_client.pages.documents import Document, checked
from vqa_client.pages.fonts import Script, prepare, script_of
from vqa_client.pages.layout import Layout, Page, Style, boxes, canvas, cropped, typesetter
from vqa_client.pages.metadata import DocumentPages, Making, making, read_metadata, totals, write_metadata
from vqa_client.pages.page_files import (
    IMAGES,
    METADATA,
    last_pages,
    page_name,
    remove_pages,
    stamp,
    whole_page_bytes,
    whole_pages,
    write_page,
)
from vqa_client.parallel import in_processes
from vqa_client.tables.pdf_pages import PageJob, draw, page_count

_CHUNK_PAGES = 4
"""The number of pages that a process draws before it reports."""
_NO_ABOUT: Mapping[str, Any] = {"perturbation_type": "clean"}


class Rendered(Struct, frozen=True, kw_only=True):
    """The result of rendering documents into a folder.

    `pages_made` counts new pages; `missing` counts, by character, those that no font has; `cut_documents` counts
    documents that `max_pages` cut short.
    """

    documents: int
    pages: int
    pages_made: int
    size_bytes: int
    missing: dict[str, int]
    cut_documents: int


class PageStep(Struct, frozen=True, kw_only=True):
    """Progress since the previous step; `made` counts new pages, `characters` their characters."""

    documents: int
    pages: int
    made: int
    characters: int


class _Chunk(Struct, frozen=True, kw_only=True):
    """A few pages of one document, for one process."""

    folder: str
    document: DocumentPages
    script: Script
    pages: list[Page]
    style: Style
    made_sha256: str


class _Drawn(Struct, frozen=True):
    sizes_bytes: list[int]
    characters: int
    made: int
    is_last: bool
    is_cut: bool


PdfPage = tuple[PageJob, Path]
"""A page of a PDF file, and the path of its image."""


def pdf_pages(folder: Path, output: Path, *, dpi: int, max_pages: int | None) -> tuple[list[PdfPage], list[str]]:
    """The pages of a PDF file, or of all in a folder, as images/{name}_page_{NNN}.png; and why files can't be opened.

    Raises DataError if no file has a page.
    """
    pages, faults = list[PdfPage](), list[str]()
    documents = [folder] if folder.is_file() else sorted(folder.glob("*.pdf"), key=lambda path: natural_key(path.name))
    for document in documents:
        try:
            count = min(page_count(str(document)), max_pages or sys.maxsize)
        except ValueError as error:
            faults.append(f"{document}: {error}")
            continue
        for page in range(1, count + 1):
            place = output / IMAGES / f"{document.stem}_page_{page:03}.png"
            pages.append((PageJob(str(document), page, dpi), place))
    if not pages:
        why = "; ".join(faults[:3]) or (f"{folder} has no .pdf file" if folder.exists() else f"{folder} does not exist")
        raise DataError(f"nothing to draw: {why}", hint="--pdf takes a PDF file, or a folder of them")
    return pages, faults


def draw_pdf_page(job: PdfPage) -> str:
    """Draw a page unless it exists; returns the reason if it can't be drawn, else ""."""
    page, place = job
    if not place.is_file():
        try:
            drawn = draw(page)
        except ValueError as error:
            return f"{page.path}: {error}"
        with replacing(place) as file:
            file.write(drawn)
    return ""


def render_documents(
    documents: Iterable[Document],
    output: Path,
    style: Style,
    *,
    workers: int,
    advance: Callable[[PageStep], None],
    about: Mapping[str, Any] = _NO_ABOUT,
    line_bbox: bool = False,
) -> Rendered:
    """Write `output/images/{id}_page_{NNN}.png` and `output/metadata.json`; `advance` is called after every few pages.

    Whole pages of the same text, style, fonts and versions are not made again. `about` comes first in the metadata;
    `line_bbox` also writes `output/line_bbox.jsonl`. The bytes don't depend on `workers`. Raises DataError for a
    document that can't be drawn, OutputError if a file can't be written, IdentityError if the folder has pages of
    another style.
    """
    run = _Run(output, style, about)
    with contextlib.ExitStack() as open_files:
        lines = open_files.enter_context(replacing(output / "line_bbox.jsonl")) if line_bbox else None
        drawn = open_files.enter_context(
            contextlib.closing(in_processes(draw_chunk, run.chunks(documents, lines), workers=workers))
        )
        try:
            for result in drawn:
                advance(run.take(result))
        except BaseException:
            with contextlib.suppress(VqaClientError):  # the disk may be full, and another error reports that
                run.write(complete=False)
            raise
    run.write(complete=True)
    return run.rendered()


class _Run:
    """The state of each document while its chunks are drawn; results come in the order of the chunks."""

    def __init__(self, output: Path, style: Style, about: Mapping[str, Any]) -> None:
        self._style, self._purpose = style, about
        self._folder, self._metadata = output / IMAGES, output / METADATA
        self._made: Making = making(style)
        self._highest = last_pages(self._folder)
        self._earlier = read_metadata(self._metadata, self._made, has_pages=bool(self._highest))
        self._begun: deque[tuple[DocumentPages, int]] = deque()
        self._characters = 0
        self._sizes_bytes: list[int] = []
        self._done: dict[str, DocumentPages] = {}
        self._pages_made = 0
        self.write(complete=False)
        remove_leftovers(self._folder)

    def chunks(self, documents: Iterable[Document], lines: IO[bytes] | None) -> Iterator[_Chunk]:
        """Lay out documents, a few pages at a time; a finished one is an empty chunk unless its `lines` are needed."""
        for document in checked(documents):
            script = script_of(document.text)
            about = self._new_document(document, script)
            earlier = self._earlier.get(document.id)
            if lines is None and earlier and self._is_whole(earlier, about):
                self._begun.append((earlier, len(document.text)))
                yield self._chunk(earlier, script, [])
                continue
            yield from self._lay_out(document, about, script, lines)

    def _new_document(self, document: Document, script: Script) -> DocumentPages:
        faces, _ = typesetter(self._style.font, script)
        return DocumentPages(id=document.id, text_sha256=document.text_sha256, fonts=faces.digests(document.text))

    def _lay_out(
        self, document: Document, about: DocumentPages, script: Script, lines: IO[bytes] | None
    ) -> Iterator[_Chunk]:
        faces, setter = typesetter(self._style.font, script)
        prepared = prepare(document.text, faces, remove_line_breaks=self._style.remove_line_breaks)
        about = msgspec.structs.replace(about, missing=prepared.missing, removed=prepared.removed)
        self._begun.append((about, len(document.text)))
        pages = Layout(self._style, setter).pages(prepared.text)
        while chunk := list(islice(pages, _CHUNK_PAGES)):
            if lines is not None:
                lines.writelines(_box_lines(document.id, chunk, self._style))
            yield self._chunk(about, script, chunk)

    def _chunk(self, document: DocumentPages, script: Script, pages: list[Page]) -> _Chunk:
        return _Chunk(
            folder=str(self._folder),
            document=document,
            script=script,
            pages=pages,
            style=self._style,
            made_sha256=self._made.sha256(document.fonts),
        )

    def _is_whole(self, earlier: DocumentPages, now: DocumentPages) -> bool:
        if (earlier.text_sha256, earlier.fonts) != (now.text_sha256, now.fonts):
            return False
        on_disk = whole_pages(self._folder, now.id, self._made.sha256(now.fonts), now.text_sha256)
        sizes_bytes = list(islice(on_disk, earlier.pages))
        return (len(sizes_bytes), sum(sizes_bytes)) == (earlier.pages, earlier.size_bytes)

    def take(self, drawn: _Drawn) -> PageStep:
        """Record the result of a chunk."""
        self._sizes_bytes += drawn.sizes_bytes
        self._pages_made += drawn.made
        rest = self._begun[0][1] - self._characters
        if not drawn.is_last:
            characters = min(drawn.characters, rest)
            self._characters += characters
            return PageStep(documents=0, pages=len(drawn.sizes_bytes), made=drawn.made, characters=characters)
        self._characters = 0
        finished = self._finish(self._begun.popleft()[0], is_cut=drawn.is_cut)
        pages = len(drawn.sizes_bytes) or finished.pages
        return PageStep(documents=1, pages=pages, made=drawn.made, characters=rest)

    def _finish(self, document: DocumentPages, *, is_cut: bool) -> DocumentPages:
        if self._sizes_bytes:
            document = msgspec.structs.replace(
                document, pages=len(self._sizes_bytes), size_bytes=sum(self._sizes_bytes), cut=is_cut
            )
            self._sizes_bytes = []
        remove_pages(self._folder, document.id, document.pages + 1, self._highest.get(document.id, 0))
        self._done[document.id] = document
        return document

    def write(self, *, complete: bool) -> None:
        """Write the metadata: this run's documents first, then those of earlier runs that it hasn't reached."""
        others = {name: pages for name, pages in self._earlier.items() if name not in self._done}
        write_metadata(self._metadata, self._made, self._done | others, self._purpose, complete=complete)

    def rendered(self) -> Rendered:
        documents = self._done.values()
        return Rendered(
            documents=len(documents),
            pages=sum(document.pages for document in documents),
            pages_made=self._pages_made,
            size_bytes=sum(document.size_bytes for document in documents),
            missing=totals(document.missing for document in documents),
            cut_documents=sum(document.cut for document in documents),
        )


def draw_chunk(chunk: _Chunk) -> _Drawn:
    """Draw and write the missing pages of a chunk."""
    sizes_bytes, made = [], 0
    for page in chunk.pages:
        path = Path(chunk.folder) / page_name(chunk.document.id, page.number)
        stamped = stamp(chunk.made_sha256, chunk.document.text_sha256, page.number)
        size_bytes = whole_page_bytes(path, stamped)
        if not size_bytes:
            sheet = canvas().draw(page, chunk.style, chunk.script)
            image = cropped(sheet, chunk.style, is_last=page.is_last)
            size_bytes = write_page(path, image, chunk.style.dpi, stamped)
            made += 1
        sizes_bytes.append(size_bytes)
    last = chunk.pages[-1] if chunk.pages else None
    return _Drawn(
        sizes_bytes,
        characters=sum(len(line.text) + 1 for page in chunk.pages for line in page.lines),
        made=made,
        is_last=last is None or last.is_last,
        is_cut=last is not None and last.is_cut,
    )


def _box_lines(document_id: str, pages: Iterable[Page], style: Style) -> Iterator[bytes]:
    for page in pages:
        for line, box in boxes(page, style):
            named = {"page": page_name(document_id, page.number), "text": line.text, "bbox": box}
            yield encode(named) + b"\n"
