"""The report of a declared benchmark: its summary, and the totals that it declares under each metric."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from vqa_client.aggregates import Running, Scored, Totals
from vqa_client.benchmark import Benchmark, Metric
from vqa_client.files import write_json
from vqa_client.reports.additions import additions, in_shares
from vqa_client.reports.run import Pairs, Run, Write
from vqa_client.reports.summary import Summary, summarise
from vqa_client.scoring.reply import kept_completion, reply_from
from vqa_client.types import Question, Record


class DeclaredSummary(Summary, frozen=True, kw_only=True):
    """A summary with the totals that the benchmark declares."""

    totals: Totals

    def added(self) -> dict[str, Any]:
        """The totals, for machines."""
        return {"totals": to_builtins(self.totals)} if self.totals else {}


def writer(benchmark: Benchmark) -> Write:
    """What writes the report of a run of the benchmark, accuracies in [0, 1]."""
    crossings = [(each.field, each.crossed_with) for each in benchmark.description().breakdowns if each.crossed_with]

    def write(path: Path, run: Run, pairs: Pairs, *, added: Mapping[str, Any] | None = None) -> DeclaredSummary:
        totals = _RunningTotals(benchmark)
        summary = summarise(totals.watching(pairs()), crossings=crossings)
        whole = DeclaredSummary(
            **{name: getattr(summary, name) for name in summary.__struct_fields__}, totals=totals.figures()
        )
        write_json(path, _content(benchmark, run, whole) | dict(added or {}))
        return whole

    return write


class _RunningTotals:
    """Every total under each of its metrics, added up while records go by; failed questions said nothing."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._by_metric: list[tuple[Metric, dict[str, Running]]] = []
        for metric in benchmark.metrics:
            totals = [total for total in benchmark.totals if not total.on or metric.name in total.on]
            if totals:
                self._by_metric.append((metric, {total.name: Running(total.value) for total in totals}))

    def watching(self, pairs: Iterable[tuple[Question, Record]]) -> Iterator[Record]:
        """The records of the same pairs."""
        for question, record in pairs:
            for metric, totals in self._by_metric:
                answer = self._answer(metric, record, question)
                score = metric.score(answer, question)
                if score is not None:
                    scored = Scored(question=question, record=record, answer=answer, score=score)
                    for running in totals.values():
                        running.add(scored)
            yield record

    def _answer(self, metric: Metric, record: Record, question: Question) -> str | None:
        """The answer of a record as a metric reads it; None for a failed question."""
        if metric.read is self._benchmark.answering_metric.read or record.output is None:
            return record.answer
        return self._benchmark.answer(metric, reply_from(kept_completion(record)), question).text

    def figures(self) -> Totals:
        """Each total's figures by metric."""
        found: Totals = {}
        for metric, totals in self._by_metric:
            for name, running in totals.items():
                found.setdefault(name, {})[metric.name] = running.figure()
        return found


def _content(benchmark: Benchmark, run: Run, summary: DeclaredSummary) -> dict[str, Any]:
    return {
        "benchmark": benchmark.name,
        "part": run.variant,
        "model": run.model,
        "config": run.config,
        "data_path": run.data_path,
        "images_dir": run.images_dir,
        "headline": benchmark.headline_metric.name,
        "total_questions": summary.overall.total,
        "accuracy": summary.overall.accuracy,
        **summary.added(),
        **additions(run, summary, in_shares),
    }
