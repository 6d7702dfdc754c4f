"""CSV that any reader gives back letter by letter: newlines, quotes and carriage returns within cells included."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from vqa_client.files import replacing


class _Lines:
    """Ends every row in a newline alone: a csv writer told to do so leaves a lone carriage return unquoted."""

    def __init__(self, file: io.TextIOBase) -> None:
        self._file = file

    def write(self, row: str) -> int:
        return self._file.write(row.removesuffix("\r\n") + "\n")


def write_rows(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    """Replace a file by these rows, in UTF-8; raises UsageError where the path can't be written.

    What is no character (half a surrogate pair) becomes "?".
    """
    with replacing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
        csv.writer(_Lines(text)).writerows(rows)
        text.flush()
        text.detach()
