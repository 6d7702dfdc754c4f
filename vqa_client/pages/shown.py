"""Which documents a folder shows, and on which pages."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from vqa_client.errors import DataError
from vqa_client.images.find import PageIndex
from vqa_client.pages.documents import Document, Source, read_documents


class Shown(Struct, frozen=True, kw_only=True):
    """The documents of `place` that have both a text and pages, in their order; the pages by id; the texts' length."""

    place: Path
    source: Source
    pages: dict[str, tuple[str, ...]]
    characters: int

    @property
    def page_count(self) -> int:
        return sum(map(len, self.pages.values()))

    def __iter__(self) -> Iterator[Document]:
        return (document for document in self.source if document.id in self.pages)


def shown(documents: Path, folder: Path, *, limit: int | None = None) -> Shown:
    """Find the first `limit` documents whose pages are in a folder; raises DataError where there are none.

    `documents` is a data file or a folder of text files.
    """
    source, index = read_documents(documents), PageIndex(folder)
    pages: dict[str, tuple[str, ...]] = {}
    characters = 0
    for document in source:
        if len(pages) == limit:
            break
        if document.text.strip() and (found := index.pages(document.id)):
            pages[document.id] = found
            characters += len(document.text)
    if not pages:
        hint = "give the data file that the pages were rendered from"
        raise DataError(f"{folder}: no page of any document of {documents} that has a text", hint=hint)
    return Shown(place=documents, source=source, pages=pages, characters=characters)
