"""What mc and niah share: records of LongBench-v2, which records are asked, and their page images."""

import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from vqa_client.errors import UNDECODABLE, DataError, UsageError, unreadable
from vqa_client.images.find import PageIndex, folder_name, page_folders
from vqa_client.reports.names import first_and_more
from vqa_client.settings.own_commands import McSettings, NiahSettings
from vqa_client.tables.data_file import DataFile, read_index
from vqa_client.tables.loading import may_repeat
from vqa_client.task import Loaded, Part, Source
from vqa_client.tasks.longbench.context_length import BUCKETS, EDGES, buckets
from vqa_client.types import UNKNOWN, Group, Note, Question

PathLike = str | os.PathLike[str]
PagesOf = Callable[[str], tuple[str, ...]]
"""The page images of a document id, in order."""
GroupValue = str | int | float | None

TEXT_ONLY = "text_only"
_EMPTY_TEXT = b'""'


class Row(Struct, frozen=True, kw_only=True):
    """The fields of every record; the context stays undecoded bytes."""

    id: str | int = msgspec.field(name="_id")
    domain: GroupValue = None
    sub_domain: GroupValue = None
    difficulty: GroupValue = None
    length: GroupValue = None
    context: Raw = Raw(b"null")

    @property
    def name(self) -> str:
        return str(self.id)

    def has_context(self) -> bool:
        """Whether the record has the document's text, even an empty one."""
        return _first_byte(self.context) == '"'

    def has_text(self) -> bool:
        """Whether the record has a text that isn't empty."""
        return self.has_context() and len(self.context) > len(_EMPTY_TEXT)

    def fault(self) -> str:
        """The fault of the record, or ""."""
        if self.id == "":
            return "field `_id` is empty"
        return "" if _first_byte(self.context) in '"n' else "field `context` is not text"

    def groups(self, context_length: str) -> dict[str, Group]:
        """The record's value of each breakdown field; a missing value is "unknown"."""
        return {
            "difficulty": group(self.difficulty),
            "length": group(self.length),
            "context_length": context_length,
            "domain": group(self.domain),
            "sub_domain": group(self.sub_domain),
        }

    def text(self) -> str:
        """The document's text; call `text_fault` first."""
        return msgspec.json.decode(self.context, type=str)

    def text_fault(self) -> str:
        """The fault of the document's text, or ""; other checks don't read the text."""
        try:
            msgspec.json.decode(self.context, type=str | None)
        except UNDECODABLE as error:
            return f"field `context` can't be read: {error}"
        return ""


def _first_byte(json: Raw) -> str:
    return chr(memoryview(json)[0])


def group(value: GroupValue) -> str:
    """The name of a group: the value as text, or "unknown"."""
    return UNKNOWN if value is None or value == "" else str(value)


def frame(options: McSettings | NiahSettings) -> Callable[[str, Question], str] | None:
    """In a text-only run the function that puts the document's text before the prompt, else None."""
    if not options.text_only:
        return None
    return lambda prompt, question: f"Context:\n{question.extra['context']}\n\n{prompt}"


class PageCounts:
    """Compares the numbers of pages in each folder with the first folder's; all have the documents in the same order.

    A document that a folder lacks isn't counted: it is left out by name. Memory: four bytes per document.
    """

    def __init__(self) -> None:
        self._first = ""
        self._counts = array("I")
        self._differing: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    def counted(self, folder: str, pages: PagesOf) -> PagesOf:
        """The same pages, counted on each call."""
        is_first, place = not self._first, -1
        self._first = self._first or folder

        def look(document_id: str) -> tuple[str, ...]:
            nonlocal place
            paths, place = pages(document_id), place + 1
            if is_first:
                self._counts.append(len(paths))
            elif paths and self._counts[place] and len(paths) != self._counts[place]:
                self._differing[folder] += 1
                self._examples.setdefault(folder, f"{document_id} has {len(paths)}, not {self._counts[place]}")
            return paths

        return look

    def report(self, note: Note) -> None:
        """Note for each folder how many documents differ, with one example: fonts may differ, or files are missing."""
        for folder, example in self._examples.items():
            count = self._differing[folder]
            note(f"documents with other numbers of pages in {folder} than in {self._first}: {count} ({example})")


AnyRow = TypeVar("AnyRow", bound=Row)
_SHOWN_IDS = 5
_LENGTHS = (UNKNOWN, *BUCKETS)
_NUMBERS = {name: number for number, name in enumerate(_LENGTHS)}
_UNSETTLED = len(_LENGTHS)


Shape = tuple[str, tuple[str, ...]]
"""A folder and the ends of its pages' names after the document's id; without a folder, whole paths."""


class ShownPages:
    """The page paths of many documents in little memory: `paths` needs a document's number and its id."""

    def __init__(self) -> None:
        self._numbers: dict[Shape, int] = {}
        self._shapes: list[Shape] = []
        self._held = array("I")

    def append(self, document_id: str, paths: tuple[str, ...]) -> None:
        shape = _shape(document_id, paths)
        number = self._numbers.setdefault(shape, len(self._shapes))
        if number == len(self._shapes):
            self._shapes.append(shape)
        self._held.append(number)

    def paths(self, place: int, document_id: str) -> tuple[str, ...]:
        """The paths of document number `place`, counted from 0."""
        folder, names = self._shapes[self._held[place]]
        if not folder:
            return names
        start = folder + document_id
        return tuple([start + name for name in names])


def _shape(document_id: str, paths: tuple[str, ...]) -> Shape:
    folder = paths[0][: paths[0].rfind(os.sep) + 1] if paths else ""
    start = folder + document_id
    if not folder or not all(path.startswith(start) for path in paths):
        return "", paths
    return folder, tuple([path[len(start) :] for path in paths])


class Wanted(Struct, frozen=True, kw_only=True):
    """Which documents a run asks about: of those not on the blacklist the first `limit`, if they have pages.

    A text-only run asks about documents with a text. `folder` is the pages' folder, or "text_only".
    """

    folder: str = ""
    pages: PagesOf | None = None
    blacklist: frozenset[str] = frozenset()
    limit: int | None = None
    text_only: bool = False

    def fault(self, row: Row) -> str:
        """The fault of a record in this run, or ""."""
        return row.fault() or (row.text_fault() if self.text_only else "")

    def nothing_to_show(self, row: Row, images: tuple[str, ...]) -> str:
        """The reason why a document can't be shown to the model, or ""."""
        if self.text_only:
            return "" if row.has_text() else "no_context"
        return "" if images else "no_images"

    def images(self, document_id: str) -> tuple[str, ...]:
        return () if self.text_only or self.pages is None else self.pages(document_id)

    def extra(self, row: Row) -> dict[str, str]:
        """The document's text where it is a part of the prompt."""
        return {"context": row.text()} if self.text_only else {}


class Selection(Struct, Generic[AnyRow], frozen=True, kw_only=True):
    """The records of a data file that are asked, their page images, and the records left out by reason.

    Memory: some 25 bytes per record, with those of `file`. `indices` are places in the file, `lengths` numbers of
    context-length buckets. `wanted` is without its pages, so that a folder's list of files can be freed.
    """

    file: DataFile
    row_type: type[AnyRow]
    hint: str
    wanted: Wanted
    indices: Sequence[int]
    images: ShownPages
    lengths: bytearray
    left_out: dict[str, tuple[str, ...]]

    def rows(self) -> Iterator[tuple[AnyRow, tuple[str, ...], str]]:
        """Each record that is asked, with its page images and context length, read from the file again."""
        for place, (_, row) in enumerate(self.file.rows(self.row_type, self.indices, hint=self.hint)):
            yield row, self.images.paths(place, row.name), _LENGTHS[self.lengths[place]]


def select(
    data_json: PathLike,
    row_type: type[AnyRow],
    wanted: Wanted,
    *,
    hint: str,
    on_chosen: Callable[[AnyRow], None] | None = None,
) -> Selection[AnyRow]:
    """Check every record of a file and choose; raises DataError that names the file, the record and the field.

    `on_chosen` is called with each chosen record while the file is read; a later record may still raise the error.
    """
    file = read_index(data_json)
    indices, lengths, shown_pages = array("I"), bytearray(), ShownPages()
    unsettled: dict[int, int] = {}
    left_out: dict[str, list[str]] = {}
    considered = 0
    for index, row in _checked_rows(file, row_type, wanted, hint):
        name = row.name
        reason = "blacklisted" if name in wanted.blacklist else ""
        considered += not reason
        if wanted.limit is not None and considered > wanted.limit:
            continue
        images = () if reason else wanted.images(name)
        reason = reason or wanted.nothing_to_show(row, images)
        if reason:
            left_out.setdefault(reason, []).append(name)
            continue
        number = _NUMBERS.get(bucket_by_size(row), _UNSETTLED)
        if number == _UNSETTLED:
            unsettled[len(indices)] = len(row.context)
        lengths.append(number)
        indices.append(index)
        shown_pages.append(name, images)
        if on_chosen is not None:
            on_chosen(row)
    counted = buckets(file, {indices[place]: size for place, size in unsettled.items()})
    for place in unsettled:
        lengths[place] = _NUMBERS[counted[indices[place]]]
    return Selection(
        file=file,
        row_type=row_type,
        hint=hint,
        wanted=replace(wanted, pages=None),
        indices=range(len(indices)) if len(indices) == len(file) else indices,
        images=shown_pages,
        lengths=lengths,
        left_out={reason: tuple(names) for reason, names in left_out.items()},
    )


def bucket_by_size(row: Row) -> str:
    """A record's bucket where its size decides it, else "".

    A token has at least one byte of text, and JSON is never shorter than its text.
    """
    if not row.has_context():
        return UNKNOWN
    return BUCKETS[0] if len(row.context) < EDGES[0] else ""


def _checked_rows(file: DataFile, row_type: type[AnyRow], wanted: Wanted, hint: str) -> Iterator[tuple[int, AnyRow]]:
    hashes = array("q", bytes(8 * len(file)))
    for index, row in file.rows(row_type, hint=hint):
        fault = wanted.fault(row)
        if fault:
            raise DataError(f"{file.path}: record {index + 1} (_id {row.id!r}): {fault}", hint=hint)
        hashes[index] = hash(row.name)
        yield index, row
    if repeated := _repeated_names(file, row_type, hashes):
        names = first_and_more([*map(repr, repeated)], _SHOWN_IDS)
        raise DataError(f"{file.path}: several records share an _id: {names}", hint="give each one of its own")


def _repeated_names(file: DataFile, row_type: type[AnyRow], hashes: "array[int]") -> list[str]:
    """The names of several records each; names are read again only where two hashes are the same."""
    if not may_repeat(hashes):
        return []
    times = Counter(row.name for _, row in file.rows(row_type))
    return [name for name, count in times.items() if count > 1]


def read_blacklist(path: PathLike | None) -> frozenset[str]:
    """Read ids, one per line; `#` begins a comment. Raises DataError when the file can't be read."""
    if path is None:
        return frozenset()
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise unreadable(f"blacklist {os.fspath(path)}", error) from None
    except UnicodeDecodeError:
        raise DataError(f"blacklist {os.fspath(path)} is not UTF-8", hint="save it as UTF-8, one id per line") from None
    lines = (line.strip() for line in text.split("\n"))
    return frozenset(line.split(" #")[0].rstrip() for line in lines if line and not line.startswith("#"))


class Documents(Struct, frozen=True, kw_only=True):
    """Loads a part for each page folder of `images`, or one of the documents' texts."""

    load: Callable[[Path, Wanted], Loaded]
    settings: McSettings | NiahSettings
    data: Path
    images: Path | None

    def __call__(self, source: Source) -> Iterator[Part]:
        """Raises UsageError or DataError."""
        settings = self.settings
        blacklist = read_blacklist(settings.blacklist)
        if not source.finds_images:
            name = TEXT_ONLY if settings.text_only else folder_name(self.images) if self.images else ""
            # one made-up page per document, so that none is left out where its pages are gone
            loaded = self.load(self.data, Wanted(folder=name, pages=lambda id: (id,), blacklist=blacklist))
            yield Part(name=name, loaded=loaded, data_path=self.data, images_dir=self.images)
            return
        wanted = Wanted(blacklist=blacklist, limit=settings.limit, text_only=settings.text_only)
        if settings.text_only:
            loaded = self.load(self.data, replace(wanted, folder=TEXT_ONLY))
            yield Part(name=TEXT_ONLY, loaded=loaded, data_path=self.data)
            return
        if self.images is None:
            read_index(self.data)  # one that can't be read is named first
            raise UsageError("there are no page images to show", hint="give their folder as --images, or --text_only")
        counts = PageCounts()
        for folder in page_folders(self.images):
            index = PageIndex(folder.path)
            pages = counts.counted(folder.name, index.pages)
            yield Part(
                name=folder.name,
                loaded=self.load(self.data, replace(wanted, folder=folder.name, pages=pages)),
                data_path=self.data,
                images_dir=folder.path,
                missing_pages=index.missing,
            )
        counts.report(source.notify)
