"""The rows of a JSON or JSON Lines file, one after the other, whatever the file is called.

The file is mapped, not read, so that its pages are not memory of this process.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from vqa_client.errors import UNDECODABLE, DataError

FORMS_HINT = "a data file is a JSON list of rows, or one JSON object per line, in UTF-8"
_BOM = b"\xef\xbb\xbf"
_LOOKED_AT = 4096

NumberedRow = tuple[int, dict[str, Any]]
"""A row and its number in the file, counted from 0."""


def read_rows(path: Path, records: str = "") -> Iterator[NumberedRow]:
    """Give the rows of a file: of a list, of the list or object under the key `records`, or one per line.

    A row of an object has its key under "key". Raises DataError that names the file and the row.
    """
    text = _mapped(path)
    start = len(_BOM) if text[: len(_BOM)] == _BOM else 0
    first = text[start : start + _LOOKED_AT].lstrip()[:1]
    if first not in (b"[", b"{"):
        raise DataError(f"{path} begins with {text[start : start + 12]!r}: these are not rows", hint=FORMS_HINT)
    if first == b"{" and not records:
        text.seek(start)
        lines = (line for line in iter(text.readline, b"") if line.strip())
        for number, line in enumerate(lines):
            yield number, _row(path, number, line)
        return
    members: Any = memoryview(text)[start:]
    if first == b"{":
        found = _decoded(path, members, dict[str, msgspec.Raw])
        if records not in found:
            raise DataError(f"{path} has no key {records!r}", hint=f"its keys are {', '.join(sorted(found)[:8])}")
        members = found[records]
        if bytes(memoryview(members)[:1]) == b"{":
            for number, (key, row) in enumerate(_decoded(path, members, dict[str, msgspec.Raw]).items()):
                yield number, {"key": key, **_row(path, number, row)}
            return
    for number, row in enumerate(_decoded(path, members, list[msgspec.Raw])):
        yield number, _row(path, number, row)


def _mapped(path: Path) -> mmap.mmap:
    """The bytes of a file; they are let go of with the last row that is read from them."""
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:
        raise DataError(f"{path} is empty", hint=FORMS_HINT) from None
    except OSError as error:
        raise DataError(f"can't read {path}: {error.strerror or error}") from None


def _row(path: Path, number: int, row: Any) -> dict[str, Any]:
    found: dict[str, Any] = _decoded(path, row, dict[str, Any], f"row {number}: ")
    return found


def _decoded(path: Path, data: Any, kind: Any, place: str = "") -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except UNDECODABLE as error:
        raise DataError(f"{path}: {place}{error}", hint=FORMS_HINT) from None
