"""The numbers of a run as JSON, with shares in [0, 1], and as Markdown tables."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from vqa_client.files import replacing, write_json
from vqa_client.reports.names import count, percent
from vqa_client.reports.overview import VARIANT, Overview, crossing_tables, in_order, quantile, totals
from vqa_client.reports.sections import Section
from vqa_client.reports.summary import Summary, Tally, gap_words
from vqa_client.scoring.statistics import Interval
from vqa_client.types import ANSWERED
from vqa_client.unseen import unseen

_JSON_START = rb'\{\n  "task": '
"""The beginning of the file in every version."""
QUANTILES = {"median": 0.5, "p95": 0.95, "max": 1.0}


def write_summary(path: Path, overview: Overview) -> None:
    """Replace the file; an accuracy without an answered question is null."""
    write_json(path, summary_content(overview), _JSON_START)


def summary_content(overview: Overview) -> dict[str, Any]:
    """All numbers of the report, and the run file.

    With several variants, accuracies, statuses and scores are those of `headline_variant`; `all_variants`, times,
    tokens and attempts are of all records.
    """
    run, summary, total = overview.run, overview.summary, overview.summary.overall.total
    return {
        "task": run.task,
        "measure": overview.description.measure,
        "variant": run.folder,
        "headline_variant": overview.run.headline,
        "model": run.facts.model,
        "records": run.log.name,
        "expected": run.facts.expected,
        "overall": to_builtins(summary.overall),
        "failed": summary.overall.failed,
        "status_counts": summary.status_counts,
        "status_shares": {status: n / total if total else None for status, n in summary.status_counts.items()},
        "n_truncated": summary.n_truncated,
        "without_truncated": to_builtins(summary.without_truncated),
        "scores": to_builtins(summary.parts),
        "breakdowns": to_builtins(summary.breakdowns),
        "crossings": [
            {"fields": list(pair), "values": to_builtins(values)} for pair, values in summary.crossings.items()
        ],
        "all_variants": _all_variants(overview),
        "latency_s": {name: quantile(overview.latencies_s, share) for name, share in QUANTILES.items()},
        "prompt_tokens": to_builtins(overview.whole.prompt_tokens),
        "completion_tokens": to_builtins(overview.whole.completion_tokens),
        "attempts": overview.attempts,
        "run": to_builtins(run.facts),
    }


def _all_variants(overview: Overview) -> dict[str, Any] | None:
    """The statuses of all records; None if there is only one variant, since everything else is of it."""
    if overview.run.headline is None:
        return None
    every = overview.whole
    return {"total": every.overall.total, "failed": every.overall.failed, "status_counts": every.status_counts}


_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$@-]|:(?! ))")
_UNSEEN = unseen(lines=False)
_MARKDOWN_START = rb"# [^\n]*: [^\n]*\n\n(?s:.*?)\n\|---\|---:\|"
"""The beginning of the file in every version."""
_ACCURACY = ("accuracy", "95 % interval", "n")
Row = tuple[str, ...]


def write_markdown(path: Path, overview: Overview) -> None:
    """Replace the file."""
    with replacing(path, _MARKDOWN_START) as file:
        file.write("\n".join(as_markdown(sections(overview))).encode("utf-8", "replace") + b"\n")


def as_markdown(sections: Iterable[Section]) -> Iterator[str]:
    """The lines of the Markdown; text is escaped, so that it has no effect."""
    for section in sections:
        if section.title:
            yield from (f"# {escaped(section.title)}", "")
        if section.columns:
            yield _row(section.columns)
            yield f"|---|{'---:|' * (len(section.columns) - 1)}"
            yield from map(_row, section.rows)
            yield ""
        for note in section.notes:
            yield from (escaped(note), "")


def sections(overview: Overview) -> Iterator[Section]:
    """The figures of a run."""
    run, summary, description = overview.run, overview.summary, overview.description
    yield Section(title=f"{run.title}: {run.facts.model or run.stem}", notes=list(_scope(overview)))
    methods = [f"Intervals: {_methods(summary)}."] if summary.overall.interval else []
    yield Section(columns=(description.measure, "%", "95 % interval", "n"), rows=_headline(summary), notes=methods)
    yield Section(columns=("status", "n", "share"), rows=list(_statuses(summary)))
    if summary.parts:
        means = {name: part.overall for name, part in summary.parts.items()}
        rows = [(name, *_figures(of.value, of.interval, of.n)) for name, of in means.items()]
        yield Section(columns=("metric", *_ACCURACY), rows=rows)
    if overview.totals:
        yield Section(columns=("total", "metric", "%", "95 % interval"), rows=list(_totals(overview)))
    if gap := gap_words(summary.parts, description.headline):
        yield Section(notes=[f"{gap}."])
    for field, tallies in summary.breakdowns.items():
        if len(tallies) > 1 and field != VARIANT:
            rows = [_tally(value, tallies[value]) for value in in_order(tallies, description.order(field))]
            yield Section(columns=(field.replace("_", " "), *_ACCURACY), rows=rows)
    yield from crossing_tables(summary, description.order)
    if overview.variants:
        rows = [(*_tally(name or "unchanged", of), f"{of.failed:,}") for name, of in overview.variants.items()]
        yield Section(columns=(VARIANT, *_ACCURACY, "failed"), rows=rows)
    yield Section(columns=("cost", f"of all {count(overview.whole.overall.total)}"), rows=list(totals(overview)))


def escaped(text: str) -> str:
    """A text on one line in which no character is markup."""
    plain = _UNSEEN.sub(lambda match: " " if match.group().isspace() else f"U+{ord(match.group()):04X}", text)
    return _MARKUP.sub(r"\\\1", plain)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell if cell == '-' else escaped(cell) for cell in cells)} |"


def _scope(overview: Overview) -> Iterator[str]:
    """Which questions the tables are of, if these are not all questions of the run."""
    run, asked, expected = overview.run, overview.whole.overall.total, overview.run.facts.expected
    if overview.variants:
        yield f"Figures are of {run.of_words}; all {len(overview.variants):,} variants are in a table below."
    if expected and asked < expected:
        yield f"Not finished: {expected - asked:,} of {expected:,} questions have no record yet."


def _headline(summary: Summary) -> list[Row]:
    of = summary.overall
    return [
        ("all questions", *_figures(of.accuracy, of.interval, of.total)),
        ("answered ones", *_figures(of.accuracy_answered, of.interval_answered, of.answered)),
    ]


def _methods(summary: Summary) -> str:
    """The methods of all intervals; it is Wilson's if no two questions share an image or document."""
    tallies = [summary.overall, *(tally for field in summary.breakdowns.values() for tally in field.values())]
    return ", ".join(sorted({tally.interval.method for tally in tallies if tally.interval}))


def _statuses(summary: Summary) -> Iterator[Row]:
    for status, n in summary.status_counts.items():
        if n:
            kind = "" if status in ANSWERED else " (failed)"
            yield status.replace("_", " ") + kind, f"{n:,}", _percent(n / summary.overall.total)


def _totals(overview: Overview) -> Iterator[Row]:
    for name, figures in overview.totals.items():
        most = overview.description.points.get(name)
        unit = f" (points of {most:g})" if most else ""
        scale = 1.0 if most else 100.0
        for metric, of in figures.items():
            value = "-" if of.value is None else f"{scale * of.value:.1f}"
            bounds = "-" if of.low is None or of.high is None else f"{scale * of.low:.1f} to {scale * of.high:.1f}"
            yield name + unit, metric, value, bounds


def _tally(name: str, of: Tally) -> Row:
    return name, *_figures(of.accuracy, of.interval, of.total)


def _figures(value: float | None, interval: Interval | None, n: int) -> Row:
    bounds = f"{100 * interval.low:.1f} to {100 * interval.high:.1f}" if interval else "-"
    return _percent(value), bounds, f"{n:,}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{percent(share)} %"
