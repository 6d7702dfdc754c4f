"""Prints the benchmark's tables as plain text."""

from collections.abc import Sequence

from tests.bench.bars import BARS, EXACT, Bar, keyed
from tests.bench.figures import COLUMNS, Measured


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Pad every column to its widest cell; the first holds names, the others numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
    return "  ".join([first, *(cell.strip().rjust(len(cell)) for cell in others)])


def case_table(measured: Sequence[Measured]) -> str:
    """One case: a row for each client, a column for each figure, each cell a median (min-max)."""
    case = measured[0].case
    ideal = f", ideal {case.ideal_s:g} s" if case.latency_ms else ""
    header = ["client", *(figure.title for figure in COLUMNS)]
    rows = [[m.client, *(figure.cell(m) for figure in COLUMNS)] for m in measured]
    return f"{case.title}{ideal}; rounds: {len(measured[0].runs)}\n{aligned([header, *rows])}\n"


def bar_table(results: Sequence[Measured], exact_share: float | None) -> tuple[str, bool]:
    """The bars with the measured figures, and whether every measured floor was kept."""
    by_key = keyed(results)
    judged = [(bar, bar.measure(by_key)) for bar in BARS]
    judged.append((EXACT, exact_share))
    verdicts = [bar.verdict(value) for bar, value in judged]
    rows = [_bar_row(bar, value, verdict) for (bar, value), verdict in zip(judged, verdicts, strict=True)]
    return aligned([["bar", "floor", "aim", "measured", "verdict"], *rows]), "MISS" not in verdicts


def _bar_row(bar: Bar, value: float | None, verdict: str) -> list[str]:
    sign = ">=" if bar.better == "more" else "<="
    shown = "-" if value is None else f"{value:,.{bar.decimals}f}"
    floor, aim = (f"{sign} {limit:g}" if limit is not None else "" for limit in (bar.floor, bar.aim))
    return [bar.title, floor, aim, shown, verdict]
