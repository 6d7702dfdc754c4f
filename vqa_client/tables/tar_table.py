"""The rows of a tar file in the webdataset form: members that share a name up to its first dot are one row.

Only the headers are read, 512 bytes each: a file of 200,000 members takes 0.3 s, and no member stays in memory.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from vqa_client.errors import UNDECODABLE, DataError, reading
from vqa_client.not_json import fault
from vqa_client.tables.rows import MOST_BYTES, Here, NumberedRow, Table

_BLOCK = 512
_IMAGES = frozenset(
    ["png", "jpg", "jpeg", "jpe", "jfif", "webp", "gif", "bmp", "tif", "tiff", "avif", "heic", "heif", "pdf"]
)
_LONGEST_NAME = 1 << 16
_LINKS = {b"1": "a hard link", b"2": "a link", b"3": "a device", b"4": "a device", b"6": "a pipe"}


class _Member(NamedTuple):
    name: str
    start: int
    size: int

    def parts(self) -> tuple[str, str]:
        """The row's name and the field, split at the first dot after the last slash."""
        folder, slash, name = self.name.rpartition("/")
        key, _, field = name.partition(".")
        return folder + slash + key, field


class TarTable(Table):
    """Each row has `__key__`, a column for each field, and its images in `image`, in the order of the file.

    `json` is an object, `txt` and `cls` are texts; other members that aren't images are left out.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._index: dict[str, _Member] = {}

    def rows(self, columns: frozenset[str] | None = None) -> Iterator[NumberedRow]:
        with self._file() as file:
            for number, (key, members) in enumerate(groupby(self._members(file), key=lambda member: member.parts()[0])):
                cells: dict[str, Any] = {"__key__": key}
                images = []
                for member in members:
                    field = member.parts()[1]
                    suffix = field.rpartition(".")[2].lower()
                    if suffix in _IMAGES:
                        cells[field] = Here(self.start + member.name)
                        images.append(cells[field])
                    elif suffix in ("json", "txt", "cls"):
                        cells[field] = self._text(file, member, suffix)
                yield number, {"image": images, **cells}

    def image(self, place: str) -> bytes:
        """The bytes of a member; raises LookupError, ValueError or OSError."""
        with self._file() as file:
            if not self._index:
                self._index = {member.name: member for member in self._members(file)}
            if place not in self._index:
                raise LookupError(f"there is no {place} in this tar")
            return self._bytes(file, self._index[place])

    def is_near(self, place: str) -> bool:
        """After the first image, the places of all members are known."""
        return bool(self._index)

    def _text(self, file: int, member: _Member, suffix: str) -> Any:
        content = self._bytes(file, member)
        try:
            return msgspec.json.decode(content) if suffix == "json" else content.decode("utf-8-sig").rstrip("\r\n")
        except UNDECODABLE as error:
            raise DataError(f"{self.path}: {member.name}: {fault(error, content)}") from None

    def _bytes(self, file: int, member: _Member) -> bytes:
        if member.size > MOST_BYTES:
            raise ValueError(f"it has {member.size} bytes; at most {MOST_BYTES} are read")
        content = os.pread(file, member.size, member.start)
        if len(content) < member.size:
            raise ValueError(f"the tar is cut: {len(content)} of {member.size} bytes are there")
        return content

    @contextmanager
    def _file(self) -> Iterator[int]:
        with reading(self.path):
            descriptor = os.open(self.path, os.O_RDONLY)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _members(self, file: int) -> Iterator[_Member]:
        """The regular files (POSIX.1-2001 ustar, with GNU's long names and pax paths and sizes)."""
        at, long_name, pax_size = 0, "", None
        while (header := os.pread(file, _BLOCK, at)).strip(b"\0"):
            start = at + _BLOCK
            try:
                size, kind = _number(header[124:136]), header[156:157]
                name = long_name or _name(header)
            except (ValueError, IndexError):
                raise DataError(f"{self.path}: broken header at byte {at}", hint="fetch the file again") from None
            if kind in b"LKxg" and kind:
                if size > _LONGEST_NAME:
                    raise DataError(f"{self.path}: a name of {size} bytes; at most {_LONGEST_NAME} are read")
                content = os.pread(file, size, start)
                if kind == b"L":
                    long_name = content.rstrip(b"\0").decode("utf-8", "surrogateescape")
                elif kind == b"x":
                    pax = _pax(content)
                    long_name = pax.get("path", long_name)
                    pax_size = int(pax["size"]) if "size" in pax else None
            else:
                size = size if pax_size is None else pax_size
                self._check(name, kind)
                if kind in (b"0", b"\0", b"7") and not os.path.basename(name).startswith("."):
                    yield _Member(name.removeprefix("./"), start, size)
                long_name, pax_size = "", None
            at = start + -(-size // _BLOCK) * _BLOCK

    def _check(self, name: str, kind: bytes) -> None:
        if kind in _LINKS:
            raise DataError(f"{self.path}: {name} is {_LINKS[kind]}", hint="pack the files themselves")
        if name.startswith("/") or os.pardir in name.split("/"):
            raise DataError(f"{self.path}: {name} is outside the tar", hint="pack the files with paths of their own")


def _number(field: bytes) -> int:
    """An octal number, or a larger one in GNU's base 256."""
    if field[0] & 0x80:
        return int.from_bytes(field, "big") & ((1 << 8 * len(field) - 1) - 1)
    return int(field.strip(b"\0 ") or b"0", 8)


def _name(header: bytes) -> str:
    parts = [header[:100]]
    if header[257:263] == b"ustar\0" and header[345]:
        parts.insert(0, header[345:500])
    return b"/".join(part.partition(b"\0")[0] for part in parts).decode("utf-8", "surrogateescape")


def _pax(content: bytes) -> dict[str, str]:
    """The records `LENGTH KEY=VALUE\\n` of an extended header."""
    records = {}
    while content:
        length = int(content.partition(b" ")[0])
        key, _, value = content[:length].partition(b" ")[2].rstrip(b"\n").partition(b"=")
        records[key.decode()] = value.decode("utf-8", "surrogateescape")
        content = content[length:] if length else b""
    return records
