"""Writing reports: the whole file or none of it, as strict JSON in UTF-8."""

import contextlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from vqa_client.errors import UsageError

_BUFFER_BYTES = 1 << 20
_TOKEN = secrets.token_hex(8)  # so that no text of a report can be taken for a place
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
        with open(unfinished, "xb", buffering=_BUFFER_BYTES) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"can't write {os.fspath(path)}: {reason}", hint=_HINT) from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write one JSON value, indented."""
    with replacing(path) as file:
        file.write(_indented(value) + b"\n")


class Members(Struct, frozen=True):
    """The members of an object, for `write_json_streamed`, as keys and values."""

    items: Iterable[tuple[str, Any]]


def place(name: str) -> str:
    """Give the value that stands, in the content for `write_json_streamed`, where the stream of that name comes."""
    return f"\0{_TOKEN} {name}\0"


def write_json_streamed(
    path: str | os.PathLike[str], content: Mapping[str, Any], streams: Mapping[str, Iterable[Any] | Members]
) -> None:
    """Write an object with long lists or objects of which one item at a time is in memory.

    `streams` has them in the order of their places in `content`.
    """
    text = _indented(dict(content))
    with replacing(path) as file:
        for name, items in streams.items():
            before, _, text = text.partition(encode(place(name)))
            last = before.rpartition(b"\n")[2]
            file.write(before)
            _write_items(file, items, line=b"\n" + b" " * (len(last) - len(last.lstrip(b" "))))
        file.write(text + b"\n")


def _write_items(file: IO[bytes], items: Iterable[Any] | Members, line: bytes) -> None:
    if isinstance(items, Members):
        opening, closing, encoded = b"{", b"}", (encode(key) + b": " + encode(value) for key, value in items.items)
    else:
        opening, closing, encoded = b"[", b"]", (encode(item) for item in items)
    file.write(opening)
    for number, item in enumerate(encoded):
        file.write((b"," if number else b"") + line + b"  " + item)
    file.write(line + closing)


def write_json_list(
    path: str | os.PathLike[str], head: Mapping[str, Any], name: str, items: Iterable[Mapping[str, Any]]
) -> None:
    """Write an object: the keys of `head`, then under `name` a list of which one item at a time is in memory."""
    write_json_streamed(path, {**head, name: place(name)}, {name: items})


def encode(value: Any) -> bytes:
    """Encode as strict JSON: NaN and infinities become null, what is no character (in a file name) becomes "?"."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(value), allow_nan=False, ensure_ascii=False)
        return text.encode("utf-8", "replace")


def _indented(value: Any) -> bytes:
    return msgspec.json.format(encode(value), indent=2)
