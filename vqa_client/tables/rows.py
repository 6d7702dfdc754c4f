"""The interface of all readers of data files, and the names of cells."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

MOST_BYTES = 512 << 20
"""The largest image, or text, inside a file."""
FORMS_HINT = (
    "a data file is a JSON list of rows, one JSON object per line, comma- or tab-separated text with a header, all in "
    "UTF-8, or Parquet, or a tar of the webdataset form"
)
DATA_ENDINGS = (".parquet", ".jsonl", ".json", ".csv", ".tsv", ".tar")
"""The endings of data files in a folder, or in a dataset of the hub."""
_CELL = re.compile(r"(?:(?P<records>.+)\.)?(?P<row>\d+):(?P<column>.+?)(?:\[(?P<item>\d+)\])?", re.DOTALL)

NumberedRow = tuple[int, dict[str, Any]]
"""A row and its number in the file, counted from 0."""


class Here(Struct, frozen=True):
    """A value of a picture column: an image inside a file, by its name."""

    name: str


class Table(ABC):
    """A data file that is read row by row; the names of images in its rows begin with `start`.

    `header` names all columns, if the form has them; rows may have fewer.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.start = f"{path}#"
        self.header: list[str] = []

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the file for the reader of the results."""
        return ()

    @abstractmethod
    def rows(self, columns: frozenset[str] | None = None) -> Iterator[NumberedRow]:
        """The rows, with these columns only if the form allows it; raises DataError, which names file and row."""

    @abstractmethod
    def image(self, place: str) -> bytes:
        """The bytes of the image at a place in the file; raises ValueError, LookupError or OSError."""

    def is_near(self, place: str) -> bool:
        """Whether reading that image takes no longer than reading a file of its size."""
        return True


class CellPlace(NamedTuple):
    """The place of an image in a table: `item` counts from 0 in a cell with several images."""

    records: str
    row: int
    column: str
    item: int | None


@lru_cache(maxsize=16)
def cell_place(place: str) -> CellPlace:
    """Parse a place such as `17:image` or `data.17:images[0]`; raises ValueError."""
    match = _CELL.fullmatch(place)
    if match is None:
        raise ValueError(f"{place!r} is not a place in a table, such as 17:image[0]")
    item = match["item"]
    return CellPlace(match["records"] or "", int(match["row"]), match["column"], None if item is None else int(item))


def reach(cells: dict[str, Any], column: str) -> Any:
    """The value of a column, or None; `a.b` is the key b of an object in column a, `a.0` the first item of a list."""
    if column in cells:
        return cells[column]
    value: Any = cells
    for key in column.split("."):
        if isinstance(value, list) and key.isdecimal():
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value
