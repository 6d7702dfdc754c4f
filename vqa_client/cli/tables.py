"""Sections as text for a terminal."""

import sys
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import Any

from vqa_client.cli.streams import folded, safe, terminal_width
from vqa_client.reports.sections import Section

NAME_LEAST = 12
"""A table's first column is folded to this width if the other columns need the room."""
WIDTH = 200
"""Columns of an output that is not a terminal."""
GAP = 3


def as_text(sections: Iterable[Section]) -> str:
    """The sections one after the other; no text in them controls the terminal."""
    console = new_console()
    width = terminal_width()
    for section in sections:
        if section.title:
            console.print()
            console.print(folded(safe(section.title), width), style="bold", soft_wrap=True)
        for table in _tables(section, console.width):
            console.print(table)
        for note in section.notes:
            console.print(folded(safe(note), width), soft_wrap=True)
    return printed(console)


def new_console() -> Any:
    """A rich console that prints into memory, as wide as the terminal; `printed` gives its text."""
    from rich.console import Console

    return Console(
        file=StringIO(),
        force_terminal=sys.stdout.isatty(),
        width=terminal_width() or WIDTH,
        height=25,  # if it is missing, a dumb terminal has 80 columns
        highlight=False,
        markup=False,
        emoji=False,
    )


def printed(console: Any) -> str:
    """The text without trailing blanks, and with one empty line between two tables."""
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    return "\n".join(line for at, line in enumerate(lines) if line or (at and lines[at - 1])) + "\n\n"


def _tables(section: Section, width: int) -> Iterator[Any]:
    """The section's table, in several parts if it is wider than the terminal: a number is never cut."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table

    heads = ["\n".join(map(safe, head.split("\n"))) for head in section.columns]
    rows = [list(map(safe, row)) for row in section.rows]
    columns = zip(heads, *rows, strict=True)
    widths = [GAP + max(cell_len(line) for cell in column for line in cell.split("\n")) for column in columns]
    parts: list[list[int]] = [[]]
    for at in range(1, len(heads)):
        name_width = min(widths[0], max(NAME_LEAST, width // 3))
        if parts[-1] and name_width + sum(widths[place] for place in parts[-1]) + widths[at] > width + 1:
            parts.append([])
        parts[-1].append(at)
    for part in parts if heads else ():
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column(heads[0], overflow="fold")
        for at in part:
            table.add_column(heads[at], justify="right", no_wrap=True)
        for row in rows:
            table.add_row(row[0], *(row[at] for at in part), style="dim" if row[0].startswith(" ") else None)
        yield table
