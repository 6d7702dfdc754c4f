"""The record log: one line a question, appended as it ends, repaired and read back when a run goes on."""

import contextlib
import fcntl
import os
import stat
from array import array
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from vqa_client.errors import UNDECODABLE, UsageError
from vqa_client.files import replacing
from vqa_client.numbering import Numbering
from vqa_client.types import ANSWERED, PERMANENT, STATUSES, Record, Status

Key = tuple[str, str]
"""Question id and variant."""


_LASTS = 1
"""The bit of a state that says that asking again would fail again; above it stands the number of the status."""
_NUMBERS: dict[Status, int] = {status: number for number, status in enumerate(STATUSES)}
_STATE_BITS = 5
_STATE = (1 << _STATE_BITS) - 1


class _Error(Struct):
    http_status: int | None = None


class _Line(Struct):
    question_id: str
    status: Status
    variant: str = ""
    error: _Error | None = None

    def state(self) -> int:
        """What became of the question; a key or a model that a server refused may be right next time."""
        refused = self.error is not None and self.error.http_status in (401, 403, 404)
        return _NUMBERS[self.status] << 1 | (self.status in PERMANENT and not refused)


def _status(state: int) -> Status:
    return STATUSES[state >> 1]


def _holds(state: int) -> bool:
    return bool(state & _LASTS) or _status(state) in ANSWERED


def is_settled(record: Record, again: Collection[Status] = ()) -> bool:
    """Whether a record need not be asked again: it was answered, or has failed for good, and not as `again` says."""
    return record.status not in again and _holds(_line_of(record).state())


def _line_of(record: Record) -> _Line:
    failure = _Error(record.error.http_status) if record.error else None
    return _Line(record.question_id, record.status, record.variant, failure)


_line = msgspec.json.Decoder(_Line)
_record = msgspec.json.Decoder(Record)
_encode = msgspec.json.Encoder().encode


class RecordLog:
    """An append-only JSONL file that one process at a time may write.

    A line is written in one call and is on its way to the disk when `append` returns: a killed process loses only
    what was in flight. The last record of a question counts. `repaired` says what was wrong with the file on opening.
    Some 20 bytes are kept of a record, where it stands among them; all else is read from the file again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.repaired = ""
        self._end = 0
        self._fd: int
        self._file: IO[bytes]
        self._forget()
        self._open()
        try:
            self._index()
        except BaseException:
            self._close()
            raise

    @property
    def answered(self) -> int:
        """How many questions have a reply."""
        return sum(number for state, number in enumerate(self._count) if _status(state) in ANSWERED)

    @property
    def failed_for_good(self) -> int:
        """How many questions would fail again."""
        return sum(self._count[_LASTS::2])

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: Key) -> bool:
        return self._number(key) >= 0

    def is_done(self, key: Key, again: Collection[Status] = ()) -> bool:
        """Whether a question has a record that is settled."""
        number = self._number(key)
        if number < 0:
            return False
        state = self._places[number] & _STATE
        return _holds(state) and _status(state) not in again

    def append(self, record: Record) -> None:
        """Write one record; a full disk leaves the file as it was and raises UsageError."""
        line = _encode(record) + b"\n"
        place = self._end
        try:
            written = os.write(self._fd, line)
        except OSError as error:
            os.ftruncate(self._fd, place)
            raise _unwritable(self.path, error) from error
        if written < len(line):
            os.ftruncate(self._fd, place)
            raise _unwritable(self.path, OSError("the disk is full"))
        self._end = place + len(line)
        self._note(_line_of(record), place)

    def get(self, key: Key) -> Record | None:
        """The last record of a question, None where there is none; UsageError when it is of another form."""
        number = self._number(key)
        return None if number < 0 else self._read(number)

    def read(self, key: Key) -> Record:
        """The last record of a question; KeyError where there is none, UsageError as in `get`."""
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def drop(self, keys: Collection[Key]) -> None:
        """Forget some questions, as if they had never been asked."""
        self.rewrite(record for record in self if (record.question_id, record.variant) not in keys)

    def sync(self) -> None:
        """Make what was appended safe against a power cut."""
        os.fsync(self._fd)

    def __iter__(self) -> Iterator[Record]:
        return map(self._read, range(len(self._places)))

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
        """Open for appending and, with an offset of its own that appending does not move, for reading; and lock.

        Another process may put a new file in this one's place between opening and locking; then that one is opened.
        """
        while not self._opened():
            pass

    def _opened(self) -> bool:
        """Whether what was opened and locked is still what lies at the path; it is closed where it isn't."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise _unwritable(self.path, error) from error
        try:
            if not stat.S_ISREG(os.fstat(self._fd).st_mode):  # a pipe would be waited for without end
                raise UsageError(f"{self.path} is no file", hint="move it away, or give another --output")
            _lock(self._fd, self.path)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._fd), os.stat(self.path)):
                    self._file = self.path.open("rb")
                    return True
        except BaseException:
            os.close(self._fd)
            raise
        os.close(self._fd)
        return False

    def _close(self) -> None:
        self._file.close()
        os.close(self._fd)

    def _forget(self) -> None:
        self._numbers: Numbering[Key] = Numbering(self._holds)
        self._places = array("Q")
        self._count = [0] * (2 * len(STATUSES))
        self._shown: tuple[int, bytes] = (-1, b"")
        self._found: tuple[Key, int] = (("", ""), -1)

    def _index(self) -> None:
        self._forget()
        bad = 0
        for place, line in _lines(self.path):
            try:
                found = _line.decode(line)
            except UNDECODABLE:
                bad += 1
                continue
            self._note(found, place)
        self._end = os.fstat(self._fd).st_size
        if bad:
            self._drop_unreadable(bad)
        elif self._end and os.pread(self._fd, 1, self._end - 1) != b"\n":
            self._end += os.write(self._fd, b"\n")

    def _drop_unreadable(self, bad: int) -> None:
        lines = f"{bad} unreadable line{'s' * (bad > 1)}"
        self.repaired = f"{self.path.name}: {lines} dropped; the questions are asked again"
        self.rewrite(self)

    def _note(self, line: _Line, place: int) -> None:
        """Keep where the last record of a question is, and beside it, in five bits, what became of the question."""
        state = line.state()
        number = self._numbers.number((line.question_id, line.variant))
        if number == len(self._places):
            self._places.append(place << _STATE_BITS | state)
        else:
            self._count[self._places[number] & _STATE] -= 1
            self._places[number] = place << _STATE_BITS | state
        self._count[state] += 1

    def _number(self, key: Key) -> int:
        """Find a record; the last one is kept, since a question that is found is mostly read next."""
        if key is not self._found[0]:
            number = self._numbers.find(key)
            if number < 0:
                return number
            self._found = key, number
        return self._found[1]

    def _holds(self, number: int, key: Key) -> bool:
        line = self._line(number)
        if line.startswith(_opening(key)):
            return True
        found = _line.decode(line)
        return (found.question_id, found.variant) == key

    def _read(self, number: int) -> Record:
        line = self._line(number)
        try:
            return _record.decode(line)
        except UNDECODABLE as error:
            told = f"{self.path}: the record of {_line.decode(line).question_id!r} can't be read: {error}"
            hint = "was it edited? --fresh moves the records aside and starts over"
            raise UsageError(told, hint=hint) from None

    def _line(self, number: int) -> bytes:
        """Read a record's line; finding a record has read it already."""
        place = self._places[number] >> _STATE_BITS
        if self._shown[0] != place:
            self._file.seek(place)
            self._shown = place, self._file.readline()
        return self._shown[1]


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Place and content of each line; only a line feed ends one, whatever a reply holds."""
    place = 0
    with path.open("rb") as file:
        for line in file:
            if line.strip():
                yield place, line
            place += len(line)


def _opening(key: Key) -> bytes:
    """What a line of this key begins with, as it is written here: comparing it is cheaper than decoding the line."""
    return b'{"question_id":%b,"variant":%b,' % (_encode(key[0]), _encode(key[1]))


def _lock(descriptor: int, path: Path) -> None:
    """Taken from the system, so that it goes with the process however that ends."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(
            f"{path} is being written by another run", hint="wait for it to end, or give another --output"
        ) from None
    except OSError as error:
        raise UsageError(
            f"{path} can't be locked: {error.strerror}", hint="its file system has no locks: give a local --output"
        ) from None


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path} can't be written: {error.strerror or error}",
        hint="make room or choose another --output; the same command goes on where this run stopped",
    )
