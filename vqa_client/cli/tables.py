"""Reports as people read them in a terminal, and as machines read them on standard output."""

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import cache
from io import StringIO
from typing import Any

import msgspec

from vqa_client.aggregates import Figure, Totals
from vqa_client.cli.text import count, safe
from vqa_client.reports.described import gap_words
from vqa_client.reports.names import interval_text as interval_text
from vqa_client.reports.names import percent
from vqa_client.reports.overview import in_order
from vqa_client.reports.report import Report
from vqa_client.reports.run import Sample
from vqa_client.reports.summary import Tally
from vqa_client.reports.varied import VariedSummary
from vqa_client.tasks.report import DeclaredSummary
from vqa_client.types import Status

EXAMPLE_CHARACTERS = 200
MASS_LOW = 0.5
"""Where less of the first token's probability falls on letters on average, the model would rather begin with prose."""
NAME_LEAST = 12
"""A table's first column is folded to this width where the others need the room."""
WIDTH = 200
"""Columns where no terminal says how many it has."""


def as_json_text(reports: Sequence[Report]) -> str:
    """One JSON list, accuracies in [0, 1]."""
    rows = [
        {
            "task": report.task,
            "variant": report.variant,
            "model": report.model,
            "report": str(report.path),
            "incomplete": report.incomplete,
            "expected": report.expected,
            "left_out": {reason: len(ids) for reason, ids in report.left_out.items()},
            **({"sample": msgspec.to_builtins(report.sample)} if report.sample else {}),
            **_figures(report),
            **msgspec.to_builtins(
                {
                    "overall": report.summary.overall,
                    "scores": report.summary.parts,
                    "status_counts": {s: n for s, n in report.summary.status_counts.items() if n},
                }
            ),
            **report.summary.added(),
        }
        for report in reports
    ]
    return json.dumps(rows, indent=2) + "\n"


def _figures(report: Report) -> dict[str, Any]:
    """What several forms of the questions make together, where a run asks them in several."""
    summary = report.summary
    return {"figures": msgspec.to_builtins(summary.figures)} if isinstance(summary, VariedSummary) else {}


def as_tables(reports: Sequence[Report]) -> str:
    """One table over all reports, one for each breakdown that has more than one group, and where the files lie."""
    console = new_console()
    first = reports[0]
    console.print(f"{first.task} · {safe(first.model)}", style="bold")
    measure = in_per_cent(first.description.measure)
    console.print(f"{measure}; questions without a reply count as wrong{_methods(reports)}")
    console.print(_overview(reports))
    for report in reports:
        if isinstance(report.summary, DeclaredSummary) and report.summary.totals:
            console.print(_totals(report, report.summary.totals))
    for field in breakdown_fields(first):
        if any(len(r.summary.breakdowns.get(field, {})) > 1 for r in reports if r.summary.overall.answered):
            console.print(_breakdown(reports, field, first.description.order(field)))
    for report in reports:
        for line in remarks(report):
            console.print(line, soft_wrap=True)
    for report in reports:
        if report.path.exists():  # an interrupted run in which nothing was answered has none
            console.print(f"{safe(report.variant or report.task)}: {safe(str(report.path))}", soft_wrap=True)
    return printed(console)


def in_per_cent(measure: str) -> str:
    """What the figures of a table are."""
    return measure.replace("accuracy", "accuracy in %", 1) if measure.startswith("accuracy") else f"{measure} in %"


def breakdown_fields(report: Report) -> list[str]:
    """The fields that the terminal shows; the report file has every field."""
    return [each.field for each in report.description.breakdowns]


def _methods(reports: Sequence[Report]) -> str:
    """By which method the intervals are, as "; intervals: Wilson"; "" where there are none."""
    found = dict.fromkeys(one.method for r in reports if (one := r.summary.overall.interval) is not None)
    return f"; intervals: {', '.join(found)}" if found else ""


def new_console() -> Any:
    """A rich console that prints into memory, as wide as the terminal; `printed` gives what it has printed."""
    from rich.console import Console

    return Console(
        file=StringIO(),
        force_terminal=sys.stdout.isatty(),
        width=shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
    )


def printed(console: Any) -> str:
    """The text without the blanks that fill tables up, and with one empty line where two tables meet."""
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    return "\n".join(line for at, line in enumerate(lines) if line or (at and lines[at - 1])) + "\n\n"


def _overview(reports: Sequence[Report]) -> Any:
    metrics = list(dict.fromkeys(name for r in reports for name in r.summary.parts if not name.startswith("n_")))
    others = [name for name in metrics if name != reports[0].headline]
    leading = reports[0].description.leading_total
    some_failed = any(report.failed for report in reports)
    table = new_table(
        "folder",
        "questions",
        *([leading.replace("_", " ")] if leading else []),
        "accuracy",
        "95 % interval",
        *others,
        *(["answered"] if some_failed else []),
    )
    for report in reports:
        overall, parts = report.summary.overall, report.summary.parts
        table.add_row(
            safe(report.variant or report.task) + (" (incomplete)" if report.incomplete else ""),
            f"{overall.total:,}",
            *([_leading(report)] if leading else []),
            percent(overall.accuracy),
            interval_text(overall.interval),
            *(percent(parts[name].overall.value if overall.answered and name in parts else None) for name in others),
            *([f"{percent(overall.accuracy_answered)} ({overall.answered:,})"] if some_failed else []),
        )
    return table


def _totals(report: Report, totals: Totals) -> Any:
    """The totals as rows, the readings as columns."""
    metrics = list(dict.fromkeys(metric for figures in totals.values() for metric in figures))
    table = new_table(f"totals {safe(report.variant)}".rstrip(), *metrics)
    for name, figures in totals.items():
        shown = _points if name in report.description.points else percent
        table.add_row(name.replace("_", " "), *(_figure(figures.get(metric), shown) for metric in metrics))
    return table


def _leading(report: Report) -> str:
    """The total that leads, under the headline's metric."""
    name, totals = report.description.leading_total, report.summary.added().get("totals", {})
    figure = msgspec.convert(totals.get(name, {}).get(report.headline), Figure | None)
    return _figure(figure, _points if name in report.description.points else percent)


def _figure(figure: Figure | None, shown: Callable[[float | None], str]) -> str:
    if figure is None or figure.value is None:
        return "-"
    bounds = "" if figure.low is None else f" ({shown(figure.low)}-{shown(figure.high)})"
    return shown(figure.value) + bounds


def _points(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _breakdown(reports: Sequence[Report], field: str, order: Sequence[str]) -> Any:
    values = in_order({value for r in reports for value in r.summary.breakdowns.get(field, {})}, order)
    table = new_table(f"by {field.replace('_', ' ')}", *(safe(report.variant or report.task) for report in reports))
    for value in values:
        table.add_row(safe(value), *(_cell(report.summary.breakdowns.get(field, {}).get(value)) for report in reports))
    return table


def _cell(tally: Tally | None) -> str:
    return "-" if tally is None else f"{percent(tally.accuracy)} ({tally.total:,})"


def remarks(report: Report) -> list[str]:
    """What a reader of the numbers should know: the questions that are not simply right or wrong, and why."""
    summary, said = report.summary, []
    for status, number in summary.status_counts.items():
        if number and status != "ok":
            said.append(f"{count(number, 'question')} {status.replace('_', ' ')}{_example(report, status, number)}")
    said += [f"{len(ids):,} left out, {reason.replace('_', ' ')}" for reason, ids in report.left_out.items()]
    said += filter(None, [gap_words(summary.parts, report.description.headline)])
    if (mass := summary.parts.get("mass")) and (mean := mass.answered.value) is not None and mean < MASS_LOW:
        share = f"only {percent(mean)} % of the first token's probability falls on letters"
        said.append(f"{share}; the prompt should ask for only the letter")
    if report.cut_documents:
        said.append(f"{count(report.cut_documents, 'document')} shown in part (--max_pages)")
    if report.limit is not None:
        said.append(f"only the first {report.limit:,} of the data file (--limit)")
    if report.sample is not None:
        said.append(_drawn(report.sample))
    if report.incomplete:
        said.append(f"{count(report.expected - summary.overall.total, 'question')} not yet asked")
    return [f"{safe(report.variant or report.task)}: {remark}" for remark in said]


def _drawn(sample: Sample) -> str:
    by = f" by {', '.join(sample.by)}" if sample.by else ""
    return f"{sample.size:,} of {sample.of:,} questions, drawn{by} with seed {sample.seed} (--sample)"


def _example(report: Report, status: Status, number: int) -> str:
    """Why the first of so many failed."""
    failure = report.failures.get(status)
    if failure is None:
        return ""
    words = safe(" ".join(failure.message.split()))
    shown = words if len(words) <= EXAMPLE_CHARACTERS else words[:EXAMPLE_CHARACTERS] + " ..."
    return f"{': ' if number == 1 else ', e.g. '}{shown}" + (f" ({failure.hint})" if failure.hint else "")


@cache
def _fitting_table() -> Any:
    """A table type that leaves out its last columns on a narrow terminal: a number is shown whole or not at all."""
    from rich.table import Table

    class Fitting(Table):
        def __rich_console__(self, console: Any, options: Any) -> Any:
            widths = [max(map(len, [str(column.header), *map(str, column.cells)])) + 2 for column in self.columns]
            widths[0] = min(widths[0], max(NAME_LEAST, options.max_width // 3))
            shown = [n for n in range(2, len(widths) + 1) if sum(widths[:n]) <= options.max_width + 2]
            left_out = self.columns[max(shown, default=2) :]
            del self.columns[max(shown, default=2) :]
            yield from super().__rich_console__(console, options)
            if left_out:
                names = ", ".join(str(column.header) for column in left_out)
                yield f"not shown on this narrow terminal: {names}"

    return Fitting


def new_table(first: str, *columns: str) -> Any:
    """A rich table with its first column to the left and all others, which are never cut, to the right."""
    from rich import box

    table = _fitting_table()(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table
