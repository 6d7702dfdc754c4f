"""The record log: one line per question, appended when its record is there; repaired and read when a run resumes."""

import contextlib
import os
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any

from vqa_client.compact_index import CompactIndex
from vqa_client.errors import UNDECODABLE, OutputError, UsageError
from vqa_client.files import ROOM, lock, open_locked, replacing
from vqa_client.log_lines import Head, Key, check_run, head_of, line_of, numbered, record_of, records_in, run_name
from vqa_client.types import ANSWERED, PERMANENT, STATUSES, Question, Record, Status

Damaged = tuple[int, bytes]
"""A line's number, and the part of it that is not a record: empty if the line only has several records."""

StatusAndScore = tuple[Status, float]
"""Status and score of a record; the score is NaN if there is none."""

_IS_PERMANENT = 1
"""The bit of a state that means: asking again would fail again. The bits above it are the number of the status."""
_NUMBERS: dict[Status, int] = {status: number for number, status in enumerate(STATUSES)}


def _state(head: Head | Record) -> int:
    """The record's status, and whether its question would fail again; a transient failure may pass."""
    passes = head.error is not None and head.error.transient
    return _NUMBERS[head.status] << 1 | (head.status in PERMANENT and not passes)


_STATES = {status: _state(Head("", status)) for status in STATUSES}
"""The states of records without an error, by status."""


def _status(state: int) -> Status:
    return STATUSES[state >> 1]


_IS_SETTLED = [bool(state & _IS_PERMANENT) or _status(state) in ANSWERED for state in range(2 * len(STATUSES))]
"""By state: whether the record is settled, so that the question is not asked again."""
_UNKNOWN = 0
"""The tag of a record that this process wrote: it equals no question's tag, so that the record is read to compare."""
_READ_BYTES = 8192
_PIECES, _PIECE_BYTES = 8, 1 << 15


def is_settled(record: Record, again: Collection[Status] = ()) -> bool:
    """Whether a record is settled: answered or failed permanently, and its status is not in `again`."""
    return record.status not in again and _IS_SETTLED[_state(record)]


class RecordLog:
    """An append-only JSONL file that one process at a time may write.

    A line is written in one call before `append` returns: a killed process loses only the questions in flight. The last
    record of a question counts. `repaired` describes what was repaired in the file on opening; the parts that are not
    records are moved to a file beside it (`damaged_beside`). The first line names the run by its `identity`: raises
    IdentityError if it is another run. Some 30 bytes per record are kept in memory, such as its place; its content is
    read from the file. Raises OutputError if the disk fails.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any] | None = None) -> None:
        self.path = path
        self.repaired = ""
        self._identity = identity or {}
        self._run = ""
        self._last: Record
        self._end: int
        self._clear()
        self._open()
        try:
            self._index()
        except BaseException:
            self._close()
            raise

    def answered(self, again: Collection[Status] = ()) -> int:
        """The number of questions with a reply, without those to ask again."""
        done = ANSWERED.difference(again)
        return sum(number for state, number in enumerate(self._count) if _status(state) in done)

    def failed_permanently(self, again: Collection[Status]) -> int:
        """The number of questions that would fail again, without those to ask again."""
        counts = zip(STATUSES, self._count[_IS_PERMANENT::2], strict=True)
        return sum(number for status, number in counts if status not in again)

    def __len__(self) -> int:
        return len(self._places)

    def is_done(self, key: Key, again: Collection[Status] = ()) -> bool:
        """Whether a question has a settled record."""
        return self.find(key, _UNKNOWN, again)[1]

    def find(self, key: Key, asked: int, again: Collection[Status] = ()) -> tuple[int, bool, StatusAndScore | None]:
        """The number of a question's record (-1: none), whether it is settled, and then its outcome.

        The outcome is None if the question was not asked with this tag; then the record has to be read.
        """
        number, is_alike = self._numbers.find(key, asked)
        if number < 0:
            return number, False, None
        state = self._states[number]
        status = _status(state)
        if not _IS_SETTLED[state] or status in again:
            return number, False, None
        return number, True, (status, self._scores[number]) if is_alike else None

    def append(self, record: Record) -> None:
        """Write one record; a full disk leaves the file as it was and raises OutputError."""
        place = self._end
        line = line_of(record) if place else line_of(record, self._run_name())
        try:
            if os.write(self._fd, line) < len(line):
                raise OSError("the disk is full")
        except OSError as error:
            with contextlib.suppress(OSError):  # else the rest of the line is repaired on the next opening
                os.ftruncate(self._fd, place)
            raise _unwritable(self.path, error) from error
        self._end = place + len(line)
        self._note(record, place)

    def get(self, key: Key) -> Record | None:
        """The last record of a question, or None; raises UsageError if it can't be read."""
        number, _ = self._numbers.find(key)
        return None if number < 0 else self[number]

    def answers_to(self, questions: Iterable[Question]) -> Iterator[tuple[Question, Record]]:
        """The questions with a record, in the order of `questions`, and their records."""
        for question in questions:
            record = self.get(question.key)
            if record is not None:
                yield question, record

    def drop(self, keys: Collection[Key]) -> None:
        """Remove the records of some questions."""
        self.rewrite(record for record in self if record.key not in keys)

    def sync(self) -> None:
        """Write the appended records to the disk, safe against a power cut; raises OutputError."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def __iter__(self) -> Iterator[Record]:
        return map(self.__getitem__, range(len(self._places)))

    def rewrite(self, records: Iterable[Record]) -> None:
        """Replace the whole log by these records, in one step."""
        run = self._run_name()
        with replacing(self.path) as file:
            for record in records:
                file.write(line_of(record, run))
                run = ""
        self._reopen()

    def close(self) -> None:
        """Sync, close the file and release the lock."""
        if self._fd >= 0:
            try:
                self.sync()
            finally:
                self._close()

    def __enter__(self) -> "RecordLog":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = open_locked(self.path)
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def _close(self) -> None:
        os.close(self._fd)
        self._fd = -1

    def _clear(self, expected: int = 0) -> None:
        self._numbers: CompactIndex[Key] = CompactIndex(self._holds, expected)
        self._places = array("Q")
        self._states = bytearray()
        self._scores = array("f")
        self._count = [0] * (2 * len(STATUSES))
        self._read_ahead, self._last_place = (0, b""), -1

    def _reopen(self) -> None:
        self._close()  # this is the old file; a new one has replaced it
        self._open()
        self._index()

    def _run_name(self) -> str:
        """The name of the run in the first line."""
        return run_name(self._identity) if self._identity else self._run

    def _index(self) -> None:
        damaged: list[Damaged] = []
        with _reading(self.path):
            self._clear(_expected_in(self._fd))
            for place, _, head in records_in(self.path, lambda line, rest: damaged.append((line, rest))):
                if head.run and not self._places:
                    check_run(self.path, head.run, self._identity)
                    self._run = head.run
                self._note(head, place, head.asked, head.known_score)
            self._end = os.fstat(self._fd).st_size
            whole = not self._end or os.pread(self._fd, 1, self._end - 1) == b"\n"
        if damaged:
            self._set_damaged_aside(damaged)
        elif not whole:
            try:
                self._end += os.write(self._fd, b"\n")
            except OSError as error:
                raise _unwritable(self.path, error) from error

    def _set_damaged_aside(self, damaged: list[Damaged]) -> None:
        """Move what is not a record to a file beside the log, and give each record a line, with its text unchanged."""
        rests = [(line, rest) for line, rest in damaged if rest]
        notes = []
        if rests:
            aside = _set_aside(self.path, rests)
            notes.append(
                f"{_lines('unreadable line', rests)} set aside in {aside.name}; missing records are asked again"
            )
        if len(rests) < len(damaged):
            several = [(line, rest) for line, rest in damaged if not rest]
            notes.append(f"{_lines('line', several)} had several records each, and all remain")
        with _reading(self.path), replacing(self.path) as file:
            for _, text, _ in records_in(self.path, lambda line, rest: None):
                file.write(text.rstrip() + b"\n")
        self.repaired = f"{self.path.name}: {'; '.join(notes)}"
        self._reopen()

    def _note(self, head: Head | Record, place: int, asked: int = _UNKNOWN, score: float = nan) -> None:
        """Keep the place, the state and the score of the last record of a question."""
        state = _STATES[head.status] if head.error is None else _state(head)
        number = self._numbers.number(head.key, asked)
        if number == len(self._places):
            self._places.append(place)
            self._states.append(state)
            self._scores.append(score)
        else:
            self._count[self._states[number]] -= 1
            self._places[number], self._states[number], self._scores[number] = place, state, score
        self._count[state] += 1

    def _holds(self, number: int, key: Key) -> bool:
        """Whether a record is of this question; it is decoded, since it is usually asked for next."""
        try:
            return self[number].key == key
        except UsageError:
            return head_of(self._line(number)).key == key

    def __getitem__(self, number: int) -> Record:
        place = self._places[number]
        if place != self._last_place:
            line = self._line(number)
            try:
                self._last = record_of(line)
            except UNDECODABLE as error:
                message = f"{self.path}: the record of {head_of(line).question_id!r} can't be read: {error}"
                hint = "was it edited? --fresh moves the records aside and starts over"
                raise UsageError(message, hint=hint) from None
            self._last_place = place
        return self._last

    def _line(self, number: int) -> bytes:
        """Read a record's line, and with it the next lines, which are usually read next."""
        place = self._places[number]
        start, lines = self._read_ahead
        begin = place - start
        end = lines.find(b"\n", begin) + 1 if 0 <= begin < len(lines) else 0
        if not end:
            try:
                lines = os.pread(self._fd, _READ_BYTES, place)
                while not (end := lines.find(b"\n") + 1) and (
                    more := os.pread(self._fd, len(lines), place + len(lines))
                ):
                    lines += more
            except OSError as error:
                raise _unreadable(self.path, error) from error
            self._read_ahead = place, lines
            begin, end = 0, end or len(lines)
        return lines[begin:end]


def _expected_in(descriptor: int) -> int:
    """An estimate of the number of records in a log, from the lines in some pieces of it."""
    size = os.fstat(descriptor).st_size
    pieces = [os.pread(descriptor, _PIECE_BYTES, size * at // _PIECES) for at in range(_PIECES)]
    return size * sum(piece.count(b"\n") for piece in pieces) // max(1, sum(map(len, pieces)))


def damaged_beside(path: Path) -> Path:
    """The file with the unreadable lines of a log, each after its number."""
    return path.with_name(f"{path.name.removesuffix('.jsonl')}.damaged.txt")


def _set_aside(path: Path, rests: list[Damaged]) -> Path:
    aside = damaged_beside(path)
    try:
        with aside.open("ab") as file:
            file.writelines(b"line %d: %b\n" % (line, rest.rstrip(b"\n")) for line, rest in rests)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _unwritable(aside, error) from error
    return aside


def _lines(kind: str, lines: Sequence[Damaged]) -> str:
    """Such as "2 unreadable lines (3, 17)"."""
    return f"{len(lines)} {kind}{'s' * (len(lines) > 1)} ({numbered([line for line, _ in lines])})"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep the lock of a log; raises UsageError if another run has it."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        lock(descriptor, path)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{path} can't be read: {error.strerror or error}",
        hint="check the disk; the log stays as it is, and the same command resumes once it can be read",
    )


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(f"{path} can't be written: {error.strerror or error}", hint=ROOM)
