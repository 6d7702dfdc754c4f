"""A scoring as people read it in a terminal."""

from collections.abc import Iterator
from typing import Any

from vqa_client.cli.tables import interval_text, new_console, new_table, printed
from vqa_client.cli.text import count, safe
from vqa_client.reports.names import percent
from vqa_client.scorefiles.official_files import DECIMALS
from vqa_client.scorefiles.report import ScoreReport
from vqa_client.scoring.averages import Mean
from vqa_client.scoring.vqa_accuracy import Gap

METRICS_ACROSS = 3
"""More would not fit beside a long question type."""
MOST_TYPES = 12
"""Question types that are shown, those with most questions; the JSON has all."""


def as_tables(report: ScoreReport) -> str:
    """The accuracies in per cent with their intervals, by type, what sets them apart, and every note."""
    console = new_console()
    counts = report.counts
    console.print(f"score · {safe(report.predictions)}", style="bold", soft_wrap=True)
    console.print(
        f"{count(counts.n_scored, 'question')} scored of {counts.n_predictions:,} predicted and "
        f"{counts.n_annotations:,} annotated in {safe(report.annotations)}",
        soft_wrap=True,
    )
    if counts.n_scored:
        console.print(_overview(report))
        for title, types in (
            ("by answer type", report.summary.per_answer_type),
            ("by question type", report.summary.per_question_type),
        ):
            for at in range(0, len(report.metrics) if types else 0, METRICS_ACROSS):
                console.print(_by_type(title, types, report.metrics[at : at + METRICS_ACROSS]))
    for line in _remarks(report):
        console.print(safe(line), soft_wrap=True)
    return printed(console)


def _overview(report: ScoreReport) -> Any:
    some_missing = report.counts.n_without_prediction > 0
    table = new_table("metric", "%", "95 % interval", *(["% if missing were wrong"] if some_missing else []))
    for name, mean in report.summary.overall.items():
        missing = [percent(report.summary.if_missing_were_wrong[name], DECIMALS)] if some_missing else []
        table.add_row(name, percent(mean.value, DECIMALS), interval_text(mean.interval), *missing)
    return table


def _by_type(title: str, types: dict[str, dict[str, Mean]], metrics: tuple[str, ...]) -> Any:
    table = new_table(title, "questions", *metrics, f"{metrics[0]}: 95 %")
    for name, means in list(types.items())[:MOST_TYPES]:
        first = means[metrics[0]]
        table.add_row(
            safe(name),
            f"{first.n:,}",
            *(percent(means[m].value, DECIMALS) for m in metrics),
            interval_text(first.interval),
        )
    return table


def _remarks(report: ScoreReport) -> Iterator[str]:
    hidden = len(report.summary.per_question_type) - MOST_TYPES
    if hidden > 0:
        yield f"and {count(hidden, 'more question type')}: --json has all"
    if not report.counts.n_scored:
        yield "no accuracy: the questions have no answers to compare with"
    if report.summary.gap:
        yield gap_text(report.summary.gap)
    yield from report.notes
    yield from report.files


def gap_text(gap: Gap) -> str:
    """Say what the official evaluator does, so that nobody takes its number for the model's fault."""
    return (
        f"normalised - official = {100 * gap.value:+.2f} points, {100 * gap.by_unanimous:+.2f} of them from the "
        f"{count(gap.unanimous, 'question')} ({100 * gap.unanimous_share:.1f} %) whose annotators all agree: there the "
        f"official evaluator compares without normalising, and {gap.differing:,} score differently"
    )
