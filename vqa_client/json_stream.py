"""Writing JSON objects with lists too long to be held: one item at a time is in memory."""

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Literal

from vqa_client.files import BUFFER_BYTES, encode, indented, replacing, unwritable

_TOKEN = secrets.token_hex(8)  # so that no text of a report can be taken for a place


class Spool:
    """A list, or an object's members, that waits on disk until what stands before it is known.

    It lies unnamed in the folder of the file that it is for, and is gone when it is closed or the process ends. Raises
    UsageError, which names that file, when the disk can't take it.
    """

    def __init__(self, path: Path, brackets: Literal["[]", "{}"] = "[]") -> None:
        self.brackets = brackets.encode()
        self._path = path
        self._separator = b""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=path.parent, buffering=BUFFER_BYTES)  # noqa: SIM115  closed on exit
        except OSError as error:
            raise unwritable(path, error) from error

    def item(self, value: Any) -> None:
        """Add an item to the list."""
        self._write(encode(value))

    def member(self, key: str, value: Any) -> None:
        """Add a member to the object."""
        self._write(encode(key) + b": " + encode(value))

    def _write(self, encoded: bytes) -> None:
        try:
            self._file.write(self._separator + encoded)
        except OSError as error:
            raise unwritable(self._path, error) from error
        self._separator = b"\n"  # which encoded text has none of

    def copy_to(self, file: IO[bytes], line: bytes) -> None:
        """Write all that was added, each on a new line that begins with `line`."""
        try:
            self._file.seek(0)
        except OSError as error:
            raise unwritable(self._path, error) from error
        begin = line
        while chunk := self._file.read(BUFFER_BYTES):
            file.write(begin + chunk.replace(b"\n", b"," + line))
            begin = b""

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *exc_info: object) -> None:
        with contextlib.suppress(OSError):  # what is still to be written is not wanted any more
            self._file.close()


def place(name: str) -> str:
    """Give the value that stands, in the content for `write_json_streamed`, where the stream of that name comes."""
    return f"\0{_TOKEN} {name}\0"


def write_json_streamed(
    path: str | os.PathLike[str], content: Mapping[str, Any], streams: Mapping[str, Spool | Iterable[Any]]
) -> None:
    """Write an object of which `streams` are read item by item, in the order of their places in `content`."""
    text = indented(dict(content))
    with replacing(path) as file:
        for name, items in streams.items():
            before, _, text = text.partition(encode(place(name)))
            last = before.rpartition(b"\n")[2]
            file.write(before)
            _write_items(file, items, line=b"\n" + b" " * (len(last) - len(last.lstrip(b" "))))
        file.write(text + b"\n")


def _write_items(file: IO[bytes], items: Spool | Iterable[Any], line: bytes) -> None:
    brackets = items.brackets if isinstance(items, Spool) else b"[]"
    file.write(brackets[:1])
    if isinstance(items, Spool):
        items.copy_to(file, line + b"  ")
    else:
        for number, item in enumerate(items):
            file.write((b"," if number else b"") + line + b"  " + encode(item))
    file.write(line + brackets[1:])


def write_json_list(
    path: str | os.PathLike[str], head: Mapping[str, Any], name: str, items: Spool | Iterable[Mapping[str, Any]]
) -> None:
    """Write an object: the keys of `head`, then under `name` the list."""
    write_json_streamed(path, {**head, name: place(name)}, {name: items})
