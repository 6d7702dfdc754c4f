"""Which records of a LongBench-v2 file are asked, and why the others are not."""

import os
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from vqa_client.errors import DataError
from vqa_client.tasks import length_cache
from vqa_client.tasks.context_length import UNKNOWN, bucket_by_size
from vqa_client.tasks.data_file import DataFile, read_index
from vqa_client.tasks.longbench import Pages, PathLike, Row

AnyRow = TypeVar("AnyRow", bound=Row)
_SHOWN_IDS = 5


class Wanted(Struct, frozen=True, kw_only=True):
    """Which documents a run asks about: not the blacklisted, of the rest the first `limit`, of these what has pages.

    Text only, what has a text is asked, pages or not. `variant` names the form in which the pages are shown.
    """

    variant: str
    pages: Pages | None
    blacklist: frozenset[str] = frozenset()
    limit: int | None = None
    text_only: bool = False

    def fault(self, row: Row) -> str:
        """Say what is wrong with a record for this run, or ""."""
        return row.fault() or (row.text_fault() if self.text_only else "")

    def nothing_to_show(self, row: Row) -> str:
        """Name the reason why a document can't be shown to the model, or ""."""
        if self.text_only:
            return "" if row.has_text() else "no_context"
        return "" if self.images(row) else "no_images"

    def images(self, row: Row) -> tuple[str, ...]:
        """Give the page images that go with a document's questions."""
        return () if self.text_only or self.pages is None else self.pages(row.name)

    def extra(self, row: Row) -> dict[str, str]:
        """Give the document's text where it goes into the prompt."""
        return {"context": row.text()} if self.text_only else {}


class Selection(Struct, Generic[AnyRow], frozen=True, kw_only=True):
    """The records of a data file that are asked, each with its context length, and those left out by reason."""

    file: DataFile
    row_type: type[AnyRow]
    hint: str
    indices: "array[int]"
    context_lengths: Sequence[str]
    left_out: dict[str, tuple[str, ...]]

    def rows(self) -> Iterator[tuple[AnyRow, str]]:
        """Give each record that is asked with its context length, in file order, read anew at each walk."""
        records = self.file.picked(self.indices)
        for (index, record), context_length in zip(records, self.context_lengths, strict=True):
            yield self.file.decode(index, record, self.row_type, hint=self.hint), context_length


def select(data_json: PathLike, row_type: type[AnyRow], wanted: Wanted, *, hint: str) -> Selection[AnyRow]:
    """Check every record of a file and choose; raises DataError that names the file, the record and the field."""
    file = read_index(data_json)
    indices, sizes = array("Q"), array("q")
    left_out: dict[str, list[str]] = {}
    considered = 0
    for index, row in _checked_rows(file, row_type, wanted, hint):
        reason = "blacklisted" if row.name in wanted.blacklist else ""
        considered += not reason
        if wanted.limit is not None and considered > wanted.limit:
            continue
        reason = reason or wanted.nothing_to_show(row)
        if reason:
            left_out.setdefault(reason, []).append(row.name)
            continue
        indices.append(index)
        sizes.append(len(row.context) if row.has_context() else -1)
    return Selection(
        file=file,
        row_type=row_type,
        hint=hint,
        indices=indices,
        context_lengths=_context_lengths(file, indices, sizes),
        left_out={reason: tuple(names) for reason, names in left_out.items()},
    )


def _context_lengths(file: DataFile, indices: "array[int]", sizes: "array[int]") -> list[str]:
    """Name each record's bucket; a size of -1 stands for no context."""
    at_once = [UNKNOWN if size < 0 else bucket_by_size(size) for size in sizes]
    unsettled = {index: size for index, size, name in zip(indices, sizes, at_once, strict=True) if not name}
    counted = length_cache.buckets(file, unsettled)
    return [name or counted[index] for index, name in zip(indices, at_once, strict=True)]


def _checked_rows(file: DataFile, row_type: type[AnyRow], wanted: Wanted, hint: str) -> Iterator[tuple[int, AnyRow]]:
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for index, record in file.records():
        row = file.decode(index, record, row_type, hint=hint)
        fault = wanted.fault(row)
        if fault:
            raise DataError(f"{file.path}: record {index} (_id {row.id!r}): {fault}", hint=hint)
        if row.name in seen:
            twice[row.name] = None
        seen.add(row.name)
        yield index, row
    if twice:
        names = ", ".join(map(repr, list(twice)[:_SHOWN_IDS]))
        more = f" and {len(twice) - _SHOWN_IDS} more" if len(twice) > _SHOWN_IDS else ""
        raise DataError(f"{file.path}: several records share an _id: {names}{more}", hint="give each one of its own")


def read_blacklist(path: PathLike | None) -> frozenset[str]:
    """Read ids, one a line; `#` begins a comment. Raises DataError when the file can't be read."""
    if path is None:
        return frozenset()
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"can't read blacklist {os.fspath(path)}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"blacklist {os.fspath(path)} is not UTF-8", hint="save it as UTF-8, one id a line") from None
    lines = (line.strip() for line in text.split("\n"))
    return frozenset(line.split(" #")[0].rstrip() for line in lines if line and not line.startswith("#"))
