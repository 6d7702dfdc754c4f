"""The records of a VQA file, an object that holds one long list of them, found a few megabytes at a time."""

import functools
import hashlib
import json
import mmap
import os
import re
import stat
from array import array
from collections.abc import Iterator
from io import BufferedReader
from typing import Any

import msgspec
from msgspec import Struct

from vqa_client.errors import UNDECODABLE, DataError
from vqa_client.tasks.longbench.data_file import DataFile, open_data
from vqa_client.files import FileState, state_of

BLOCK_BYTES = 4 << 20
_TAIL_BYTES = 1 << 16
"""How far before a block's end a record is looked for that begins there."""
_SPACE = re.compile(rb"[ \t\r\n]*")
_COMMA = re.compile(rb"[ \t\r\n]*,[ \t\r\n]*")
_BETWEEN = re.compile(rb"\}[ \t\r\n]*,[ \t\r\n]*(?=\{)")
_BARE_LIST = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\[")
_SUBTYPE = re.compile(rb'"data_subtype"\s*:\s*"([^"\\]+)"')
_value_at = json.JSONDecoder(strict=False).raw_decode
_raws = msgspec.json.Decoder(list[msgspec.Raw])


class RecordList(Struct, frozen=True, kw_only=True):
    """Where the records of one file lie, and its `data_subtype` ("val2014"), "" where it doesn't say."""

    file: DataFile
    subtype: str


def read_records(path: str | os.PathLike[str], key: str) -> RecordList:
    """Find the records of a file: an object that holds them in a list under `key`, or that list alone.

    The last few files are remembered until they change. Raises DataError when the file is missing, cut or of another
    form.
    """
    name = os.fspath(path)
    try:
        found = os.stat(name)
    except OSError as error:
        raise DataError(f"can't read {name}: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode) or not found.st_size:
        raise DataError(f"{name} is {'empty' if stat.S_ISREG(found.st_mode) else 'not a file'}", hint=_hint(key))
    return _read_records(name, key, state_of(found))


def _hint(key: str) -> str:
    return f'a VQA file is a JSON object with a list of records, {{"{key}": [...]}}, in UTF-8'


@functools.lru_cache(maxsize=4)
def _read_records(path: str, key: str, state: FileState) -> RecordList:
    del state
    starts, ends = array("Q"), array("Q")
    with open_data(path) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        first, subtype = _head(file, path, key)
        for start, end in _spans(file, path, first, key):
            starts.append(start)
            ends.append(end)
        subtype = subtype or _tail_subtype(file, ends[-1] if ends else first)
    return RecordList(file=DataFile(path=path, sha256=sha256, starts=starts, ends=ends), subtype=subtype)


def _head(file: BufferedReader, path: str, key: str) -> tuple[int, str]:
    """Where the list's first record, or its end, is; and what is said of the split before it."""
    listed = re.compile(rb'"' + re.escape(key.encode()) + rb'"[ \t\r\n]*:[ \t\r\n]*\[')
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        opened = _BARE_LIST.match(text) or listed.search(text)
        if opened is None:
            raise DataError(f"{path} has no list `{key}`", hint=_hint(key))
        space = _SPACE.match(text, opened.end())
        return space.end() if space else opened.end(), _subtype(text[: opened.start()])


def _tail_subtype(file: BufferedReader, end: int) -> str:
    file.seek(end)
    return _subtype(file.read())


def _subtype(text: bytes) -> str:
    found = _SUBTYPE.search(text)
    return found[1].decode("utf-8", "replace") if found else ""


def _spans(file: BufferedReader, path: str, at: int, key: str) -> Iterator[tuple[int, int]]:
    """Give the first byte and the one after the last of each record.

    A block is cut where a record begins and handed to a parser that skips quickly; the last block, and one in which
    no such place is found, is read record by record.
    """
    while True:
        file.seek(at)
        block = file.read(BLOCK_BYTES)
        cut = _cut(block) if len(block) == BLOCK_BYTES else 0
        lengths = _lengths(block[:cut]) if cut else []
        if not lengths:
            yield from _one_by_one(block + file.read(), path, at, key)
            return
        start = 0
        for length in lengths:
            yield at + start, at + start + length
            comma = _COMMA.match(block, start + length)
            start = comma.end() if comma else cut
        at += cut


def _cut(block: bytes) -> int:
    """Where, near the block's end, a record begins; 0 where that can't be told."""
    for between in _BETWEEN.finditer(block, max(0, len(block) - _TAIL_BYTES)):
        if _is_record(block[between.end() :]):
            return between.end()
    return 0


def _is_record(text: bytes) -> bool:
    """Tell a whole record from an answer inside one, and from one that the block's end cuts."""
    try:
        value, _ = _value_at(text.decode("latin-1"))
    except ValueError:
        return False
    return "question_id" in value


def _lengths(records: bytes) -> list[int]:
    """The length of each of some records with a comma behind each; none where they are not what they seem."""
    try:
        raws = _raws.decode(b"[" + records.rstrip(b", \t\r\n") + b"]")
    except UNDECODABLE:
        return []
    return [len(raw) for raw in raws] if all(bytes(memoryview(raw)[:1]) == b"{" for raw in raws) else []


def _one_by_one(block: bytes, path: str, at: int, key: str) -> Iterator[tuple[int, int]]:
    text = block.decode("latin-1")  # one character a byte: only places are of interest here
    start = 0
    while text[start : start + 1] != "]":
        value, end = _record_at(text, start)
        if not isinstance(value, dict):
            raise _broken(path, key, at + start, text[start : start + 40])
        yield at + start, at + end
        comma, closing = _COMMA.match(block, end), _SPACE.match(block, end)
        start = comma.end() if comma else closing.end() if closing else end
        if bool(comma) == (text[start : start + 1] == "]"):
            raise _broken(path, key, at + start, text[start : start + 40])


def _record_at(text: str, start: int) -> tuple[Any, int]:
    try:
        return _value_at(text, start)
    except (ValueError, RecursionError):
        return None, start


def _broken(path: str, key: str, at: int, near: str) -> DataError:
    with open_data(path) as file:
        line = 1 + file.read(at).count(b"\n")
    seen = repr(near.split("\n")[0]) if near else "the end of the file"
    return DataError(f"{path}: the list `{key}` is broken at line {line}, at {seen}", hint=_hint(key))
