"""The records of a JSON data file by their places, at a few bytes of memory per record."""

import functools
import hashlib
import mmap
import os
import re
import stat
from array import array
from collections.abc import Iterable, Iterator
from io import BufferedReader
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from vqa_client.errors import UNDECODABLE, DataError, reading, unreadable
from vqa_client.files import FileState, state_of
from vqa_client.not_json import TOKEN, byte_of, fault, without_nan

_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
SHOWN_FIELDS = 8
_LOOKED_AT = 4096
_LINE_END = re.compile(rb"\n")
_BEFORE_VALUE = re.compile(rb'[ \t\r\n]*[{,][ \t\r\n]*"[^"\\]*+(?:\\.[^"\\]*+)*+"[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)

_skipped = msgspec.json.Decoder(Raw).decode

Row = TypeVar("Row")


class DataFile(Struct, frozen=True, kw_only=True):
    """The begin and end of each record of `path` in bytes, and the digest of the whole file.

    If the file is an object, `texts` has its texts beside the list, such as `data_subtype`.
    """

    path: str
    sha256: str
    starts: "array[int]"
    ends: "array[int]"
    texts: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.starts)

    def records(self) -> Iterator[tuple[int, bytes]]:
        """The index and the bytes of each record, in file order."""
        return self.picked(range(len(self)))

    def picked(self, indices: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """The records at `indices`; raises DataError if the file can no longer be read."""
        with _open_file(self.path) as file:
            for index in indices:
                file.seek(self.starts[index])
                yield index, file.read(self.ends[index] - self.starts[index])

    def rows(
        self, row_type: type[Row], indices: Iterable[int] | None = None, *, hint: str = ""
    ) -> Iterator[tuple[int, Row]]:
        """The index and the row of each record, or of those at `indices`; raises DataError as `decode` does."""
        for index, record in self.records() if indices is None else self.picked(indices):
            yield index, self.decode(index, record, row_type, hint=hint)

    def decode(self, index: int, record: bytes, row_type: type[Row], *, hint: str = "") -> Row:
        """Decode a record as `row_type`; raises DataError, which names the record and the field."""
        try:
            return msgspec.json.decode(record, type=row_type)
        except UNDECODABLE as error:
            problem = f"{fault(error, record)}{_present_fields(error, record)}"
            raise DataError(f"{self.path}: record {index + 1}{_id_note(record)}: {problem}", hint=hint) from None


class _AnyId(Struct):
    id: str | int = msgspec.field(name="_id", default="")


def _present_fields(error: Exception, record: bytes) -> str:
    """The fields that a record has, if one is missing."""
    if "missing required field" not in str(error):
        return ""
    fields = msgspec.json.decode(without_nan(record), type=dict[str, Raw])
    if wrapped := [name for name, value in fields.items() if re.match(rb"\[\s*\{", value)]:
        return f"; it has a list of records in `{wrapped[0]}`: give a file with that list alone"
    names = list(fields)
    return f"; it has {', '.join(names[:SHOWN_FIELDS]) or 'none'}{', ...' if len(names) > SHOWN_FIELDS else ''}"


def _likely_form(begin: bytes) -> str:
    """What a file that isn't JSON probably is, from its first bytes."""
    if begin.startswith(b"PAR1"):
        return "is Parquet, not JSON; `vqa-client ask` reads it"
    if begin.startswith(b"%PDF"):
        return "is a PDF file, not JSON; `vqa-client render --pdf` draws its pages"
    text = begin.decode("utf-8", "replace").split("\n")[0]
    if "," in text and '"' not in text[:1]:
        return "looks like CSV, not JSON; `vqa-client ask` reads it"
    return f"begins with {text[:12]!r}: not a list of records"


def _id_note(record: bytes) -> str:
    try:
        record_id = msgspec.json.decode(without_nan(record), type=_AnyId).id
    except UNDECODABLE:
        return ""
    return f" (_id {record_id!r})" if record_id != "" else ""


def _open_file(path: str) -> BufferedReader:
    with reading(path):
        return open(path, "rb")


def read_index(path: str | os.PathLike[str], key: str = "") -> DataFile:
    """Find the records of a JSON list, or of JSON Lines; a byte order mark may come first.

    With `key` the file is a list, or an object with the list under that key. The last few files are cached until they
    change. Raises DataError if the file is missing, empty or of another form.
    """
    name = os.fspath(path)
    try:
        status = os.stat(name)
    except OSError as error:
        if name.startswith("hf:"):
            hint = "this command reads a file on this disk; `vqa-client ask` and `run` read hf://OWNER/NAME"
            raise DataError(f"there is no file of the name hf://{name[3:].lstrip('/')}", hint=hint) from None
        raise unreadable(name, error) from None
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        kind = "a folder, not a file" if stat.S_ISDIR(status.st_mode) else "not a file"
        raise DataError(f"{name} is {'empty' if stat.S_ISREG(status.st_mode) else kind}", hint=_hint(key))
    return _read_index(name, key, state_of(status))


def _hint(key: str) -> str:
    """The hint on the form of the file."""
    if key:
        return f'a file of this kind is a JSON object with a list of records, {{"{key}": [...]}}, in UTF-8'
    return "a data file is a JSON list of records, or one JSON record per line, in UTF-8"


@functools.lru_cache(maxsize=4)
def _read_index(path: str, key: str, state: FileState) -> DataFile:
    typecode = "I" if state[0] < 1 << 32 else "Q"
    with _open_file(path) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    places = _RecordPlaces(path=path, key=key, text=text, starts=array(typecode), ends=array(typecode))
    places.look()
    if not places.starts:
        raise DataError(f"{path} has no record", hint=_hint(key))
    return DataFile(path=path, sha256=sha256, starts=places.starts, ends=places.ends, texts=places.texts)


class _RecordPlaces(Struct, kw_only=True):
    """Finds the places of the records in a mapped file."""

    path: str
    key: str
    text: mmap.mmap
    starts: "array[int]"
    ends: "array[int]"
    texts: dict[str, str] = {}

    def look(self) -> None:
        begin = len(_BOM) if self.text[: len(_BOM)] == _BOM else 0
        first = self.text[begin : begin + _LOOKED_AT].lstrip(_BLANK)[:1]
        if first == b"{" and self.key:
            self._in_object(begin)
        elif first == b"{":
            self._in_lines(begin)
        elif first == b"[":
            self._in_list(begin, self._decode(begin, list[Raw]))
        else:
            near = self.text[begin : begin + 40]
            raise DataError(f"{self.path} {_likely_form(near)}", hint=_hint(self.key))

    def _in_object(self, begin: int) -> None:
        members = self._decode(begin, dict[str, Raw])
        for name, value in members.items():
            before = _BEFORE_VALUE.match(self.text, begin)
            begin = before.end() if before else len(self.text)
            if name == self.key:
                break
            begin += len(value)
        if self.text[begin : begin + 1] != b"[":
            raise DataError(f"{self.path} has no list `{self.key}`", hint=_hint(self.key))
        self._in_list(begin, msgspec.json.decode(members[self.key], type=list[Raw]))
        texts = {name: value for name, value in members.items() if bytes(memoryview(value)[:1]) == b'"'}
        self.texts = {name: msgspec.json.decode(value, type=str) for name, value in texts.items()}

    def _in_list(self, end: int, records: list[Raw]) -> None:
        """Find the records of a list that begins at `end`; only commas and blanks are between them."""
        for record in records:
            start = self.text.find(b"{", end)  # without one it is -1, and the text up to there has the other value
            if self.text[end:start].strip(_BLANK) != (b"," if self.starts else b"["):
                raise self._error_at(end + 1, "not an object")
            end = start + len(record)
            self.starts.append(start)
            self.ends.append(end)

    def _in_lines(self, end: int) -> None:
        self.text.seek(end)
        for line in iter(self.text.readline, b""):
            start, end = end + len(line) - len(line.lstrip(_BLANK)), end + len(line)
            if record := line.strip(_BLANK):
                self._check(start, record)
                self.starts.append(start)
                self.ends.append(start + len(record))

    def _decode(self, begin: int, kind: type[Any]) -> Any:
        text = memoryview(self.text)[begin:]
        try:
            return msgspec.json.decode(text, type=kind)
        except UNDECODABLE as error:
            at, problem = begin + byte_of(error, len(text)), fault(error, text)
        if self.key and kind is not list[Raw]:
            list_start = re.compile(rb'"%b"\s*:\s*(?=\[)' % re.escape(self.key.encode())).search(self.text, begin, at)
            begin = list_start.end() if list_start else at
        for start, end in _by_brackets(self.text, begin):
            if start >= at:
                break
            self._check(start, self.text[start:end])
            self.starts.append(start)
        raise self._error_at(at, problem)

    def _check(self, start: int, record: bytes) -> None:
        """Raise DataError for a broken record."""
        try:
            if record[:1] == b"{":
                _skipped(record)
                return
            problem = "not an object"
        except UNDECODABLE as error:
            problem = fault(error, record)
        raise self._error_at(start, problem, _id_note(record))

    def _error_at(self, at: int, problem: str, id_note: str = "") -> DataError:
        line = 1 + len(_LINE_END.findall(self.text, 0, at))
        near = self.text[at : at + 40].split(b"\n")[0].decode("utf-8", "replace")
        place = f"line {line}, at {repr(near) if near else 'the end of the file'}"
        return DataError(
            f"{self.path}: record {len(self.starts) + 1}{id_note}: {problem}: {place}", hint=_hint(self.key)
        )


def _by_brackets(text: mmap.mmap, begin: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each object in a list that isn't valid JSON."""
    depth = start = 0
    for token in TOKEN.finditer(text, begin):
        if token[0] in (b"{", b"["):
            depth += 1
            start = token.start() if depth == 2 else start
        elif token[0] in (b"}", b"]"):
            depth -= 1
            if depth == 1:
                yield start, token.end()
    if depth > 1:
        yield start, len(text)
