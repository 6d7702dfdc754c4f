"""A CSV table that others may have added to: what is not known in it stays where it is."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from vqa_client.errors import UsageError
from vqa_client.reports.csv_rows import write_rows


class Table:
    """A CSV file with a header and a column "task", whose unknown columns and rows are kept."""

    def __init__(self, columns: list[str], rows: list[list[str]]) -> None:
        self.columns = columns
        self.rows = rows

    @classmethod
    def read(cls, path: Path, columns: Sequence[str]) -> "Table":
        """Read a table that has at least `columns`; an empty one where there is no file."""
        try:
            text = path.read_bytes().decode("utf-8-sig") if path.exists() else ""
            header, *rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row] or [[*columns]]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise UsageError(f"can't read {path}: {error}", hint="move it away or mend it") from None
        if "task" not in header:
            raise UsageError(f"{path} has no column 'task'", hint="move it away or mend it")
        header += [""] * (max(map(len, rows), default=0) - len(header))
        return cls([*header, *(column for column in columns if column not in header)], rows)

    def get(self, row: Sequence[str], column: str) -> str:
        """The row's cell in a column; "" where the row is too short for it."""
        place = self.columns.index(column)
        return row[place] if place < len(row) else ""

    def put(self, row: list[str], column: str, cell: str) -> None:
        """Set the row's cell in a column."""
        place = self.columns.index(column)
        row += [""] * (place + 1 - len(row))
        row[place] = cell

    def has(self, row: Sequence[str], **cells: str) -> bool:
        """Whether the row has these cells, spaces around them aside."""
        return all(self.get(row, column).strip() == cell for column, cell in cells.items())

    def add(self, **cells: str) -> list[str]:
        """Give a new row with these cells."""
        row: list[str] = []
        for column, cell in cells.items():
            self.put(row, column, cell)
        self.rows.append(row)
        return row

    def write(self, path: Path) -> None:
        width = len(self.columns)
        write_rows(path, [self.columns, *(row + [""] * (width - len(row)) for row in self.rows)])
