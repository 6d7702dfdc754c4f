"""Record logs read as they are on disk: nothing is locked, repaired or written, so a run may still write to one."""

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from pathlib import Path

import msgspec

from vqa_client.errors import UNDECODABLE, DataError, forbidden
from vqa_client.files import natural_key
from vqa_client.log_lines import Key, first_in, record_of, records_in
from vqa_client.types import Record

LOG_ENDING = ".records.jsonl"
JUDGED_BY = ".judge-"
"""In the names of a judge's files, after the judged run's name."""
WAY_OUT = "give a run: its folder, its report, its *.run.json or its *.records.jsonl"
_ENDINGS = (
    *(".records.jsonl", ".records.csv", ".records.parquet", ".run.json", ".summary.json", ".explanations.json"),
    *(".json", ".csv", ".html", ".md"),
)
"""The endings of the files beside a log; longer ones first."""
_DATE = re.compile(r"_\d{8}_\d{6}(?=_|$)")
"""In a report's name, not in its log's; a robustness report has a word after it."""
SHARD = re.compile(r"\.shard-([0-9]{1,9})-of-([0-9]{1,9})(?=\.|$)")
"""In the names of a shard's files: its number, from 1, and how many there are."""


def file_beside(log: Path, ending: str) -> Path:
    """The path of another file of a log's run, by its ending, such as ".html"."""
    return log.with_name(log.name.removesuffix(LOG_ENDING) + ending)


def run_file_of(log: Path) -> Path:
    """The path of a log's run file; a log that was moved aside, as NAME.records.jsonl.old-1, has its own."""
    return log.with_name(log.name.replace(LOG_ENDING, ".run.json"))


def stem_of(path: Path) -> str:
    """The beginning of the names of all files of a run, from the name of one of them."""
    return next((path.name.removesuffix(end) for end in _ENDINGS if path.name.endswith(end)), path.name)


def find_logs(place: Path) -> list[Path]:
    """The record logs of a run, or of all runs below a folder; raises DataError without any.

    The logs of shards and of judges are found only by their own names.
    """
    if place.is_dir():
        below = [path for path in files_below(place, LOG_ENDING) if JUDGED_BY not in path.name]
        logs = [path for path in below if not SHARD.search(path.name)]
        if below and not logs:
            raise DataError(f"{place} contains only shards of runs", hint=f"vqa-client merge {place}")
    else:
        logs = [path for path in _candidates(place) if path.is_file()][:1]
    if not logs:
        reason = "no record log in it or its folders" if place.is_dir() else "no record log belongs to it"
        raise DataError(f"{place}: {reason}" if place.exists() else f"{place} does not exist", hint=WAY_OUT)
    return sorted(logs, key=lambda path: natural_key(str(path)))


def files_below(folder: Path, ending: str) -> Iterator[Path]:
    """The files below a folder whose names have this ending; none if there is no such folder.

    Raises DataError for a folder that can't be read: its runs would be missing.
    """
    for place, _, names in os.walk(folder, onerror=_raise_unless_missing):
        yield from (Path(place, name) for name in names if name.endswith(ending))


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise forbidden(error)


def _candidates(place: Path) -> Iterator[Path]:
    if LOG_ENDING in place.name:
        yield place
    stem = stem_of(place)
    yield place.with_name(stem + LOG_ENDING)
    yield place.with_name(_DATE.sub("", stem) + LOG_ENDING)


class LogReader:
    """The records of a log as it was when this was made, the last one of each question in each variant.

    Iterating gives them in natural order of ids and variants. A line that is still being written is ignored;
    `unreadable_lines` has the numbers of lines that are not records, `run` the name of the run in the first line.
    Raises DataError if the file can't be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unreadable_lines: list[int] = []
        self.run = ""
        self._places: dict[str, dict[str, int]] = {}
        with _reading(path):
            for place, _, head in records_in(path, self._note_unreadable):
                self.run = self.run or head.run
                question_id, form = head.key
                self._places.setdefault(form, {})[question_id] = place
        self.variants = tuple(sorted(self._places, key=natural_key))

    @cached_property
    def _order(self) -> list[Key]:
        """Sorted when first needed: it takes more memory than everything else here."""
        keys = ((question_id, variant) for variant, places in self._places.items() for question_id in places)
        return sorted(keys, key=lambda key: (natural_key(key[0]), natural_key(key[1])))

    @property
    def unreadable(self) -> int:
        return len(self.unreadable_lines)

    def __len__(self) -> int:
        return sum(map(len, self._places.values()))

    def __contains__(self, key: Key) -> bool:
        return key[0] in self._places.get(key[1], ())

    def __iter__(self) -> Iterator[Record]:
        return self.of(self._order)

    def of_variant(self, variant: str) -> Iterator[Record]:
        """The records of one variant, in the same order."""
        return self.of([key for key in self._order if key[1] == variant])

    def of_keys(self, keys: Collection[Key]) -> Iterator[Record]:
        """The records of these questions, in the same order."""
        return self.of([key for key in self._order if key in keys])

    def keys(self) -> frozenset[Key]:
        """The ids and variants of all records."""
        return frozenset(self._order)

    def as_written(self) -> Iterator[Record]:
        """The records by variant, each variant in the order in which its questions were first answered."""
        return self.of((question_id, variant) for variant, places in self._places.items() for question_id in places)

    def of(self, keys: Iterable[Key]) -> Iterator[Record]:
        """The records of these keys, each read before the next key is taken; raises KeyError for a missing one."""
        with _reading(self.path), self.path.open("rb") as file:
            for key in keys:
                file.seek(self._places[key[1]][key[0]])
                yield self._decode(file.readline())

    def _decode(self, line: bytes) -> Record:
        try:
            return record_of(line)
        except UNDECODABLE:
            try:
                return record_of(first_in(line))
            except msgspec.ValidationError as error:
                raise DataError(f"{self.path}: a record can't be read: {error}", hint="was it edited?") from None
            except UNDECODABLE:
                raise DataError(f"{self.path} was rewritten while it was read", hint="try again") from None

    def _note_unreadable(self, line: int, rest: bytes) -> None:
        if rest.endswith(b"\n"):
            self.unreadable_lines.append(line)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or error}", hint=WAY_OUT) from None
