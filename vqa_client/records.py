"""The record log: one line a question, appended as it ends, repaired and read back when a run goes on."""

import fcntl
import os
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from vqa_client.errors import UsageError
from vqa_client.files import replacing
from vqa_client.types import ANSWERED, PERMANENT, Record, Status

Key = tuple[str, str]
"""Question id and variant."""


class _Error(Struct):
    http_status: int | None = None


class _Line(Struct):
    question_id: str
    status: Status
    variant: str = ""
    error: _Error | None = None

    def lasts(self) -> bool:
        """Asking again would fail again; a key or a model that a server refused may be right next time."""
        refused = self.error is not None and self.error.http_status in (401, 403, 404)
        return self.status in PERMANENT and not refused


_line = msgspec.json.Decoder(_Line)
_record = msgspec.json.Decoder(Record)
_encode = msgspec.json.Encoder().encode


class RecordLog:
    """An append-only JSONL file that one process at a time may write.

    A line is written in one call and is on its way to the disk when `append` returns: a killed process loses only
    what was in flight. The last record of a question counts. `repaired` says what was wrong with the file on opening.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.repaired = ""
        self._end = 0
        self._places: dict[Key, int] = {}
        self._failed: dict[Key, bool] = {}
        self._end_fd: int
        self._file: IO[bytes]
        self._open()
        try:
            self._index()
        except BaseException:
            self._close()
            raise

    @property
    def answered(self) -> int:
        """How many questions have a reply."""
        return len(self._places) - len(self._failed)

    @property
    def failed_for_good(self) -> int:
        """How many questions would fail again."""
        return sum(self._failed.values())

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: Key) -> bool:
        return key in self._places

    def is_done(self, key: Key, *, retry_failed: bool) -> bool:
        """Whether a question need not be asked again: it was answered, or has failed for good."""
        if key not in self._places:
            return False
        lasts = self._failed.get(key)
        return lasts is None or (lasts and not retry_failed)

    def append(self, record: Record) -> None:
        """Write one record; a full disk leaves the file as it was and raises UsageError."""
        line = _encode(record) + b"\n"
        place = self._end
        try:
            written = os.write(self._end_fd, line)
        except OSError as error:
            os.ftruncate(self._end_fd, place)
            raise _unwritable(self.path, error) from error
        if written < len(line):
            os.ftruncate(self._end_fd, place)
            raise _unwritable(self.path, OSError("the disk is full"))
        self._end = place + len(line)
        failure = _Error(record.error.http_status) if record.error else None
        self._note(_Line(record.question_id, record.status, record.variant, failure), place)

    def read(self, key: Key) -> Record:
        """The last record of a question; KeyError when there is none, UsageError when it is of another form."""
        self._file.seek(self._places[key])
        try:
            return _record.decode(self._file.readline())
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            hint = "was it edited? --fresh moves the records aside and starts over"
            raise UsageError(f"{self.path}: the record of {key[0]!r} can't be read: {error}", hint=hint) from None

    def drop(self, keys: Collection[Key]) -> None:
        """Forget some questions, as if they had never been asked."""
        self.rewrite(record for record in self if (record.question_id, record.variant) not in keys)

    def sync(self) -> None:
        """Make what was appended safe against a power cut."""
        os.fsync(self._end_fd)

    def __iter__(self) -> Iterator[Record]:
        return (self.read(key) for key in self._places)

    def rewrite(self, records: Iterable[Record]) -> None:
        """Replace the whole log by these records, at once or not at all."""
        with replacing(self.path) as file:
            for record in records:
                file.write(_encode(record) + b"\n")
        self._close()  # the old file, which the new one has replaced
        self._open()
        self._index()

    def close(self) -> None:
        """Sync and give up the lock."""
        if not self._file.closed:
            self.sync()
            self._close()

    def __enter__(self) -> "RecordLog":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _open(self) -> None:
        """Open for appending and, with an offset of its own that appending does not move, for reading; and lock."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._end_fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise _unwritable(self.path, error) from error
        try:
            _lock(self._end_fd, self.path)
            self._file = self.path.open("rb")
        except BaseException:
            os.close(self._end_fd)
            raise

    def _close(self) -> None:
        self._file.close()
        os.close(self._end_fd)

    def _index(self) -> None:
        self._places.clear()
        self._failed.clear()
        bad = 0
        for place, line in _lines(self._file):
            try:
                found = _line.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                bad += 1
                continue
            self._note(found, place)
        self._end = self._file.seek(0, os.SEEK_END)
        if bad:
            self._drop_unreadable(bad)
        elif self._end and not _ends_in_newline(self._file):
            self._end += os.write(self._end_fd, b"\n")

    def _drop_unreadable(self, bad: int) -> None:
        lines = f"{bad} unreadable line{'s' * (bad > 1)}"
        self.repaired = f"{self.path.name}: {lines} dropped; the questions are asked again"
        self.rewrite(self)

    def _note(self, line: _Line, place: int) -> None:
        key = (line.question_id, sys.intern(line.variant))
        self._places[key] = place
        if line.status in ANSWERED:
            self._failed.pop(key, None)
        else:
            self._failed[key] = line.lasts()


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Place and content of each line; only a line feed ends one, whatever a reply holds."""
    place = file.seek(0)
    for line in file:
        if line.strip():
            yield place, line
        place += len(line)


def _ends_in_newline(file: IO[bytes]) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _lock(descriptor: int, path: Path) -> None:
    """Taken from the system, so that it goes with the process however that ends."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UsageError(
            f"{path} is being written by another run", hint="wait for it to end, or give another --output"
        ) from None


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path} can't be written: {error.strerror or error}",
        hint="make room or choose another --output; the same command goes on where this run stopped",
    )
