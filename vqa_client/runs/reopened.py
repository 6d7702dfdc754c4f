"""Reads saved replies again, or a benchmark's own references; needs no server and no images."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from math import fsum
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.benchmark import Benchmark
from vqa_client.errors import DataError, UsageError
from vqa_client.log_lines import Key, check_run
from vqa_client.own_code import text_of
from vqa_client.records import RecordLog
from vqa_client.reports.log_reader import LogReader, run_file_of
from vqa_client.runner import read_again
from vqa_client.runs.run_file import RunFile
from vqa_client.scoring.choices.circular import as_shown
from vqa_client.settings.run import RunSettings
from vqa_client.task import Task, Walk
from vqa_client.tasks import registry
from vqa_client.tasks.registry import open_benchmark
from vqa_client.tasks.report import totals_of
from vqa_client.types import ANSWERED, Question, Record, Status

WAY_OUT = "start in the folder in which the run was started, since its paths are relative to it, or put the file back"
_CORRUPTED: Final = ("corruption", "level")
"""Groups that a robustness run adds to the benchmark's."""


class Reopened(Struct, frozen=True, kw_only=True):
    """A run's benchmark in today's code; `questions` are all questions of the data file, asked or not."""

    file: RunFile
    benchmark: Benchmark
    task: Task
    questions: Iterable[Question]
    data_sha256: str


def reopen(log: Path, *, finds_images: bool = False) -> Reopened:
    """Read the run file beside a log, and the data file that it names; look for images only if `finds_images`.

    Raises UsageError without a run file or for an unknown benchmark, DataError for a missing data file.
    """
    file = RunFile.read(run_file_of(log))
    if file is None:
        raise UsageError(
            f"{run_file_of(log)} is missing, which names the run's data and parser",
            hint="put it back beside the log; the run's own command writes it again",
        )
    try:
        settings, _ = settings_of(file)
        revision = str(file.identity.get("data_revision", ""))
        run = registry.open_benchmark(settings, template=file.model().prompt_template, revision=revision)
        parts = run.parts(finds_images=finds_images)
    except KeyError as missing:
        raise UsageError(f"{run_file_of(log)} lacks the setting {missing}", hint="was it edited?") from None
    except DataError as error:
        raise DataError(f"{log.name} needs the data of its questions: {error}", hint=WAY_OUT) from None
    part = next((part for part in parts if part.name == file.identity.get("variant")), parts[0])
    loaded = part.loaded
    walks = [loaded_part.questions for loaded_part in (part.gate, loaded) if loaded_part is not None]
    return Reopened(
        file=file,
        benchmark=run.benchmark,
        task=run.task,
        questions=Walk(lambda: chain.from_iterable(walks)),
        data_sha256=loaded.data_sha256,
    )


def rows_of(log: Path) -> dict[str, dict[str, Any]]:
    """The cells of each question's row that are valid JSON, if the benchmark keeps its rows."""
    return {
        question.id: {
            name: value
            for name, value in question.extra.get("row", {}).items()
            if value is not None and _fits_json(value)
        }
        for question in reopen(log).questions
    }


def _fits_json(value: Any) -> bool:
    """Whether a value has only texts, numbers, lists, objects and null: bytes of an image are not JSON."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, str | int | float | list | dict | None) and all(map(_fits_json, inner))


def as_recorded(question: Question, record: Record) -> Question:
    """The question in the record's variant, with its corruption among the groups.

    If the variant is an order of the choices, they are put into it, unless the question has the variant already.
    """
    corrupted = {name: record.groups[name] for name in _CORRUPTED if name in record.groups}
    asked = replace(question, variant=record.variant, groups=question.groups | corrupted)
    return asked if question.variant == record.variant else as_shown(asked)


def settings_of(file: RunFile, *, as_given: bool = False) -> tuple[RunSettings, registry.RegisteredBenchmark]:
    """A run's settings and benchmark; a setting that was not given has the value that the run used.

    Raises UsageError for a benchmark that isn't installed, KeyError for a missing setting.
    """
    settings = file.described.get("settings") or {}
    name = settings.get("benchmark") or str(file.identity.get("task"))
    if name.endswith(".py") and not Path(name).expanduser().is_file():
        raise UsageError(f"{name} does not exist, which declares the run's benchmark", hint=WAY_OUT)
    entry = registry.find(name)
    used = {
        name: value
        for name, value in (file.identity | file.scoring).items()
        if isinstance(value, str | bool) and settings.get(name) is None
    }
    return entry.settings_from(settings | used, as_given=as_given), entry


_FORMERLY = {"seed": "published", "seed_head": "published_latest"}
"""Names in older logs of the readings and scores of published scripts."""


class Reading(Struct, frozen=True, kw_only=True):
    """The answer that was read from a reply, and its score."""

    status: Status
    answer: str | None
    score: float
    rule: str
    references: tuple[str, ...]
    parts: dict[str, float]


class Change(Struct, frozen=True, kw_only=True):
    """A question whose reading, score or right answer has changed."""

    question_id: str
    variant: str
    old: Reading
    new: Reading


class RescoredMeans(Struct, frozen=True, kw_only=True):
    """Means over all questions, in which a failed one counts as 0, and the number of questions by status."""

    accuracy: float | None
    parts: dict[str, float]
    statuses: dict[Status, int]


class Rescored(Struct, frozen=True, kw_only=True):
    """The result of scoring a log again; the records of questions `not_in_data` are unchanged."""

    log: str
    task: str
    total: int
    failed: int
    not_in_data: tuple[str, ...]
    scoring_old: dict[str, str]
    scoring_new: dict[str, str]
    data_changed: bool
    old: RescoredMeans
    new: RescoredMeans
    changes: tuple[Change, ...]
    written: bool


def rescore(log: Path, *, write: bool) -> Rescored:
    """Read every saved reply again; `write` updates the records, and the scoring in the run file.

    Raises what `reopen` does, and UsageError if another run is writing the log.
    """
    run = reopen(log)
    file, question_of = run.file, _asked_questions(run, log)
    old_sums, new_sums = _RunningSums(), _RunningSums()
    missing, changes = list[str](), list[Change]()

    def rescored(records: Iterable[Record]) -> Iterator[Record]:
        for old in records:
            question = question_of(old)
            if question is None:
                missing.append(old.question_id)
            new = old if question is None else read_again(old, question, run.task)
            old_sums.add(old)
            new_sums.add(new)
            before, after = _reading(old), _reading(new)
            common = {name: value for name, value in after.parts.items() if name in before.parts}  # without new metrics
            if before != replace(after, parts=common):
                changes.append(Change(question_id=old.question_id, variant=old.form, old=before, new=after))
            yield new

    if write:
        with RecordLog(log, file.identity) as kept:
            kept.rewrite(rescored(kept))
    else:
        deque(rescored(LogReader(log)), maxlen=0)
    old = old_sums.sums()
    result = Rescored(
        log=str(log),
        task=run.task.name,
        total=sum(old.statuses.values()),
        failed=sum(count for status, count in old.statuses.items() if status not in ANSWERED),
        not_in_data=tuple(missing),
        scoring_old=file.scoring,
        scoring_new=run.task.scoring,
        data_changed=file.described.get("data_sha256") != run.data_sha256,
        old=old,
        new=new_sums.sums(),
        changes=tuple(changes),
        written=write,
    )
    if write:
        file.scoring = run.task.scoring
        file.described["data_sha256"] = run.data_sha256
        file.write(run_file_of(log))
    return result


def _asked_questions(run: Reopened, log: Path) -> Callable[[Record], Question | None]:
    """Returns a function that gives the question of a record as it was asked, None if the data doesn't have it."""
    records = LogReader(log)
    check_run(log, records.run, run.file.identity)
    keys = records.keys()
    asked = {question_id for question_id, _ in keys}
    by_key: dict[Key, Question] = {}
    by_id: dict[str, Question] = {}
    for question in run.questions:
        if question.id in asked:
            by_id.setdefault(question.id, question)
            by_key[question.key] = question

    def question_of(record: Record) -> Question | None:
        question = by_key.get(record.key) or by_id.get(record.question_id)
        return as_recorded(question, record) if question else None

    return question_of


class _RunningSums:
    def __init__(self) -> None:
        self._scores: list[float] = []
        self._parts: dict[str, list[float]] = {}
        self._statuses: Counter[Status] = Counter()

    def add(self, record: Record) -> None:
        self._scores.append(record.score)
        self._statuses[record.status] += 1
        for name, value in record.parts.items():
            self._parts.setdefault(_FORMERLY.get(name, name), []).append(value)

    def sums(self) -> RescoredMeans:
        n = len(self._scores)
        return RescoredMeans(
            accuracy=fsum(self._scores) / n if n else None,
            parts={name: fsum(values) / n for name, values in self._parts.items()},
            statuses=dict(self._statuses),
        )


def _reading(record: Record) -> Reading:
    return Reading(
        status=record.status,
        answer=record.answer,
        score=record.score,
        rule=_FORMERLY.get(record.rule, record.rule),
        references=record.references,
        parts={_FORMERLY.get(name, name): value for name, value in record.parts.items()},
    )


class ReferenceFault(Struct, frozen=True, kw_only=True):
    """A question whose ideal reply doesn't get the full score."""

    question_id: str
    reply: str
    reason: str


class Tested(Struct, frozen=True, kw_only=True):
    """The number of questions that were tested, and those that failed.

    Also the totals in which no question counts, and the fields of breakdowns that no question has.
    """

    total: int
    faults: tuple[ReferenceFault, ...]
    empty_totals: tuple[str, ...]
    empty_breakdowns: tuple[str, ...]


def selftest(settings: RunSettings) -> Tested:
    """Load the data, make the prompt of every question with a reference, score its ideal reply, and add up the totals.

    It needs no server and no image. Raises DataError if no question has a reference, and
    UsageError if no metric returns a score.
    """
    tested = open_benchmark(settings)
    parts = tested.parts(finds_images=False)

    def ideal_answers() -> Iterator[tuple[Question, Record]]:
        for question in (question for part in parts for question in part.loaded.questions if question.references):
            if tested.task.check is not None:
                tested.task.check(question)
            tested.task.content(question)
            reply = text_of(tested.benchmark.ideal_reply, question, "the ideal reply")
            record = Record(question_id=question.id, status="ok", output=reply, cluster=question.cluster)
            yield question, read_again(record, question, tested.task)

    total, scores, faults = 0, 0, list[ReferenceFault]()
    declared = (field for by in tested.task.description.breakdowns for field in (by.field, by.crossed_with) if field)
    unused = dict.fromkeys(declared)
    for question, record in ideal_answers():
        total += 1
        for field in unused.keys() & question.groups.keys():
            del unused[field]
        scores += len(record.parts)
        low = [
            f"{name} is {value:g}" for name, value in record.parts.items() if value < 1 and not name.startswith("n_")
        ]
        if record.status != "ok":
            low.insert(0, f"the reply is {record.status}")
        if low:
            faults.append(ReferenceFault(question_id=question.id, reply=record.output or "", reason=", ".join(low)))
    if not total:
        raise DataError("no question has an answer to test", hint="--split names a split whose answers are public")
    if not scores and not faults:
        raise UsageError(f"no metric of {tested.benchmark.name} returns a score", hint="does its function return one?")
    totals = totals_of(tested.benchmark, ideal_answers) if tested.benchmark.totals else {}
    empty = [name for name, figures in totals.items() if all(figure.value is None for figure in figures.values())]
    return Tested(total=total, faults=tuple(faults), empty_totals=tuple(empty), empty_breakdowns=tuple(unused))
