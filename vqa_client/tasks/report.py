"""The report of a declared benchmark: its summary, and the totals that it declares under each metric."""

from collections import deque
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from msgspec.structs import asdict, replace

from vqa_client.aggregates import Running, Scored, Totals
from vqa_client.benchmark import Benchmark, Metric, Parse, Replay, Submission
from vqa_client.errors import UsageError
from vqa_client.files import write_json
from vqa_client.json_stream import write_entries
from vqa_client.own_code import checked_answer, named, place_of, shown
from vqa_client.reports.run import Pairs, Run, Write, common_keys, in_shares
from vqa_client.reports.summary import Summary, summarise, without_scores
from vqa_client.scoring.reply import Reply, kept_completion, reply_from
from vqa_client.types import Answer, Completion, Question, Record

_NOTHING = reply_from(Completion(text=""))


class DeclaredSummary(Summary, frozen=True, kw_only=True):
    """A summary with the totals that the benchmark declares."""

    totals: Totals

    def added(self) -> dict[str, Any]:
        return {"totals": to_builtins(self.totals)} if self.totals else {}


def writer(benchmark: Benchmark, *, submits: bool = False) -> Write:
    """The function that writes the report of a run, accuracies in [0, 1], and with `submits` the submission."""
    crossings = [(by.field, by.crossed_with) for by in benchmark.description().breakdowns if by.crossed_with]

    def write(path: Path, run: Run, pairs: Pairs, *, added: Mapping[str, Any] | None = None) -> DeclaredSummary:
        totals = _RunningTotals(benchmark, pairs)
        summary = summarise(totals.watching(), crossings=crossings)
        if not totals.labelled and summary.overall.total:
            summary = without_scores(summary)
        declared = DeclaredSummary(**asdict(summary), totals=totals.figures() if totals.labelled else {})
        write_json(path, _content(benchmark, run, declared) | dict(added or {}))
        if submits:
            _write_submission(path, benchmark, totals)
        return declared

    return write


def totals_of(benchmark: Benchmark, pairs: Pairs) -> Totals:
    """The totals that the benchmark declares, of questions and their records."""
    totals = _RunningTotals(benchmark, pairs)
    deque(totals.watching(), maxlen=0)
    return totals.figures()


def _write_submission(report: Path, benchmark: Benchmark, totals: "_RunningTotals") -> None:
    submission = benchmark.submission
    assert submission is not None
    suffix = "json" if submission.form == "list" else "jsonl"
    entries = (_entry(benchmark, submission, scored) for scored in totals.scored(benchmark.headline_metric))
    write_entries(report.with_name(f"{report.stem}_submission.{suffix}"), entries, as_list=submission.form == "list")


def _entry(benchmark: Benchmark, submission: Submission, scored: Scored) -> Mapping[str, Any]:
    place = f"{benchmark.name}: the submission's entry, question {scored.question.id!r}"
    try:
        entry = submission.entry(scored)
    except Exception as error:
        raise named(error, place) from error.__cause__
    if not isinstance(entry, Mapping):
        found = f"{place}: it is {shown(entry)}{place_of(submission.entry)}"
        raise UsageError(found, hint="return a dict of what the test server takes")
    return entry


class _RunningTotals:
    """Every total under each of its metrics, added up in one walk; failed questions have no answer."""

    def __init__(self, benchmark: Benchmark, pairs: Pairs) -> None:
        self._benchmark, self._pairs = benchmark, pairs
        self._metrics = {metric.name: metric for metric in benchmark.metrics}
        self._totals = {
            name: {
                total.name: Running(total.value, total.most)
                for total in benchmark.totals
                if not total.on or name in total.on
            }
            for name in self._metrics
        }
        self.labelled = 0

    def watching(self) -> Iterator[Record]:
        """The records of all pairs, with the scores of replayed metrics."""
        readings = self._start_readings()
        for question, record in self._pairs():
            self.labelled += bool(question.references)
            replayed: dict[str, float] = {}
            for name, totals in self._totals.items():
                metric = self._metrics[name]
                if not totals and not isinstance(metric.read, Replay):
                    continue
                scored, counts = self._score_record(metric, question, record, readings)
                if not counts:
                    continue
                if isinstance(metric.read, Replay):
                    replayed[name] = scored.score
                for total, running in totals.items():
                    try:
                        running.add(scored)
                    except Exception as error:
                        raise named(error, f"{self._title(total)}, question {question.id!r}") from error.__cause__
            yield replace(record, parts=record.parts | replayed) if replayed else record

    def scored(self, metric: Metric) -> Iterator[Scored]:
        """All questions under a metric; a question without references has a score of 0."""
        readings = self._start_readings()
        for question, record in self._pairs():
            yield self._score_record(metric, question, record, readings)[0]

    def _start_readings(self) -> dict[str, Parse]:
        readings = {name: metric.read for name, metric in self._metrics.items() if isinstance(metric.read, Replay)}
        started = {name: replay.start() for name, replay in readings.items()}
        for name, read in started.items():
            if not callable(read):
                raise UsageError(
                    f"{self._benchmark.name}: start of the metric {name} returns {shown(read)}"
                    f"{place_of(readings[name].start)}",
                    hint="return a function of a reply and a question",
                )
        return started

    def _score_record(
        self, metric: Metric, question: Question, record: Record, readings: Mapping[str, Parse]
    ) -> tuple[Scored, bool]:
        """A question under a metric, and whether it counts there."""
        answer = self._answer(record, question, readings, metric.name)
        score = metric.score(record.rationale if metric.rationale else answer, question)
        scored = Scored(
            question=question,
            record=record,
            answer=answer,
            score=score or 0.0,
            said=partial(self._answer, record, question, readings),
            other=lambda id: self._scores[metric.name].get(id),
        )
        return scored, score is not None

    def _answer(self, record: Record, question: Question, readings: Mapping[str, Parse], name: str) -> str | None:
        """The answer of a record in a metric's reading; None for a failed question, where a replay reads ""."""
        metric = self._metrics[name]
        if name in readings:
            reply = reply_from(kept_completion(record)) if record.output is not None else _NOTHING
            return self._replayed(name, readings[name], reply, question).text
        if metric.read is self._benchmark.answering_metric.read or record.output is None:
            return record.answer
        return self._benchmark.answer(metric, reply_from(kept_completion(record)), question).text

    def _replayed(self, name: str, read: Parse, reply: Reply, question: Question) -> Answer:
        try:
            return checked_answer(read(reply, question), question, read)
        except Exception as error:
            raise named(
                error, f"{self._benchmark.name}: the metric {name}, question {question.id!r}"
            ) from error.__cause__

    @cached_property
    def _scores(self) -> dict[str, dict[str, float]]:
        """The scores of all questions by metric and id, from a second walk, for totals that need other questions."""
        scores: dict[str, dict[str, float]] = {name: {} for name, totals in self._totals.items() if totals}
        readings = self._start_readings()
        for question, record in self._pairs():
            for name in scores:
                scored, counts = self._score_record(self._metrics[name], question, record, readings)
                if counts:
                    scores[name][question.id] = scored.score
        return scores

    def figures(self) -> Totals:
        figures: Totals = {}
        for name, totals in self._totals.items():
            for total, running in totals.items():
                try:
                    figures.setdefault(total, {})[name] = running.figure()
                except Exception as error:
                    raise named(error, self._title(total)) from error.__cause__
        return figures

    def _title(self, total: str) -> str:
        return f"{self._benchmark.name}: the total {total}"


def _content(benchmark: Benchmark, run: Run, summary: DeclaredSummary) -> dict[str, Any]:
    return {
        "benchmark": benchmark.name,
        "part": run.folder,
        "model": run.model,
        "config": run.config,
        "data_path": run.data_path,
        "images_dir": run.images_dir,
        "headline": benchmark.headline_metric.name,
        "total_questions": summary.overall.total,
        "accuracy": summary.overall.accuracy,
        **summary.added(),
        **common_keys(run, summary, in_shares),
    }
