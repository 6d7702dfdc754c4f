"""The records as a CSV table that any reader gives back letter by letter."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from vqa_client.exports.columns import IMAGES, TEXTS, Column, Data, columns, rows
from vqa_client.files import encode
from vqa_client.json_stream import write_entries
from vqa_client.reports.csv_rows import harmless, write_rows
from vqa_client.reports.logged_run import LoggedRun
from vqa_client.reports.overview import Overview

OURS = rb"question_id,variant,"
"""How the table begins, whatever its version."""


def write_csv(path: Path, run: LoggedRun, found: Overview, *, csv_safe: bool, data: Data | None = None) -> None:
    """One row a record after the names; lists are JSON, an empty cell is no value.

    With `csv_safe` a cell that a spreadsheet would take for a formula gets a "'" in front, as OWASP advises.
    """
    shown = columns(found, data)
    write_rows(path, chain([[column.name for column in shown]], _cells(run, shown, csv_safe=csv_safe)), OURS)


def _cells(run: LoggedRun, shown: tuple[Column, ...], *, csv_safe: bool) -> Iterator[list[Any]]:
    listed = [column.kind in (TEXTS, IMAGES) for column in shown]
    for row in rows(run.records, shown):
        cells = [encode(cell).decode() if is_list else cell for cell, is_list in zip(row, listed, strict=True)]
        yield harmless(cells) if csv_safe else cells


def write_jsonl(path: Path, run: LoggedRun, found: Overview, *, data: Data | None = None) -> None:
    """The same table with a JSON object per line; an empty cell is null."""
    shown = columns(found, data)
    names = [column.name for column in shown]
    entries = (dict(zip(names, row, strict=True)) for row in rows(run.records, shown))
    write_entries(path, entries, as_list=False)
