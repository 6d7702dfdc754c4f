"""The rows of a JSON or JSON Lines file, which is mapped, so that it takes no memory of this process."""

import mmap
import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from vqa_client.errors import UNDECODABLE, DataError, unreadable
from vqa_client.not_json import fault
from vqa_client.tables.pictures import image_in
from vqa_client.tables.rows import FORMS_HINT, NumberedRow, Table, cell_place, reach

_OBJECTS = re.compile(rb"\[\s*\{")
_BOM = b"\xef\xbb\xbf"
_LOOKED_AT = 4096
_ROWS = ("annotations", "data", "entries", "examples", "instances", "items", "questions", "records", "rows", "samples")
"""Usual keys of the list of rows in an object."""


class JsonTable(Table):
    """The rows of a list, of an object with rows by key, of either under the key `records`, or one row per line.

    A row of an object has its key in "key". If `records` isn't given, an object may have one list of rows under a usual
    key. Rows of `annotations` get the fields of their image, if the object has `images` too.
    """

    def __init__(self, path: Path, records: str) -> None:
        super().__init__(path)
        self._text = _map_file(path)
        self._begin = len(_BOM) if self._text[: len(_BOM)] == _BOM else 0
        self._is_object = self._text[self._begin : self._begin + _LOOKED_AT].lstrip()[:1] == b"{"
        self._records = records or (self._list_of_rows() if self._is_object else "")
        self._adds_images = not records and self._records == "annotations"
        self._is_lines = self._is_object and not self._records and self._begins_with_row()
        if self._is_object and self._records:
            self.start += f"{self._records}."
        self._lists: dict[str, list[Any]] = {}
        self._starts = array("q")

    def rows(self, columns: frozenset[str] | None = None) -> Iterator[NumberedRow]:
        """All rows with all columns; raises DataError, which names the file and the row."""
        if self._is_lines:
            for number, (_, line) in enumerate(self._lines()):
                yield number, self._row(number, line)
            return
        members = self._members(self._records)
        if isinstance(members, dict):
            for number, (key, row) in enumerate(members.items()):
                yield number, {"key": key, **self._row(number, row)}
        else:
            images = self._images()
            for number, row in enumerate(members):
                cells = self._row(number, row)
                if images and (image := cells.get("image_id")) not in images:
                    raise DataError(f"{self.path}: row {number + 1}: `images` has no id {image!r}")
                yield number, {**images[image], **cells} if images else cells

    def image(self, place: str) -> bytes:
        """The image in a cell; raises ValueError or LookupError."""
        cell = cell_place(place)
        if self._is_lines:
            self._starts = self._starts or array("q", (at for at, _ in self._lines()))
            begin = self._starts[cell.row]
            row = self._row(cell.row, self._text[begin : self._text.find(b"\n", begin) + 1 or None])
        else:
            if cell.records not in self._lists:
                members = self._members(cell.records)
                self._lists[cell.records] = list(members.values()) if isinstance(members, dict) else members
            row = self._row(cell.row, self._lists[cell.records][cell.row])
        return image_in(reach(row, cell.column), cell.item)

    def _list_of_rows(self) -> str:
        """The key of the list of rows if the file is one object, else ""; raises DataError for several lists."""
        lines = self._lines()
        if next(lines)[1].endswith(b"}") and next(lines, None):
            return ""
        try:
            members = msgspec.json.decode(memoryview(self._text)[self._begin :], type=dict[str, msgspec.Raw])
        except UNDECODABLE:
            return ""
        names = [name for name in _ROWS if name in members and _OBJECTS.match(memoryview(members[name]))]
        if len(names) > 1:
            message = f"{self.path} has several lists of rows: {', '.join(names)}"
            raise DataError(message, hint="write the one to ask to a file of its own")
        return names[0] if names and "question" not in members else ""

    def _images(self) -> dict[Any, dict[str, Any]]:
        """The images of `annotations` by id."""
        members = (
            self._decode(memoryview(self._text)[self._begin :], dict[str, msgspec.Raw]) if self._adds_images else {}
        )
        images = self._decode(members["images"], list[dict[str, Any]]) if "images" in members else []
        return {image.pop("id", None): image for image in images}

    def _begins_with_row(self) -> bool:
        """Whether the first line is a row: an object whose values aren't all objects."""
        lines = self._lines()
        _, line = next(lines)
        if line.endswith(b"}") and next(lines, (0, b""))[1].startswith(b"{"):
            return True
        try:
            members = msgspec.json.decode(line.removesuffix(b","), type=dict[str, msgspec.Raw])
        except UNDECODABLE:
            return self._text.find(b"\n", self._begin) < 0 or not line.endswith((b"{", b","))
        return not members or not all(bytes(memoryview(member)[:1]) == b"{" for member in members.values())

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """The place and the text of each line that isn't blank."""
        at = self._begin
        while at < len(self._text):
            end = self._text.find(b"\n", at) + 1 or len(self._text)
            if line := self._text[at:end].strip():
                yield at, line
            at = end

    def _members(self, records: str) -> Any:
        """The undecoded rows: a list, or a dict by key."""
        members: Any = memoryview(self._text)[self._begin :]
        if self._is_object:
            by_name = self._decode(members, dict[str, msgspec.Raw])
            if not records:
                return by_name
            if records not in by_name:
                keys = ", ".join(sorted(by_name)[:8])
                raise DataError(f"{self.path} has no key {records!r}", hint=f"its keys are {keys}")
            members = by_name[records]
            if bytes(memoryview(members)[:1]) == b"{":
                return self._decode(members, dict[str, msgspec.Raw])
        return self._decode(members, list[msgspec.Raw])

    def _row(self, number: int, row: Any) -> dict[str, Any]:
        cells: dict[str, Any] = self._decode(row, dict[str, Any], f"row {number + 1}: ")
        return cells

    def _decode(self, data: Any, kind: Any, place: str = "") -> Any:
        try:
            return msgspec.json.decode(data, type=kind)
        except UNDECODABLE as error:
            raise DataError(f"{self.path}: {place}{fault(error, data)}", hint=FORMS_HINT) from None


def _map_file(path: Path) -> mmap.mmap:
    """Map a file; the map is closed with the last row that refers to it."""
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:
        raise DataError(f"{path} is empty", hint=FORMS_HINT) from None
    except OSError as error:
        raise unreadable(path, error) from None
