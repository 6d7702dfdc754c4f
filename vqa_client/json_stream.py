"""Writes JSON objects with long lists: only one item at a time is in memory."""

import contextlib
import os
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Self, TypeVar

from vqa_client.files import BUFFER_BYTES, encode, indented, replacing, unwritable, writing

Source = TypeVar("Source")

_TOKEN = secrets.token_hex(8)  # so that no text of a report is taken for a placeholder


class _Spool:
    """JSON that waits in a temporary file until the part before it in the file at `path` is known.

    The temporary file has no name and is in the folder of that file, so that twice the space is needed; it is deleted
    when this is closed or the process ends. Raises OutputError, which names the file, if the disk fails.
    """

    brackets: bytes

    def __init__(self, path: Path) -> None:
        self._path = path
        self._separator = b""
        folder = Path(os.path.realpath(path)).parent
        with writing(path):
            folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=folder, buffering=BUFFER_BYTES)  # noqa: SIM115  closed on exit

    def _add(self, encoded: bytes) -> None:
        try:
            self._file.write(self._separator + encoded)
        except OSError as error:
            raise unwritable(self._path, error) from error
        self._separator = b"\n"  # encoded text has no line feed

    def copy_to(self, file: IO[bytes], line: bytes) -> None:
        """Write all items, each on a new line that begins with `line`; raises OSError."""
        self._file.seek(0)
        begin = line
        while chunk := self._file.read(BUFFER_BYTES):
            file.write(begin + chunk.replace(b"\n", b"," + line))
            begin = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        with contextlib.suppress(OSError):  # buffered items are no longer needed
            self._file.close()


class SpooledList(_Spool):
    """A list that waits on disk."""

    brackets = b"[]"

    def append(self, item: Any) -> None:
        self._add(encode(item))

    def passing(self, sources: Iterable[Source], item_of: Callable[[Source], Any]) -> Iterator[Source]:
        """Yield the sources, and append the item of each: this saves a second walk."""
        for source in sources:
            self.append(item_of(source))
            yield source


class SpooledMembers(_Spool):
    """An object that waits on disk."""

    brackets = b"{}"

    def add(self, key: str, value: Any) -> None:
        """Add a member; keys are not compared."""
        self._add(encode(key) + b": " + encode(value))


def place(name: str) -> str:
    """The placeholder of a stream in the content for `write_json_streamed`."""
    return f"\0{_TOKEN} {name}\0"


def write_json_streamed(
    path: str | os.PathLike[str], content: Mapping[str, Any], streams: Mapping[str, _Spool | Iterable[Any]]
) -> None:
    """Write `content` with each placeholder replaced by its stream; `streams` have the order of the placeholders."""
    text = indented(dict(content))
    with replacing(path) as file:
        for name, items in streams.items():
            before, _, text = text.partition(encode(place(name)))
            last = before.rpartition(b"\n")[2]
            file.write(before)
            _write_stream(file, items, line=b"\n" + b" " * (len(last) - len(last.lstrip(b" "))))
        file.write(text + b"\n")


def _write_stream(file: IO[bytes], items: _Spool | Iterable[Any], line: bytes) -> None:
    brackets = items.brackets if isinstance(items, _Spool) else b"[]"
    file.write(brackets[:1])
    if isinstance(items, _Spool):
        items.copy_to(file, line + b"  ")
    else:
        for number, item in enumerate(items):
            file.write((b"," if number else b"") + line + b"  " + encode(item))
    file.write(line + brackets[1:])


def write_entries(
    path: Path, entries: Iterable[Mapping[str, Any]], ours: bytes | None = None, *, as_list: bool = True
) -> None:
    """Write a JSON list with an entry per line, or JSON Lines; `ours` and what is raised are those of `replacing`."""
    begin, between, end = (b"[\n", b",\n", b"\n]\n") if as_list else (b"", b"\n", b"\n")
    with replacing(path, ours) as file:
        before = begin
        for entry in entries:
            file.write(before + encode(entry))
            before = between
        file.write(end if before is between else begin.strip() + end.strip() + b"\n" * as_list)


def write_json_list(
    path: str | os.PathLike[str], head: Mapping[str, Any], name: str, items: SpooledList | Iterable[Mapping[str, Any]]
) -> None:
    """Write an object: the keys of `head`, then the list under `name`."""
    write_json_streamed(path, {**head, name: place(name)}, {name: items})
