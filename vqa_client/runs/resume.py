"""Resumes a run: the files of earlier starts, and which of their records are still valid."""

import glob
import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.batch.parts import PartFolder
from vqa_client.errors import IdentityError, UsageError
from vqa_client.files import encode, sha256_of, stamp, state_of
from vqa_client.images.decide import RefusedImage, read
from vqa_client.log_lines import Key, check_run, records_in, run_name, run_of
from vqa_client.records import RecordLog, damaged_beside, is_settled, locked
from vqa_client.reports.log_reader import LOG_ENDING, SHARD, LogReader
from vqa_client.runner import kept_prompt, read_again, stamps
from vqa_client.runs.run_file import ASIDE, RunFile, check_identity
from vqa_client.settings.divided import Shard
from vqa_client.tables.inside import short_name, split_name
from vqa_client.tables.pictures import is_address
from vqa_client.task import Task
from vqa_client.types import ANSWERED, Note, Question, Record, SentImage

SCORED_AGAIN = "the scoring or the data file may have changed: saved replies are scored again"


class RunPaths(Struct, frozen=True):
    """The three files of a run: the report, and beside it the run file and the record log, whose names have a `stem`.

    "{started}" in a report's name stands for the date of the run's first start.
    """

    report: Path
    stem: str

    @classmethod
    def beside(cls, report: Path) -> "RunPaths":
        """The files of the report at this path; the run file and the log have its name without the date."""
        return cls(report, Path(report.name.replace("_{started}", "")).stem)

    @classmethod
    def of_log(cls, log: Path) -> "RunPaths":
        """The files of the run with this log, where its report doesn't matter."""
        return cls(log, log.name.removesuffix(LOG_ENDING))

    @property
    def run(self) -> Path:
        return self.report.with_name(f"{self.stem}.run.json")

    @property
    def log(self) -> Path:
        return self.report.with_name(f"{self.stem}{LOG_ENDING}")

    def shard(self, number: int, of: int) -> "RunPaths":
        """The files of a shard, beside those of the run; the report of a shard is never written."""
        mark = f".shard-{number}-of-{of}"
        return RunPaths(self.report.with_name(f"{self.report.name}{mark}"), f"{self.stem}{mark}")

    @property
    def whole(self) -> "RunPaths":
        """The files of the whole run, if these are the files of a shard; else these files."""
        return RunPaths(self.report.with_name(SHARD.sub("", self.report.name)), SHARD.sub("", self.stem))

    def shards(self) -> list[tuple[Shard, "RunPaths"]]:
        """The shards of this run that have a log, in order."""
        logs = self.log.parent.glob(f"{glob.escape(self.stem)}.shard-*-of-*{LOG_ENDING}")
        marks = (SHARD.search(log.name) for log in logs)
        shards = (Shard(int(mark[1]), int(mark[2])) for mark in marks if mark)
        return [(shard, self.shard(*shard)) for shard in sorted(shards, key=lambda shard: (shard.of, shard.number))]

    def otherwise_divided(self) -> list["RunPaths"]:
        """Files of the same run, undivided or divided in another way, that may have answers to the same questions."""
        mark, whole = SHARD.search(self.stem), self.whole
        others = [paths for shard, paths in whole.shards() if mark is None or shard.of != int(mark[2])]
        return [*([] if mark is None or not whole.log.exists() else [whole]), *others]

    def dated(self, started: datetime | None) -> Path:
        """The path of the report of a run that was first started then, or now; the date is in local time."""
        date = (started or datetime.now(UTC)).astimezone().strftime("%Y%m%d_%H%M%S")
        return self.report.with_name(self.report.name.replace("{started}", date))


def move_aside(paths: RunPaths, *more: Path) -> None:
    """Rename the files of an earlier run to the first free `*.old-N`; UsageError where another run is writing them."""
    number, files = 1, (paths.log, damaged_beside(paths.log), paths.run, paths.report, *more)
    while any(_numbered_aside(path, number).exists() for path in files):
        number += 1
    with locked(paths.log) if paths.log.exists() else nullcontext():
        for path in files:
            with suppress(FileNotFoundError):
                path.rename(_numbered_aside(path, number))


def adopt(log: RecordLog, paths: RunPaths, file: RunFile, questions: Iterable[Question]) -> int:
    """Copy answers that the same run has in another division, or undivided; returns how many.

    The run file is written before the first answer, without a scorer: if this start is killed, the next one knows the
    log's run and scores the answers again. Raises IdentityError for a log of another run.
    """
    others = [other.log for other in paths.otherwise_divided()]
    unanswered = {key for question in questions if not log.is_done(key := question.key)} if others else set()
    before = len(unanswered)
    for other in others if unanswered else ():
        reader = LogReader(other)
        check_run(other, reader.run, file.identity)
        for record in reader.of_keys(unanswered):
            if is_settled(record):
                if len(unanswered) == before:
                    replace(file, scoring={}).write(paths.run)
                log.append(record)
                unanswered.discard(record.key)
    return before - len(unanswered)


def carry_over(paths: RunPaths, now: RunFile, note: Note) -> RunFile | None:
    """The run file on disk if this run continues its records; `now` gets its starts. None for a new run.

    Files of another run are moved aside if they have no answer and no batch; else IdentityError is raised. Files
    without a run file are not touched, unless their log names this run: IdentityError for records, UsageError for a
    report.
    """
    # The run file is read last: another process that starts this run writes it first.
    has_records = paths.log.exists() and paths.log.stat().st_size > 0
    has_report = paths.report.exists()
    is_named = has_records and run_of(paths.log) == run_name(now.identity)
    before = _run_file(paths, now, note) if is_named else RunFile.read(paths.run)
    if before is None:
        if has_records:
            raise IdentityError(
                f"{paths.log} has records, and {paths.run.name} which identifies their run, is missing", hint=ASIDE
            )
        if has_report:
            raise UsageError(f"{paths.report} was not written by this program", hint=ASIDE)
        return None
    try:
        check_identity(before.identity, now.identity, paths.run)
    except IdentityError:
        if any_answer(paths.log) or PartFolder(paths.log).all():
            raise
        move_aside(paths)
        return None
    now.identity = now.identity | before.identity  # equal, in the spelling that the log's first line is a digest of
    now.sessions = before.sessions
    now.described = before.described | now.described
    return before


def _run_file(paths: RunPaths, now: RunFile, note: Note) -> RunFile:
    """The run file beside a log that names this run; a new one if it is missing or damaged."""
    try:
        if (file := RunFile.read(paths.run)) is not None:
            return file
        state = "missing"
    except UsageError:
        state = "damaged"
    note(
        f"{paths.run.name} is {state} and is written again: {paths.log.name} names this run; its earlier server, times "
        "and tokens are no longer known"
    )
    return RunFile(identity=now.identity, scoring={})


def any_answer(path: Path) -> bool:
    """Whether a record log has a reply."""
    try:
        return any(head.status in ANSWERED for _, _, head in records_in(path, lambda line, rest: None))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}", hint=ASIDE) from None


def sort_log(log: RecordLog, questions: Iterable[Question], task: Task | None) -> None:
    """Put the records into the order of the questions; with a task, read and score the saved replies again."""
    log.rewrite(_in_order(log, questions, task))


def _in_order(log: RecordLog, questions: Iterable[Question], task: Task | None) -> Iterator[Record]:
    keys: set[Key] = set()
    for question, record in log.answers_to(questions):
        keys.add(record.key)
        yield record if task is None else read_again(record, question, task)
    if len(keys) < len(log):  # records of another --limit or --blacklist stay as they are, in their order
        yield from (record for record in log if record.key not in keys)


class Unchanged:
    """Decides whether a question is still as it was asked: the same prompt and the same image files.

    A file is the same if its state is the one in the record, or else its name and digest. Older records have no state:
    then names and sizes are compared, and the digest of a file that was written after `since_ns`, the run's first start
    in nanoseconds since the epoch. The files of neighbours with the same images are checked once.
    """

    def __init__(self, since_ns: int) -> None:
        self._since_ns = since_ns
        self._knows_start = since_ns <= time.time_ns()  # a start in the future is one of a wrong clock
        self._seen: tuple[tuple[SentImage, ...], str, tuple[str, ...]] | None = None
        self._same: bool
        self._sent: tuple[tuple[str, ...], str] | None = None
        self._others: int

    def tag(self, prompt: str, system: str, paths: tuple[str, ...]) -> int:
        """The checksum of the question with its image files as they are now; `Head.asked` is that of a record."""
        if (paths, system) != self._sent:
            self._sent = paths, system
            self._others = crc32(encode(kept_prompt(system)) if system else b"", crc32(_stamps_now(paths)))
        return crc32(encode(kept_prompt(prompt)), self._others)

    def __call__(self, record: Record, prompt: str, paths: tuple[str, ...]) -> bool:
        """Whether the record is of this prompt and these image files."""
        if record.prompt != kept_prompt(prompt):
            return False
        sent = record.images, record.image_stamps or "", paths
        if sent != self._seen:
            self._seen, self._same = sent, self._same_files(*sent)
        return self._same

    def _same_files(self, images: tuple[SentImage, ...], kept: str, paths: tuple[str, ...]) -> bool:
        try:
            if any(map(is_address, paths)):
                return not images or self._same_names(images, paths)
            inside = [split_name(path) for path in paths]
            stats = [os.stat(path) for path, _ in inside]
            now = [stamp(state_of(stat), place) for stat, (_, place) in zip(stats, inside, strict=True)] if kept else []
            if not images:  # a question without images, or one that failed before they were ready
                return kept in now if kept else all(_written_ns(stat) <= self._since_ns for stat in stats)
            if kept and kept == stamps(now):
                return True
            return len(images) == len(paths) and all(
                self._same_file(image, path, stat, look=bool(kept))
                for image, path, stat in zip(images, paths, stats, strict=True)
            )
        except OSError:
            return False

    def _same_names(self, images: tuple[SentImage, ...], paths: tuple[str, ...]) -> bool:
        """Whether the addresses are those that were sent, and other files are unchanged."""
        return len(images) == len(paths) and all(
            kept.name == short_name(path) if is_address(path) else self._same_file(kept, path, os.stat(path), look=True)
            for kept, path in zip(images, paths, strict=True)
        )

    def _same_file(self, kept: SentImage, path: str, stat: os.stat_result, *, look: bool) -> bool:
        if kept.name != short_name(path):
            return False
        size_bytes = kept.file_size_bytes or kept.size_bytes
        if split_name(path)[1]:
            content = read(path)
            return not isinstance(content, RefusedImage) and _has_digest(kept, hashlib.sha256(content[1]).hexdigest())
        if size_bytes != stat.st_size:
            return False
        is_older = not look and self._knows_start and _written_ns(stat) <= self._since_ns
        return is_older or _has_digest(kept, sha256_of(path))


def _stamps_now(paths: tuple[str, ...]) -> bytes:
    """The stamps of image files as a record has them in JSON, or its empty list; "?" if a file is missing."""
    try:
        now = stamps([stamp(state_of(os.stat(path)), place) for path, place in map(split_name, paths)])
    except OSError:
        return b"?"
    return encode(now) if now else b"[]"


def _has_digest(kept: SentImage, sha256: str) -> bool:
    return sha256 == (kept.file_sha256 or kept.sha256)


def _written_ns(stat: os.stat_result) -> int:
    """When a file last changed; a copy that keeps the time of its original has a newer ctime."""
    return max(stat.st_mtime_ns, stat.st_ctime_ns)


def _numbered_aside(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.old-{number}")
