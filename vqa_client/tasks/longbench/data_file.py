"""The records of a JSON data file, found and read one by one, so that a 465 MB file costs a few megabytes."""

import functools
import hashlib
import mmap
import os
import re
import stat
from array import array
from collections.abc import Iterable, Iterator
from io import BufferedReader
from typing import TypeVar

import msgspec
from msgspec import Struct

from vqa_client.errors import UNDECODABLE, DataError
from vqa_client.files import FileState, state_of
from vqa_client.not_json import fault, without_nan

_NESTING = 12
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_BOM = b"\xef\xbb\xbf"
_RELEASE_BYTES = 2 << 20
_FORMS_HINT = "a data file is a JSON list of records, or one JSON record a line, in UTF-8"

Row = TypeVar("Row")


def _bracketed(depth: int) -> bytes:
    inner = _bracketed(depth - 1) if depth > 1 else rb"(?!)"
    return rb'[\[{](?:[^\[\]{}"]++|' + _STRING + rb"|" + inner + rb")*+[\]}]"


_RECORD = re.compile(rb"(?=\{)" + _bracketed(_NESTING), re.DOTALL)
_GAP = re.compile(rb"[ \t\r\n]*+")
_SEPARATORS = {False: _GAP, True: re.compile(rb"[ \t\r\n]*+(?:,[ \t\r\n]*+(?!\])|(?=\]))")}


class DataFile(Struct, frozen=True, kw_only=True):
    """Where each record of `path` begins and ends, in bytes, and the digest of the whole file."""

    path: str
    sha256: str
    starts: "array[int]"
    ends: "array[int]"

    def __len__(self) -> int:
        return len(self.starts)

    def records(self) -> Iterator[tuple[int, bytes]]:
        """Give each record's index and bytes, in file order."""
        return self.picked(range(len(self)))

    def picked(self, indices: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """Give the records at `indices`; raises DataError when the file can no longer be read."""
        with open_data(self.path) as file:
            for index in indices:
                file.seek(self.starts[index])
                yield index, file.read(self.ends[index] - self.starts[index])

    def decode(self, index: int, record: bytes, row_type: type[Row], *, hint: str = "") -> Row:
        """Read one record as `row_type`; raises DataError that names the record and the field."""
        try:
            return msgspec.json.decode(record, type=row_type)
        except UNDECODABLE as error:
            raise DataError(f"{self.path}: record {index}{_named(record)}: {fault(error, record)}", hint=hint) from None


class _AnyId(Struct):
    id: str | int = msgspec.field(name="_id", default="")


def _named(record: bytes) -> str:
    try:
        found = msgspec.json.decode(without_nan(record), type=_AnyId).id
    except UNDECODABLE:
        return ""
    return f" (_id {found!r})" if found != "" else ""


def open_data(path: str) -> BufferedReader:
    """Open a data file for reading; raises DataError that names it."""
    try:
        return open(path, "rb")
    except OSError as error:
        raise DataError(f"can't read {path}: {error.strerror or error}") from None


def read_index(path: str | os.PathLike[str]) -> DataFile:
    """Find the records of a file that holds a JSON list or one record a line, with or without a byte order mark.

    The last few files are remembered until they change. Raises DataError when the file is missing, empty or of
    another form.
    """
    name = os.fspath(path)
    try:
        found = os.stat(name)
    except OSError as error:
        raise DataError(f"can't read {name}: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise DataError(f"{name} is not a file", hint=_FORMS_HINT)
    return _read_index(name, state_of(found))


@functools.lru_cache(maxsize=4)
def _read_index(path: str, state: FileState) -> DataFile:
    size_bytes = state[0]
    if not size_bytes:
        raise DataError(f"{path} is empty", hint=_FORMS_HINT)
    typecode = "I" if size_bytes < 1 << 32 else "Q"
    starts, ends = array(typecode), array(typecode)
    with open_data(path) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            for start, end in _spans(path, text):
                starts.append(start)
                ends.append(end)
    if not starts:
        raise DataError(f"{path} holds no record", hint=_FORMS_HINT)
    return DataFile(path=path, sha256=sha256, starts=starts, ends=ends)


def _spans(path: str, text: mmap.mmap) -> Iterator[tuple[int, int]]:
    at = _end(_GAP, text, len(_BOM) if text[:3] == _BOM else 0)
    is_list = text[at : at + 1] == b"["
    if not is_list and text[at : at + 1] != b"{":
        raise DataError(f"{path} begins with {text[at : at + 12]!r}: not a list of records", hint=_FORMS_HINT)
    at = _end(_GAP, text, at + is_list)
    released = count = 0
    while text[at : at + 1] not in (b"", b"]"):
        end = _end(_RECORD, text, at)
        if end < 0:
            raise _broken(path, text, at, count)
        yield at, end
        count += 1
        released = _release(text, released, end)
        at = _end(_SEPARATORS[is_list], text, end)
        if at < 0:
            raise _broken(path, text, end, count)
    if (text[at : at + 1] == b"]") != is_list or _end(_GAP, text, at + is_list) != len(text):
        raise _broken(path, text, at, count)


def _end(pattern: re.Pattern[bytes], text: mmap.mmap, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else -1


def _release(text: mmap.mmap, released: int, at: int) -> int:
    """Let the kernel drop pages that are read: they would count as this process's memory until the file is closed."""
    if at - released < _RELEASE_BYTES or not hasattr(mmap, "MADV_DONTNEED"):
        return released
    upto = at - at % mmap.PAGESIZE
    text.madvise(mmap.MADV_DONTNEED, 0, upto)
    return upto


def _broken(path: str, text: mmap.mmap, at: int, count: int) -> DataError:
    line = 1
    for start in range(0, at, _RELEASE_BYTES):
        line += text[start : min(at, start + _RELEASE_BYTES)].count(b"\n")
    near = text[at : at + 40].split(b"\n")[0].decode("utf-8", "replace")
    return DataError(f"{path}: record {count} is no complete JSON object: line {line}, at {near!r}", hint=_FORMS_HINT)
