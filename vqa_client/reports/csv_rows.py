"""CSV that any reader gives back letter by letter: newlines, quotes and carriage returns within cells included."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from vqa_client.files import replacing

_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


class _Lines:
    """Ends every row in a newline alone: a csv writer told to do so leaves a lone carriage return unquoted."""

    def __init__(self, file: io.TextIOBase) -> None:
        self._file = file

    def write(self, row: str) -> int:
        return self._file.write(row.removesuffix("\r\n") + "\n")


def separator_of(header: str, usual: str = ",") -> str:
    """What is between columns: some spreadsheets write semicolons in place of the usual sign."""
    return ";" if ";" in header and usual not in header else usual


def harmless(row: Iterable[Any]) -> list[Any]:
    """Put a "'" before each cell that a spreadsheet would run, as OWASP advises; such a cell reads back otherwise.

    Full-width signs begin a formula in some languages.
    """
    return [
        f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell
        for cell in row
    ]


def write_rows(path: Path, rows: Iterable[Sequence[Any]], ours: bytes | None = None, *, csv_safe: bool = False) -> None:
    """Replace a file by these rows, in UTF-8, with `csv_safe` by harmless ones; `ours` as in `replacing`.

    What is no character (half a surrogate pair) becomes "?". Raises OutputError where the file can't be written.
    """
    with replacing(path, ours) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
        csv.writer(_Lines(text)).writerows(map(harmless, rows) if csv_safe else rows)
        text.flush()
        text.detach()
