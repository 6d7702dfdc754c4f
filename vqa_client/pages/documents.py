"""Finds the documents that become page images: records of a data file, or the text files of a folder.

Also finds the pages of these documents in a folder.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from unicodedata import normalize

from msgspec import Struct

from vqa_client.errors import DataError, unreadable
from vqa_client.files import natural_key
from vqa_client.images.find import PageIndex
from vqa_client.pages.fonts import is_blank
from vqa_client.tables.data_file import DataFile, read_index
from vqa_client.task import Walk
from vqa_client.tasks.longbench import Row

_LONGEST_ID_BYTES = 200
_NO_NAME = re.compile(r"[/\\\x00-\x1f\x7f]|^[.~]|^$")
"""A file name with one of these can't be created, or would count as hidden."""
_SUFFIX = ".txt"
_HINT = "a record needs _id and context"


class Document(Struct, frozen=True, kw_only=True):
    """A text, and the id that its page files are named after; `place` says where the text is, for errors."""

    id: str
    text: str
    place: str = ""

    @property
    def text_sha256(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


def _of_records(file: DataFile) -> Iterator[Document]:
    for index, row in file.rows(Row, hint=_HINT):
        fault = row.fault() or row.text_fault() or ("" if row.has_context() else "field `context` is missing")
        place = f"{file.path}: record {index + 1} (_id {row.id!r})"
        if fault:
            raise DataError(f"{place}: {fault}", hint=_HINT)
        yield Document(id=row.name, text=row.text(), place=place)


def _of_files(paths: tuple[Path, ...]) -> Iterator[Document]:
    for path in paths:
        yield Document(id=path.name[: -len(_SUFFIX)], text=_read(path), place=str(path))


def read_documents(path: Path) -> Walk[Document]:
    """Find the documents of a data file, or of a folder of .txt files in UTF-8, in natural order; raises DataError."""
    if not path.is_dir():
        return Walk(partial(_of_records, read_index(path)))
    try:
        names = sorted((name for name in os.listdir(path) if name.endswith(_SUFFIX)), key=natural_key)
    except OSError as error:
        raise unreadable(path, error) from None
    if not names:
        pdf = any(name.lower().endswith(".pdf") for name in os.listdir(path))
        hint = f"--pdf {path} draws its PDF files" if pdf else "give a data file, or a folder of text files"
        raise DataError(f"{path} contains no {_SUFFIX} file", hint=hint)
    return Walk(partial(_of_files, tuple(path / name for name in names)))


def checked(documents: Iterable[Document]) -> Iterator[Document]:
    """Yield the documents; raises DataError for an empty one, an id that can't be a file name, and a repeated id."""
    names: set[str] = set()
    for document in documents:
        place = document.place or f"document {document.id!r}"
        if is_blank(document.text):
            raise DataError(f"{place}: the text is empty: there is nothing to draw", hint="leave it out")
        if _NO_NAME.search(document.id) or len(os.fsencode(document.id)) > _LONGEST_ID_BYTES:
            raise DataError(
                f"{place}: the id {document.id[:_LONGEST_ID_BYTES]!r} can't begin the name of a page file",
                hint=f"an id has no slash or control character, no dot in front, at most {_LONGEST_ID_BYTES} bytes",
            )
        name = normalize("NFC", document.id).casefold()  # some file systems ignore case
        if name in names:
            raise DataError(
                f"{place}: another document has this id, or one that differs only in case", hint="rename one"
            )
        names.add(name)
        yield document


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not in UTF-8: {error.reason} at byte {error.start}", hint="convert it") from None


class ShownDocuments(Struct, frozen=True, kw_only=True):
    """The documents of `place` that have a text and pages, in order; their pages by id; the texts' total length."""

    place: Path
    source: Walk[Document]
    pages: dict[str, tuple[str, ...]]
    characters: int

    @property
    def page_count(self) -> int:
        return sum(map(len, self.pages.values()))

    def __iter__(self) -> Iterator[Document]:
        return (document for document in self.source if document.id in self.pages)


def shown(documents: Path, folder: Path, *, limit: int | None = None) -> ShownDocuments:
    """Find the first `limit` documents whose pages are in a folder; raises DataError if there are none.

    `documents` is a data file or a folder of text files.
    """
    source, index = read_documents(documents), PageIndex(folder)
    pages: dict[str, tuple[str, ...]] = {}
    characters = 0
    for document in source:
        if len(pages) == limit:
            break
        if document.text.strip() and (paths := index.pages(document.id)):
            pages[document.id] = paths
            characters += len(document.text)
    if not pages:
        hint = "give the data file that the pages were rendered from"
        raise DataError(f"{folder}: no page of any document of {documents} that has a text", hint=hint)
    return ShownDocuments(place=documents, source=source, pages=pages, characters=characters)
