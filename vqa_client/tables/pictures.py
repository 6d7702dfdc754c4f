"""The images of a cell: their names, and the bytes of those in the cell itself."""

import ast
import binascii
import os
import posixpath
import re
from pathlib import Path
from typing import Any

import msgspec

from vqa_client.tables.rows import MOST_BYTES, Here

MOST_CHARACTERS = 100_000
"""The longest text that is parsed as a Python list."""
_LEAST_BASE64 = 64
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_IMAGES = ("iVBOR", "/9j/", "R0lGOD", "UklGR", "Qk", "SUkq", "TU0A", "JVBERi")
"""The beginnings of PNG, JPEG, GIF, WebP, BMP, TIFF and PDF files in base64."""


_ADDRESS = re.compile(r"(https?|s3|gs|az):/{1,2}(?=[^/])")


def names_in(value: Any, where: str, base: Path, *, addresses: bool = False) -> list[str]:
    """The names of a cell's images: an image in the cell itself is named `where`, paths are below `base`.

    Raises ValueError for a path outside `base`, broken base64, and an address unless `addresses` are allowed.
    """
    if isinstance(value, list):
        return [
            name
            for at, item in enumerate(value)
            for name in names_in(item, f"{where}[{at}]", base, addresses=addresses)
        ]
    if isinstance(value, Here):
        return [value.name]
    if isinstance(value, dict):
        if value.get("bytes") is not None:
            return [where]
        value = value.get("path")
    if value is None or value == "":
        return []
    if not isinstance(value, str):
        raise ValueError(f"expected an image's path or bytes, got {type(value).__name__}")
    if (several := items_of(value)) is not None:
        return names_in(several, where, base, addresses=addresses)
    if _is_base64(value) or value.startswith("data:"):
        check_base64(value)
        return [where]
    if is_address(value):
        if addresses or (is_address(base) and value.startswith(f"{url_of(base)}/")):
            return [value]
        raise ValueError(
            f"{value[:80]} is an address; --images takes the one that all begin with, and `ask` has --image_urls"
        )
    return [below(base, value)]


def is_address(name: str | Path) -> bool:
    """Whether a name is an address: http(s), or an object in a store. In a Path it has one slash instead of two."""
    return ":/" in (text := str(name)) and _ADDRESS.match(text) is not None


def is_object(name: str | Path) -> bool:
    """Whether a name is the address of an object in a store."""
    return is_address(name) and not str(name).startswith("http")


def url_of(name: str | Path) -> str:
    """An address with its two slashes, without a slash at the end; another name is unchanged."""
    match = _ADDRESS.match(str(name))
    if match is None:
        return str(name)
    rest = str(name)[match.end() :].rstrip("/")
    return f"{match[1]}://{posixpath.normpath(rest) if os.pardir in rest else rest}"


def below(base: Path, name: str) -> str:
    """The path of an image below a folder; raises ValueError for a name outside it."""
    if os.path.isabs(name) and os.pardir not in Path(name).parts and Path(name).is_relative_to(base.absolute()):
        return name  # VLMEvalKit writes absolute paths
    if os.path.isabs(name) or os.pardir in Path(name).parts:
        raise ValueError(f"{name} is outside {base}; --images names the folder that all images are below")
    return f"{url_of(base)}/{name}" if is_address(base) else os.path.join(base, name)


def image_in(value: Any, item: int | None) -> bytes:
    """The bytes of the image in a cell, or of the one at `item` of a list; raises ValueError or LookupError."""
    if isinstance(value, str):
        value = value if (several := items_of(value)) is None else several
    if item is not None:
        value = value[item]
    if isinstance(value, dict):
        value = value.get("bytes")
    if not isinstance(value, str):
        raise LookupError("there is no image in this cell")
    return _decode(value)


def check_base64(text: str) -> None:
    """Raise ValueError if a text is not base64 or a data: URL of it; decoding is the fastest check."""
    try:
        _decode(text)
    except binascii.Error:
        encoded = _base64_part(text).encode("ascii", "replace").translate(None, b"\r\n \t").rstrip(b"=")
        strange = encoded.translate(None, _BASE64)
        what = f"it has the character {chr(strange[0])!r}" if strange else f"it is cut after {len(encoded)} characters"
        raise ValueError(f"broken base64: {what}") from None


def literal(text: str) -> Any:
    """The list or object that a text is in JSON, or in Python; None if it is neither.

    No code is run: `ast.literal_eval` parses Python, of at most `MOST_CHARACTERS`.
    """
    stripped = text.strip()
    if not (stripped.startswith(("[", "{")) and stripped.endswith(("]", "}"))):
        return None
    try:
        return msgspec.json.decode(stripped)
    except (ValueError, RecursionError):
        pass
    if len(stripped) > MOST_CHARACTERS:
        return None
    try:
        return ast.literal_eval(stripped)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def items_of(text: str) -> list[Any] | None:
    """The items of a text that is a list, or None; a long list, such as one of base64, is split at its commas."""
    if not (text.startswith("[") and text.endswith("]")):
        return None
    if len(text) > MOST_CHARACTERS:
        return [item.strip(" \n'\"") for item in text[1:-1].split(",")]
    value = literal(text)
    return value if isinstance(value, list) else None


def _is_base64(text: str) -> bool:
    return len(text) >= _LEAST_BASE64 and text.startswith(_IMAGES) and "." not in text[-8:]


def _base64_part(text: str) -> str:
    if not text.startswith("data:"):
        return text
    head, comma, encoded = text.partition(",")
    if not comma or not head.endswith(";base64"):
        raise ValueError("only data: URLs of base64 are read")
    return encoded


def _decode(text: str) -> bytes:
    """The bytes of base64, which may be wrapped into lines and lack its `=`; raises ValueError."""
    import pybase64

    encoded = _base64_part(text)
    if len(encoded) // 4 * 3 > MOST_BYTES:
        raise ValueError(f"the image has more than {MOST_BYTES} bytes")
    try:
        return pybase64.b64decode(encoded, validate=True)
    except binascii.Error:
        bare = "".join(encoded.split()).rstrip("=")
        return pybase64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
