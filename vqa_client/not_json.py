"""Explains why a text isn't JSON, with the place of NaN and infinities, which Python's json and pandas write."""

import re
from math import isfinite
from typing import Any, Final

_BYTE: Final = re.compile(r"\(byte (\d+)\)")
_MISSING: Final = re.compile(r"Object missing required field (`\w+`)")
_NOT_A_NUMBER: Final = re.compile(rb"NaN|Infinity")
TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},]', re.DOTALL)
_EITHER: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?(?:NaN|Infinity)', re.DOTALL)


def fault(error: Exception, text: bytes | memoryview) -> str:
    """The error of msgspec in plain words, or the item and field of `text` with NaN or an infinity."""
    if isinstance(error, RecursionError):
        return "the JSON is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.object[error.start]:#x} is not UTF-8"
    at = byte_of(error, len(text))
    literal = _NOT_A_NUMBER.match(text, at)
    if literal is None:
        return missing_named(str(error)).replace("Input data was truncated", "the JSON breaks off")
    sign = "-" if bytes(text[at - 1 : at]) == b"-" else ""
    return f"{sign}{literal[0].decode()} in {_place(text, at)}, which JSON doesn't have: write null, or an empty text"


def missing_named(words: str) -> str:
    """An error of msgspec with plain words for a missing field."""
    return _MISSING.sub(r"field \1 is missing", words)


def byte_of(error: Exception, end: int) -> int:
    """The place in an error of msgspec, `end` if it has none."""
    place = _BYTE.search(str(error))
    return int(place[1]) if place else end


def without_nan(text: bytes) -> bytes:
    """The same text with null for every NaN and infinity."""
    return _EITHER.sub(lambda match: match[0] if match[0][:1] == b'"' else b"null", text)


def not_finite(value: Any, key: str = "") -> str:
    """The first NaN or infinity in a value, as `a.b = nan`; "" if there is none."""
    if isinstance(value, float) and not isfinite(value):
        return f"{key} = {value!r}"
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    places = (not_finite(item, f"{key}.{name}".removeprefix(".")) for name, item in items)
    return next(filter(None, places), "")


def _place(text: bytes | memoryview, at: int) -> str:
    """The item of the list, or the record of JSON Lines, and the field that contain `at`."""
    around: list[str | int] = []
    name, records = "", 0
    for token in (token_match[0] for token_match in TOKEN.finditer(text, 0, at)):
        if token in (b"{", b"["):
            if around and isinstance(around[-1], str):
                around[-1] = name
            around.append("" if token == b"{" else 0)
        elif token in (b"}", b"]"):
            del around[-1:]
            records += not around
        elif token == b",":
            if around and isinstance(around[-1], int):
                around[-1] += 1
        else:
            name = token[1:-1].decode("utf-8", "replace")
    if around and isinstance(around[-1], str):
        around[-1] = name
    record = f"record {records + 1}" if records else ""
    item = f"item {int(around.pop(0)) + 1}" if around and isinstance(around[0], int) else record
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in around).removeprefix(".")
    return ", ".join(filter(None, [item, f"field `{field}`" if field else ""])) or "the text"
