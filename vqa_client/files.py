"""Writing reports, the whole file or none of it, as strict JSON in UTF-8; and what no settings file may be."""

import contextlib
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from vqa_client.errors import UsageError

BUFFER_BYTES = 1 << 18  # a report has three files open at once
MOST_NESTED = 100
"""Levels of JSON in a file of settings: a walk through more would end in a RecursionError."""
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


def checked_nesting(value: Any) -> Any:
    """The same value of JSON; raises ValueError where it is nested deeper than any that is written on purpose."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MOST_NESTED:
            raise ValueError(f"it is nested more than {MOST_NESTED} levels deep")
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [each for values in inner for each in values]
    return value
