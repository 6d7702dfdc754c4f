"""Reads comma-, tab- or semicolon-separated text with a header line, such as VLMEvalKit's TSV files, and writes CSV."""

import csv
import io
import re
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from msgspec import Struct

from vqa_client.errors import DataError, unreadable
from vqa_client.files import replacing
from vqa_client.tables.pictures import image_in, items_of
from vqa_client.tables.rows import Here, NumberedRow, Table, cell_place

MISSING = frozenset(
    (
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A"),
        *("NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    )
)
"""Texts that pandas reads as a missing cell."""
LONGEST_INDEX = 64
_BOM = "\ufeff"
_INT = re.compile(r"[+-]?\d{1,18}")
_FLOAT = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity)", re.IGNORECASE)
_OPTION = re.compile("[A-Z]")


class _Scan(Struct):
    """The places of rows, the columns of numbers, whether rows refer to other rows' images, and the lost options."""

    starts: "array[int]"
    numeric: dict[str, type[int] | type[float]]
    refers: bool
    lost: int


class DelimitedTable(Table):
    """The rows of a text file; one that `is_vlmevalkit` is read as VLMEvalKit reads it.

    `header` names the columns of a file without a header line.
    """

    def __init__(self, path: Path, header: tuple[str, ...]) -> None:
        super().__init__(path)
        self._delimiter = ","
        self._width = 0
        first = next(self._records(0))[2]
        self._header_lines = 0 if header else 1
        self.header = names = list(header) or first
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"{path}: two columns are called {twice!r}", hint="rename one of them")
        self._width = len(names)
        self.is_vlmevalkit = self._delimiter == "\t" and "index" in names
        self._is_local = self.is_vlmevalkit and "image" not in names and "image_path" in names
        self._scanned: _Scan | None = None
        self._images_of: dict[str, Here | list[Here]] | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on the options that VLMEvalKit's reading loses."""
        lost = self._scan().lost if self.is_vlmevalkit else 0
        message = "left out, as in VLMEvalKit: words for a missing value, such as None or N/A"
        return (f"{self.path.name}: {lost} option{'s' * (lost > 1)} {message}",) if lost else ()

    def rows(self, columns: frozenset[str] | None = None) -> Iterator[NumberedRow]:
        """All rows; an empty cell is None."""
        scan = self._scan() if self.is_vlmevalkit else None
        for number, (_, values) in enumerate(self._body()):
            if scan is None:
                yield number, {name: value or None for name, value in zip(self.header, values, strict=True)}
            else:
                cells = self._as_pandas(dict(zip(self.header, values, strict=True)), scan)
                if self._is_local:  # X_local.tsv, whose images VLMEvalKit has written to files
                    cells["image"] = cells["image_path"]
                yield number, cells

    def image(self, place: str) -> bytes:
        """The image in a cell; raises ValueError or LookupError."""
        cell = cell_place(place)
        _, values = next(self._body(self._scan().starts[cell.row], cell.row))
        return image_in(values[self.header.index(cell.column)], cell.item)

    def is_near(self, place: str) -> bool:
        """After the first image, the place of each row is known."""
        return self._scanned is not None

    def _as_pandas(self, cells: dict[str, Any], scan: _Scan) -> dict[str, Any]:
        for name, value in cells.items():
            if value in MISSING:
                cells[name] = None
            elif name in scan.numeric:
                cells[name] = str(scan.numeric[name](value))
        if scan.refers and 0 < len(cells["image"] or "") <= LONGEST_INDEX:
            cells["image"] = self._referred_image(cells["image"]) or cells["image"]
        return cells

    def _referred_image(self, index: str) -> Here | list[Here] | None:
        """The images of the row with this index, if it has its own."""
        if self._images_of is None:
            at, image = self.header.index("index"), self.header.index("image")
            self._images_of = {
                row[at]: _places(row[image], f"{self.start}{number}:image")
                for number, (_, row) in enumerate(self._body())
                if len(row[image]) > LONGEST_INDEX
            }
        return self._images_of.get(index)

    def _scan(self) -> _Scan:
        """Read the whole file once before its rows: a single cell decides the type of a column."""
        if self._scanned is None:
            starts, lost, refers = array("q"), 0, False
            options = [at for at, name in enumerate(self.header) if _OPTION.fullmatch(name)]
            kinds: dict[int, type[int] | type[float]] = dict.fromkeys(options, int)
            filled: set[int] = set()
            image = self.header.index("image") if self.is_vlmevalkit and "image" in self.header else None
            for start, values in self._body():
                starts.append(start)
                refers = refers or (image is not None and 0 < len(values[image]) <= LONGEST_INDEX)
                for at in options:
                    value = values[at]
                    if value in MISSING:
                        lost += value != ""
                        if kinds.get(at) is int:
                            kinds[at] = float
                        continue
                    filled.add(at)
                    if at in kinds and not _INT.fullmatch(value):
                        if _FLOAT.fullmatch(value):
                            kinds[at] = float
                        else:
                            del kinds[at]
            numeric = {self.header[at]: kind for at, kind in kinds.items() if at in filled}
            self._scanned = _Scan(starts, numeric, refers, lost)
        return self._scanned

    def _body(self, at: int = 0, number: int = 0) -> Iterator[tuple[int, list[str]]]:
        """The place and the cells of each row: of all rows, or from row `number` on, which begins at `at`."""
        for start, line, values in islice(self._records(at), 0 if at else self._header_lines, None):
            if values == [""]:
                continue
            if len(values) != self._width:
                missing = f"; nothing for `{self.header[len(values)]}`" if len(values) < self._width else ""
                fields = f"{len(values)} field{'s' * (len(values) != 1)}"
                what = f"row {number + 1}: {fields}, the header has {self._width}{missing}"
                raise self._fault(line, what, "put a cell that contains the delimiter or a line break in quotes")
            yield start, values
            number += 1

    def _records(self, at: int) -> Iterator[tuple[int, int, list[str]]]:
        """The place of each record, its first line counted from 1, and its cells.

        The csv module reads only lines with a quote, since it is slower.
        """
        try:
            with self.path.open("rb", buffering=1 << 16 if at else 1 << 20) as file:
                file.seek(at)
                lines = enumerate(iter(file.readline, b""), 1)
                for line, encoded in lines:
                    start, at = at, at + len(encoded)
                    text = self._text(encoded, line)
                    if not self._width:
                        text = text.removeprefix(_BOM)
                        self._delimiter = next((sign for sign in "\t,;" if sign in text), ",")
                    if '"' in text:
                        more: list[bytes] = []
                        values = _parse(chain([text], self._further_lines(lines, more, line)), self._delimiter)
                        at += sum(map(len, more))
                    else:
                        values = self._split(text, line)
                    yield start, line, values
        except OSError as error:
            raise unreadable(self.path, error) from None

    def _split(self, text: str, line: int) -> list[str]:
        if "\r" in text and "\r" in text.removesuffix("\n").removesuffix("\r"):
            raise self._fault(line, "a carriage return (\\r) by itself", "save it with line ends \\n or \\r\\n")
        values = text.split(self._delimiter)
        values[-1] = values[-1].removesuffix("\n").removesuffix("\r")
        return values

    def _further_lines(self, lines: Iterator[tuple[int, bytes]], taken: list[bytes], first: int) -> Iterator[str]:
        """Further lines of a record with line feeds between quotes; each is added to `taken`."""
        for line, encoded in lines:
            taken.append(encoded)
            yield self._text(encoded, line)
        raise self._fault(first, "a quote is never closed", 'a quote between quotes is written ""')

    def _text(self, encoded: bytes, line: int) -> str:
        if b"\0" in encoded:
            raise self._fault(line, "a null byte", "is it the right file? text must be UTF-8, not UTF-16")
        try:
            return encoded.decode()
        except UnicodeDecodeError as error:
            raise self._fault(line, f"byte {encoded[error.start]:#x} is not UTF-8", "save the file as UTF-8") from None

    def _fault(self, line: int, what: str, hint: str) -> DataError:
        return DataError(f"{self.path}, line {line}: {what}", hint=hint)


def _places(cell: str, place: str) -> Here | list[Here]:
    """The name of a cell's image, or of each of its images."""
    several = items_of(cell)
    return Here(place) if several is None else [Here(f"{place}[{at}]") for at in range(len(several))]


def _parse(lines: Iterator[str], delimiter: str) -> list[str]:
    usual = csv.field_size_limit(sys.maxsize)
    try:
        return next(csv.reader(lines, delimiter=delimiter))
    finally:
        csv.field_size_limit(usual)


_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


class _Lines:
    """Ends rows in "\\n": a csv writer with this line terminator would not quote a single carriage return."""

    def __init__(self, file: io.TextIOBase) -> None:
        self._file = file

    def write(self, row: str) -> int:
        return self._file.write(row.removesuffix("\r\n") + "\n")


def separator_of(header: str, usual: str = ",") -> str:
    """The separator of columns: some spreadsheets write semicolons instead of the usual sign."""
    return ";" if ";" in header and usual not in header else usual


def harmless(row: Iterable[Any]) -> list[Any]:
    """The row with a "'" before each cell that a spreadsheet would run as a formula, as OWASP advises.

    Full-width signs begin a formula in some languages.
    """
    return [
        f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell
        for cell in row
    ]


def write_rows(path: Path, rows: Iterable[Sequence[Any]], ours: bytes | None = None, *, csv_safe: bool = False) -> None:
    """Replace a file by these rows, in UTF-8; `csv_safe` makes them `harmless`; `ours` as in `replacing`.

    Half a surrogate pair becomes "?". Raises OutputError if the file can't be written.
    """
    with replacing(path, ours) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
        csv.writer(_Lines(text)).writerows(map(harmless, rows) if csv_safe else rows)
        text.flush()
        text.detach()
