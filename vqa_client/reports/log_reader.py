"""Record logs read as they lie on disk: nothing is locked, mended or written, so a run may go on beside it."""

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from pathlib import Path

from vqa_client.errors import UNDECODABLE, DataError, forbidden
from vqa_client.files import natural_key
from vqa_client.log_lines import first_in, record_of, records_in
from vqa_client.types import Record

LOG_ENDING = ".records.jsonl"
JUDGED_BY = ".judge-"
"""In the names of a judge's files, behind the judged run's."""
WAY_OUT = "give a run: its folder, its report, its *.run.json or its *.records.jsonl"
_ENDINGS = (
    *(".records.jsonl", ".records.csv", ".records.parquet", ".run.json", ".summary.json", ".explanations.json"),
    *(".json", ".csv", ".html", ".md"),
)
"""What stands beside a log; longer endings first."""
_DATE = re.compile(r"_\d{8}_\d{6}(?=_|$)")
"""In a report's name, though not in its log's; a robustness report has a word behind it."""
_DIGITS = re.compile(r"([0-9]{1,18})")
SHARD = re.compile(r"\.shard-([0-9]{1,9})-of-([0-9]{1,9})(?=\.|$)")
"""In the names of a shard's files: its number, from 1, and how many there are."""

Key = tuple[str, str]
"""Question id and form, as `Record.key`."""
Place = tuple[tuple[str | int, ...], str, tuple[str | int, ...], str]
"""Where a record stands among the others, whatever order they ended in."""


def file_beside(log: Path, ending: str) -> Path:
    """Where another file of a log's run is, by its ending, such as ".html"."""
    return log.with_name(log.name.removesuffix(LOG_ENDING) + ending)


def run_file_of(log: Path) -> Path:
    """Where a log's run file is; one that was put aside, as NAME.records.jsonl.old-1, has one of its own."""
    return log.with_name(log.name.replace(LOG_ENDING, ".run.json"))


def find_logs(place: Path) -> list[Path]:
    """Name the record logs of a run, or of all runs in a folder and its folders; raises DataError without any.

    The logs of shards and of judges are found by their own names alone.
    """
    if place.is_dir():
        logs = (path for path in files_below(place, LOG_ENDING) if JUDGED_BY not in path.name)
        found = sorted(logs, key=lambda path: natural_key(str(path)))
        whole = [path for path in found if not SHARD.search(path.name)]
        if found and not whole:
            raise DataError(f"{place} contains only shards of runs", hint=f"vqa-client merge {place}")
        found = whole
    else:
        found = [path for path in _candidates(place) if path.is_file()][:1]
    if not found:
        reason = "no record log in it or its folders" if place.is_dir() else "no record log belongs to it"
        raise DataError(f"{place}: {reason}" if place.exists() else f"{place} does not exist", hint=WAY_OUT)
    return found


def files_below(folder: Path, ending: str) -> Iterator[Path]:
    """The files of a folder and its folders whose names end so.

    None where there is no such folder; raises DataError for one that can't be read, whose runs would be missing.
    """
    for place, _, names in os.walk(folder, onerror=_refuse):
        yield from (Path(place, name) for name in names if name.endswith(ending))


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise forbidden(error)


def _candidates(place: Path) -> Iterator[Path]:
    if LOG_ENDING in place.name:
        yield place
    stem = next((place.name.removesuffix(end) for end in _ENDINGS if place.name.endswith(end)), place.name)
    yield place.with_name(stem + LOG_ENDING)
    yield place.with_name(_DATE.sub("", stem) + LOG_ENDING)


class LogReader:
    """The records of a log as it was when this was made, the last one of each question in each variant.

    Iterating gives them in natural order of their ids and variants. A line that is still being written is left for
    the next look; `unreadable_lines` has the numbers of those that are no records, `run` is the name of the run in the
    first line. Raises DataError where the file can't be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unreadable_lines: list[int] = []
        self.run = ""
        self._places: dict[str, dict[str, int]] = {}
        with _reading(path):
            for place, _, head in records_in(path, self._note_bad):
                self.run = self.run or head.run
                question_id, form = head.key
                self._places.setdefault(form, {})[question_id] = place
        self.variants = tuple(sorted(self._places, key=natural_key))

    @cached_property
    def _order(self) -> list[Key]:
        """Made once it is asked for: it takes more than all else that is kept."""
        return sorted(
            ((question_id, variant) for variant, places in self._places.items() for question_id in places), key=_place
        )

    @property
    def unreadable(self) -> int:
        return len(self.unreadable_lines)

    def __len__(self) -> int:
        return sum(map(len, self._places.values()))

    def __contains__(self, key: Key) -> bool:
        return key[0] in self._places.get(key[1], ())

    def __iter__(self) -> Iterator[Record]:
        return self._read(self._order)

    def of(self, keys: Iterable[Key]) -> Iterator[Record]:
        """Give the records of these keys, each before the next key is taken; KeyError for one that isn't there."""
        return self._read(keys)

    def of_variant(self, variant: str) -> Iterator[Record]:
        """Give the records of one variant, in the same order."""
        return self._read([key for key in self._order if key[1] == variant])

    def of_keys(self, keys: Collection[Key]) -> Iterator[Record]:
        """Give the records of these questions, in the same order."""
        return self._read([key for key in self._order if key in keys])

    def keys(self) -> frozenset[Key]:
        """Give the ids and variants of all records."""
        return frozenset(self._order)

    def as_written(self) -> Iterator[Record]:
        """Give the records by variant, each in the order in which its questions were first answered."""
        return self._read((question_id, variant) for variant, places in self._places.items() for question_id in places)

    def _read(self, keys: Iterable[Key]) -> Iterator[Record]:
        with _reading(self.path), self.path.open("rb") as file:
            for key in keys:
                file.seek(self._places[key[1]][key[0]])
                yield self._decoded(file.readline())

    def _decoded(self, line: bytes) -> Record:
        try:
            return record_of(line)
        except UNDECODABLE:
            try:
                return record_of(first_in(line))
            except UNDECODABLE:
                raise DataError(f"{self.path} was rewritten while it was read", hint="try again") from None

    def _note_bad(self, line: int, rest: bytes) -> None:
        if rest.endswith(b"\n"):
            self.unreadable_lines.append(line)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or error}", hint=WAY_OUT) from None


def _place(key: Key) -> Place:
    return (*natural_key(key[0]), *natural_key(key[1]))
