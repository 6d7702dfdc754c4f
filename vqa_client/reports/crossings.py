"""The tables of two crossed fields, for the terminal and for Markdown."""

from collections.abc import Callable, Iterator, Sequence

from vqa_client.reports.names import percent
from vqa_client.reports.overview import LEVELS, in_order
from vqa_client.reports.sections import Section
from vqa_client.reports.summary import Summary, Tally


def crossing_tables(summary: Summary, order: Callable[[str], Sequence[str]], folder: str = "") -> Iterator[Section]:
    """A table for each two crossed fields that both have several values; corruptions and levels have one already.

    The field with more values has the rows, so that the table is narrow.
    """
    for (down, across), crossed in summary.crossings.items():
        cells = {(outer, inner): of for outer, row in crossed.items() for inner, of in row.items()}
        rows, columns = ({*values} for values in zip(*cells, strict=True)) if cells else (set(), set())
        if min(len(rows), len(columns)) < 2 or (down, across) == LEVELS:
            continue
        if len(columns) > len(rows):
            down, across, rows, columns = across, down, columns, rows
            cells = {(inner, outer): of for (outer, inner), of in cells.items()}
        heads = in_order(columns, order(across))
        lines = [
            [name, *(tally_text(cells.get((name, head))) for head in heads)] for name in in_order(rows, order(down))
        ]
        title = f"% (n) by {down} and {across}".replace("_", " ")
        yield Section(columns=[f"{folder}: {title}" if folder else title, *heads], rows=lines)


def tally_text(tally: Tally | None) -> str:
    """The accuracy in per cent and the number of questions, "-" without questions."""
    return f"{percent(tally.accuracy)} ({tally.total:,})" if tally else "-"
