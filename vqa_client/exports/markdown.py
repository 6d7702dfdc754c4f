"""The numbers of a run as Markdown tables, for issues, pull requests and notes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from vqa_client.files import replacing
from vqa_client.reports.described import gap_words
from vqa_client.reports.logged_run import LoggedRun
from vqa_client.reports.overview import VARIANT, Overview, in_order
from vqa_client.reports.summary import Summary, Tally
from vqa_client.reports.totals import totals
from vqa_client.scoring.averages import Mean
from vqa_client.scoring.statistics import Interval
from vqa_client.types import ANSWERED
from vqa_client.unseen import unseen

_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$@:-])")
_UNSEEN = unseen(lines=False)
OURS = rb"# [^\n]*: [^\n]*\n\n(?s:.*?)\n\|---\|---:\|"
"""How the file begins, whatever its version."""
_ACCURACY = ("accuracy", "95 % interval", "n")


def write_markdown(path: Path, run: LoggedRun, found: Overview) -> None:
    """Replace the file."""
    with replacing(path, OURS) as file:
        file.write("\n".join(markdown(run, found)).encode("utf-8", "replace") + b"\n")


def markdown(run: LoggedRun, found: Overview) -> Iterator[str]:
    """Line after line; foreign text is escaped, so that it shows and does nothing."""
    summary = found.summary
    yield f"# {escaped(run.title)}: {escaped(run.facts.model or run.stem)}"
    yield ""
    yield from _scope(run, found)
    yield from _table((found.description.measure, "%", "95 % interval", "n"), _headline(summary))
    if summary.overall.interval:
        yield f"Intervals: {_methods(summary)}."
        yield ""
    yield from _table(("status", "n", "share"), _statuses(summary))
    if summary.parts:
        yield from _table(("metric", *_ACCURACY), _metrics(summary))
    if found.totals:
        yield from _table(("total", "metric", "%", "95 % interval"), _totals(found))
    if gap := gap_words(summary.parts, found.description.headline):
        yield f"{gap}."
        yield ""
    for field, tallies in summary.breakdowns.items():
        if len(tallies) > 1 and field != VARIANT:
            yield from _table(
                (field.replace("_", " "), *_ACCURACY), _breakdown(tallies, found.description.order(field))
            )
    if found.variants:
        yield from _table((VARIANT, *_ACCURACY, "failed"), _variants(found.variants))
    yield from _table(("cost", f"of all {found.whole.overall.total:,} questions"), _cost(run, found))


def escaped(text: str) -> str:
    """A text in one line in which no character is markup."""
    plain = _UNSEEN.sub(lambda found: " " if found.group().isspace() else f"U+{ord(found.group()):04X}", text)
    return _MARKUP.sub(r"\\\1", plain)


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(map(escaped, head))} |"
    yield f"|---|{'---:|' * (len(head) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _scope(run: LoggedRun, found: Overview) -> Iterator[str]:
    """Which questions the tables are of, where that isn't all that were to be asked."""
    asked, expected = found.whole.overall.total, run.facts.expected
    if found.variants:
        yield f"Figures are of {escaped(run.of_words)}; all {len(found.variants):,} variants are in a table below."
        yield ""
    if expected and asked < expected:
        yield f"Not finished: {expected - asked:,} of {expected:,} questions have no record yet."
        yield ""


def _headline(summary: Summary) -> Iterator[Sequence[str]]:
    overall = summary.overall
    yield "all questions", *_figures(overall.accuracy, overall.interval, overall.total)
    yield "answered ones", *_figures(overall.accuracy_answered, overall.interval_answered, overall.answered)


def _methods(summary: Summary) -> str:
    """By which methods the intervals of all tables are; Wilson's where no two questions share an image or document."""
    tallies = [summary.overall, *(tally for field in summary.breakdowns.values() for tally in field.values())]
    return ", ".join(sorted({tally.interval.method for tally in tallies if tally.interval}))


def _statuses(summary: Summary) -> Iterator[Sequence[str]]:
    for status, n in summary.status_counts.items():
        if n:
            kind = "" if status in ANSWERED else " (failed)"
            yield escaped(status.replace("_", " ") + kind), f"{n:,}", percent(n / summary.overall.total)


def _metrics(summary: Summary) -> Iterator[Sequence[str]]:
    for name, part in summary.parts.items():
        mean: Mean = part.overall
        yield escaped(name), *_figures(mean.value, mean.interval, mean.n)


def _totals(found: Overview) -> Iterator[Sequence[str]]:
    for name, figures in found.totals.items():
        most = found.description.points.get(name)
        unit = f" (points of {most:g})" if most else ""
        scale = 1.0 if most else 100.0
        for metric, of in figures.items():
            value = "-" if of.value is None else f"{scale * of.value:.1f}"
            bounds = "-" if of.low is None or of.high is None else f"{scale * of.low:.1f} to {scale * of.high:.1f}"
            yield escaped(name) + unit, escaped(metric), value, bounds


def _breakdown(tallies: Mapping[str, Tally], order: Sequence[str]) -> Iterator[Sequence[str]]:
    for value in in_order(list(tallies), order):
        tally = tallies[value]
        yield escaped(value), *_figures(tally.accuracy, tally.interval, tally.total)


def _variants(tallies: Mapping[str, Tally]) -> Iterator[Sequence[str]]:
    for variant, tally in tallies.items():
        figures = _figures(tally.accuracy, tally.interval, tally.total)
        yield escaped(variant or "unchanged"), *figures, f"{tally.total - tally.answered:,}"


def _cost(run: LoggedRun, found: Overview) -> Iterator[Sequence[str]]:
    for name, value in totals(run, found):
        yield escaped(name), escaped(value)


def _figures(value: float | None, interval: Interval | None, n: int) -> tuple[str, str, str]:
    bounds = f"{100 * interval.low:.1f} to {100 * interval.high:.1f}" if interval else "-"
    return percent(value), bounds if value is not None else "-", f"{n:,}"


def percent(share: float | None) -> str:
    """A share as per cent with one decimal."""
    return "-" if share is None else f"{100 * share:.1f} %"
