"""The rows of a Parquet file, and the images in its cells, in small batches.

pyarrow's defaults, `pre_buffer` and threads, keep a whole file in memory; both are switched off.
"""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import Any

from vqa_client.errors import DataError
from vqa_client.shipped import importing
from vqa_client.tables.pictures import below, image_in
from vqa_client.tables.rows import MOST_BYTES, Here, NumberedRow, Table, cell_place

BUFFER_BYTES = 1 << 20
BATCH_ROWS = 1024
BATCH_BYTES = 2 << 20
"""The size of a batch of images, which is in memory as a whole."""
BOMB_BYTES, BOMB_RATIO = 1 << 30, 200
"""A column is not read if it unfolds to more bytes than both limits allow."""


@cache
def _reader_of(process: int) -> ThreadPoolExecutor:
    """The thread that reads ahead in this process: a forked process has none of its parent's threads."""
    return ThreadPoolExecutor(1, thread_name_prefix="parquet")


class ParquetTable(Table):
    """Rows without the bytes of their images: only their presence is read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file = _open_file(path)
        self.header = self._file.schema_arrow.names
        self._leaves = _leaves(self._file)
        self._cursors: dict[str, _Cursor] = {}

    def rows(self, columns: frozenset[str] | None = None) -> Iterator[NumberedRow]:
        """All rows, with these columns or all; a cell with an image is a `Here`."""
        file = _open_file(self.path)
        names = [name for name in file.schema_arrow.names if columns is None or name in columns]
        leaves = [self._leaves.get(name, name) for name in names]
        number = 0
        for batch in _batches(file, leaves or file.schema_arrow.names[:1], BATCH_ROWS, range(file.num_row_groups)):
            values = [self._values(batch, name, number) for name in names]
            rows: Iterable[tuple[Any, ...]] = zip(*values, strict=True) if names else [()] * len(batch)
            yield from enumerate(map(dict, map(zip, repeat(names), rows)), number)  # a loop takes twice the time
            number += len(batch)

    def image(self, place: str) -> bytes:
        """The image in a cell, or the file that the cell names; raises ValueError, LookupError or OSError."""
        cell = cell_place(place)
        if cell.column not in self.header:
            raise LookupError(f"there is no column {cell.column}")
        if cell.column not in self._cursors:
            self._cursors[cell.column] = _Cursor(self._file, cell.column)
        content, path = self._cursors[cell.column].image(cell.row, cell.item)
        if content is None and path:
            content = Path(below(self.path.parent, path)).read_bytes()
        if isinstance(content, str):
            return image_in(content, None)
        if content is None:
            raise LookupError("there is no image in this cell")
        if len(content) > MOST_BYTES:
            raise ValueError(f"the image has {len(content)} bytes; at most {MOST_BYTES} are read")
        return content

    def is_near(self, place: str) -> bool:
        """Whether the image is in a batch that was read, or in the next batch."""
        cell = cell_place(place)
        return cell.column in self._cursors and self._cursors[cell.column].is_near(cell.row)

    def _values(self, batch: Any, name: str, first: int) -> list[Any]:
        column = batch.column(name)
        if name not in self._leaves:
            return list(column.to_pylist())
        start, column = self.start, _as_list(column)
        if _is_list(column.type):
            lengths = enumerate(column.value_lengths().to_pylist(), first)
            return [[Here(f"{start}{row}:{name}[{item}]") for item in range(length or 0)] for row, length in lengths]
        if self._leaves[name] == f"{name}.path" and _has_only_paths(self._file, name):
            return list(column.to_pylist())
        presence = enumerate(column.is_valid().to_pylist(), first)
        return [Here(f"{start}{row}:{name}") if is_present else None for row, is_present in presence]


class _Cells:
    """A batch of one column, split into lists, images and paths, which is faster than reading whole cells."""

    def __init__(self, column: Any, first: int) -> None:
        self.rows = range(first, first + len(column))
        column = _as_list(column)
        self._starts = column.offsets if _is_list(column.type) else None
        images = column if self._starts is None else column.values
        fields = (
            {field.name: values for field, values in zip(images.type, images.flatten(), strict=True)}
            if _is_struct(images.type)
            else {}
        )
        self._images, self._paths = (fields["bytes"], fields.get("path")) if fields else (images, None)

    def image(self, row: int, item: int | None) -> tuple[bytes | str | None, str | None]:
        """The image and the path in a cell, or those at `item` of a list; raises LookupError."""
        at = row - self.rows.start
        if self._starts is not None:
            start, end = self._starts[at].as_py(), self._starts[at + 1].as_py()
            if item is None or item >= end - start:
                raise LookupError(f"there is no image {item} in this cell, which has {end - start}")
            at = start + item
        return self._images[at].as_py(), self._paths[at].as_py() if self._paths is not None else None


class _Cursor:
    """Reads the images of one column, usually in the order of the rows.

    In that order a thread reads the next batch ahead: pyarrow writes all images of a row group as one dictionary, so
    that the first batch of a group takes as long as the whole group.
    """

    def __init__(self, file: Any, column: str) -> None:
        self._file, self._column = file, column
        counts = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        self._starts = [sum(counts[:group]) for group in range(len(counts) + 1)]
        at = [place for place in range(len(file.schema)) if file.schema.column(place).path.split(".")[0] == column]
        sizes = [file.metadata.row_group(0).column(place).total_uncompressed_size for place in at] if counts else []
        self._batch_rows = max(1, min(BATCH_ROWS, BATCH_BYTES * counts[0] // max(1, sum(sizes)))) if counts else 1
        self._read: list[_Cells] = []
        self._next, self._end = 0, 0
        self._batches: Iterator[Any] = iter(())
        self._ahead: Future[Any] | None = None

    def is_near(self, row: int) -> bool:
        if not self._read or row < self._read[0].rows.start:
            return False
        return row < self._next or (
            row < self._next + self._batch_rows and self._ahead is not None and self._ahead.done()
        )

    def image(self, row: int, item: int | None) -> tuple[bytes | str | None, str | None]:
        if not 0 <= row < self._starts[-1]:
            raise LookupError(f"there is no row with id {row}")
        while True:
            for cells in self._read:
                if row in cells.rows:
                    return cells.image(row, item)
            self._read_batch(row)

    def _read_batch(self, row: int) -> None:
        """Read the next batch, or the first batch of the row's group if the row isn't in the batches ahead."""
        group = next(group for group, start in enumerate(self._starts) if row < self._starts[group + 1])
        is_ahead = self._next <= row < self._end and self._next >= self._starts[group]
        if not is_ahead:
            if self._ahead is not None:
                wait([self._ahead])
            self._next, self._end, self._ahead = self._starts[group], self._starts[-1], None
            groups = range(group, self._file.num_row_groups)
            self._batches = _batches(self._file, [self._column], self._batch_rows, groups)
        batch = next(self._batches) if self._ahead is None else self._ahead.result()
        cells = _Cells(batch.column(self._column), self._next)
        self._read = [*self._read[-1:], cells]
        self._next = cells.rows.stop
        self._ahead = (
            _reader_of(os.getpid()).submit(next, self._batches) if is_ahead and self._next < self._end else None
        )


def _open_file(path: Path) -> Any:
    with importing("parquet", f"{path} is Parquet, which needs pyarrow"):
        import pyarrow as pa
        from pyarrow import parquet
    try:
        return parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"can't read {path}: {error}", hint="fetch the file again; it may be cut") from None


def _batches(file: Any, columns: list[str], rows: int, groups: range) -> Iterator[Any]:
    for group in groups:
        metadata = file.metadata.row_group(group)
        for place in range(metadata.num_columns):
            chunk = metadata.column(place)
            if chunk.total_uncompressed_size > max(BOMB_BYTES, BOMB_RATIO * chunk.total_compressed_size):
                raise DataError(
                    f"column {chunk.path_in_schema} unfolds from {chunk.total_compressed_size} to "
                    f"{chunk.total_uncompressed_size} bytes; at most {BOMB_RATIO} times as many are read"
                )
    yield from file.iter_batches(rows, row_groups=list(groups), columns=columns, use_threads=False)


def _leaves(file: Any) -> dict[str, str]:
    """The columns of images, with the part that is read to know which cells have one: the paths, not the bytes."""
    import pyarrow as pa

    leaves = {}
    for field in file.schema_arrow:
        inner = field.type.value_type if _is_list(field.type) else field.type
        if _is_struct(inner) and inner.get_field_index("bytes") >= 0:
            paths = [file.schema.column(place).path for place in range(len(file.schema))]
            leaf = next((path for path in paths if path.startswith(f"{field.name}.") and path.endswith(".path")), "")
            leaves[field.name] = leaf or field.name
        elif pa.types.is_binary(inner) or pa.types.is_large_binary(inner):
            leaves[field.name] = field.name
    return leaves


def _has_only_paths(file: Any, name: str) -> bool:
    """Whether a column has only paths, according to its statistics."""
    place = next(at for at in range(len(file.schema)) if file.schema.column(at).path == f"{name}.bytes")
    groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
    chunks = [(group.num_rows, group.column(place).statistics) for group in groups]
    return all(
        statistics is not None and statistics.has_null_count and statistics.null_count == rows
        for rows, statistics in chunks
    )


def _is_struct(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_struct(kind))


def _as_list(column: Any) -> Any:
    """A column of lists of a fixed size as lists of any size; another column is unchanged."""
    import pyarrow as pa

    return column.cast(pa.list_(column.type.value_type)) if pa.types.is_fixed_size_list(column.type) else column


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))
