"""Reports as people read them in a terminal, and as machines read them on standard output."""

import json
import shutil
import sys
from collections.abc import Sequence
from io import StringIO
from typing import Any

import msgspec

from vqa_client.cli.text import count, safe
from vqa_client.reports.report import Report
from vqa_client.reports.summary import Tally
from vqa_client.scoring.statistics import Interval

WIDTH = 110
"""Columns where no terminal says how many it has."""
BREAKDOWNS = ("difficulty", "length", "context_length", "needle_depth")
"""The fields that the terminal shows; the report file has every field."""


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
            **msgspec.to_builtins(
                {
                    "overall": report.summary.overall,
                    "scores": report.summary.parts,
                    "status_counts": {s: n for s, n in report.summary.status_counts.items() if n},
                }
            ),
        }
        for report in reports
    ]
    return json.dumps(rows, indent=2) + "\n"


def as_tables(reports: Sequence[Report]) -> str:
    """One table over all reports, one for each breakdown that has more than one group, and where the files lie."""
    from rich.console import Console

    console = Console(
        file=StringIO(),
        force_terminal=sys.stdout.isatty(),
        width=shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
    )
    first = reports[0]
    console.print(f"\n{first.task} · {safe(first.model)}", style="bold")
    console.print(_overview(reports))
    for field in BREAKDOWNS:
        if any(len(report.summary.breakdowns.get(field, {})) > 1 for report in reports):
            console.print(_breakdown(reports, field))
    for report in reports:
        for line in _remarks(report):
            console.print(line, soft_wrap=True)
    for report in reports:
        console.print(f"{safe(report.variant)}: {safe(str(report.path))}", soft_wrap=True)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"  # type: ignore[attr-defined]


def percent(value: float | None) -> str:
    """A share as per cent with one decimal."""
    return "-" if value is None else f"{100 * value:.1f}"


def _overview(reports: Sequence[Report]) -> Any:
    metrics = list(dict.fromkeys(name for r in reports for name in r.summary.parts if not name.startswith("n_")))
    table = _table("pages", "questions", "accuracy %", "95 % interval", "of answered", *metrics)
    for report in reports:
        overall, parts = report.summary.overall, report.summary.parts
        table.add_row(
            safe(report.variant) + (" (incomplete)" if report.incomplete else ""),
            f"{overall.total:,}",
            percent(overall.accuracy),
            _interval(overall.interval),
            f"{percent(overall.accuracy_answered)} ({overall.answered:,})",
            *(percent(parts[name].overall.value) if name in parts else "-" for name in metrics),
        )
    return table


def _breakdown(reports: Sequence[Report], field: str) -> Any:
    values = list(dict.fromkeys(value for r in reports for value in r.summary.breakdowns.get(field, {})))
    table = _table(f"by {field.replace('_', ' ')}", *(safe(value) for value in values))
    for report in reports:
        tallies = report.summary.breakdowns.get(field, {})
        table.add_row(safe(report.variant), *(_cell(tallies.get(value)) for value in values))
    return table


def _cell(tally: Tally | None) -> str:
    return "-" if tally is None else f"{percent(tally.accuracy)} ({tally.total:,})"


def _interval(interval: Interval | None) -> str:
    return "-" if interval is None else f"{percent(interval.low)}-{percent(interval.high)}"


def _remarks(report: Report) -> list[str]:
    """What a reader of the numbers should know: the questions that are not simply right or wrong, and why."""
    remarks = [
        f"{safe(report.variant)}: {count(number, 'question')} {status.replace('_', ' ')}"
        for status, number in report.summary.status_counts.items()
        if number and status != "ok"
    ]
    remarks += [
        f"{safe(report.variant)}: {len(ids):,} left out, {reason.replace('_', ' ')}"
        for reason, ids in report.left_out.items()
    ]
    if report.incomplete:
        missing = report.expected - report.summary.overall.total
        remarks.append(f"{safe(report.variant)}: {count(missing, 'question')} not asked yet")
    return remarks


def _table(first: str, *columns: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right")
    return table
