"""Writing reports: the whole file or none of it, as strict JSON in UTF-8."""

import contextlib
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from vqa_client.errors import UsageError

_DIGITS = re.compile(r"([0-9]{1,18})")
BUFFER_BYTES = 1 << 18  # a report has three files open at once
_HINT = "make room or allow writing there, or choose another --output"


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of `path` when the block ends well and vanishes when it doesn't.

    Makes missing folders. Raises UsageError that names the path when the disk or the folder can't take it.
    """
    target = Path(os.path.realpath(path))
    unfinished = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        if target.exists() and not target.is_file():
            raise UsageError(f"can't write {os.fspath(path)}: it is no file", hint="name a file that may be replaced")
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(unfinished, "xb", buffering=BUFFER_BYTES) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()


def unwritable(path: str | os.PathLike[str], error: OSError) -> UsageError:
    """Say that a report can't be written, and the way out."""
    return UsageError(f"can't write {os.fspath(path)}: {error.strerror or error}", hint=_HINT)


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write one JSON value, indented."""
    with replacing(path) as file:
        file.write(indented(value) + b"\n")


def encode(value: Any) -> bytes:
    """Encode as strict JSON: NaN and infinities become null, what is no character (in a file name) becomes "?"."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(value), allow_nan=False, ensure_ascii=False)
        return text.encode("utf-8", "replace")


def indented(value: Any) -> bytes:
    """Encode for people to read, without a line feed at the end."""
    return msgspec.json.format(encode(value), indent=2)


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Give the digest of a file in hexadecimal; raises OSError."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def natural_key(text: str) -> tuple[tuple[str | int, ...], str]:
    """Give a sort key under which page_2 comes before page_10, and 20-40% before 100%, whatever the case."""
    parts = _DIGITS.split(text.casefold())
    return tuple(int(part) if at % 2 else part for at, part in enumerate(parts)), text
