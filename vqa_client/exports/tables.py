"""The records of a run as a table: CSV, JSON lines and Parquet."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, to_builtins

from vqa_client.files import encode, replacing
from vqa_client.json_stream import write_entries
from vqa_client.reports.overview import Overview, field_value
from vqa_client.shipped import importing
from vqa_client.tables.delimited import write_rows
from vqa_client.types import Record, SentImage

Get = Callable[[Record], Any]


class ExportColumn(Struct, frozen=True):
    """A column's name, the type of its values, and a function that gets them; None is an empty cell.

    The type `list` means a list of texts, and SentImage a list of images.
    """

    name: str
    kind: type
    get: Get


def _own_columns(kind: type, *names: str) -> Iterator[ExportColumn]:
    """Columns of a record's own fields of one kind."""
    return (ExportColumn(name, kind, attrgetter(name)) for name in names)


_FIRST = (
    *_own_columns(str, "question_id"),
    ExportColumn("variant", str, attrgetter("form")),
    *_own_columns(str, "status"),
    ExportColumn("correct", bool, lambda record: record.score >= 1.0),
    *_own_columns(float, "score"),
    *_own_columns(str, "answer"),
    ExportColumn("references", list, lambda record: list(record.references)),
    *_own_columns(str, "rationale", "rule"),
    ExportColumn("rivals", list, lambda record: list(record.rivals)),
    *_own_columns(str, "source"),
)
_LAST = (
    *_own_columns(str, "cluster", "prompt", "output", "reasoning", "finish_reason"),
    *_own_columns(int, "prompt_tokens", "completion_tokens"),
    *_own_columns(float, "latency_s"),
    ExportColumn("ttft_s", float, lambda record: record.ttft_s if record.ttft_s is not UNSET else None),
    *_own_columns(int, "attempts", "request_bytes", "truncated_pages"),
    ExportColumn("images", SentImage, lambda record: list(map(to_builtins, record.images))),
    ExportColumn("error", str, lambda record: record.error.message if record.error else None),
    ExportColumn("http_status", int, lambda record: record.error.http_status if record.error else None),
)


Data = Mapping[str, Mapping[str, Any]]
"""The user's own columns of each question, by its id."""


def columns(overview: Overview, data: Data | None) -> tuple[ExportColumn, ...]:
    """The columns of a run: a record's own, one for each metric and each breakdown field, and those of the data."""
    unknown = () if overview.has_accuracy else ("correct", "score")
    first = (_where_known(column) if column.name in unknown else column for column in _FIRST)
    metrics = (_of_metric(name) for name in overview.summary.parts)
    fields = (_of_field(name) for name in overview.fields if name not in ("variant", "rule"))
    names = dict.fromkeys(name for cells in (data or {}).values() for name in cells)
    return (*first, *metrics, *fields, *_LAST, *(_of_data(name, data or {}) for name in names))


def rows(records: Iterable[Record], selected: Iterable[ExportColumn]) -> Iterator[list[Any]]:
    """A list of values for each record."""
    gets = [column.get for column in selected]
    for record in records:
        yield [get(record) for get in gets]


def _where_known(column: ExportColumn) -> ExportColumn:
    """The column, empty for a record whose answer is unknown."""
    return ExportColumn(column.name, column.kind, lambda record: column.get(record) if record.references else None)


def _of_metric(name: str) -> ExportColumn:
    return ExportColumn(f"score.{name}", float, lambda record: record.parts.get(name))


def _of_data(name: str, data: Data) -> ExportColumn:
    def get(record: Record) -> str | None:
        value = data.get(record.question_id, {}).get(name)
        return encode(value).decode() if isinstance(value, list | dict) else None if value is None else str(value)

    return ExportColumn(f"data.{name}", str, get)


def _of_field(name: str) -> ExportColumn:
    return ExportColumn(f"group.{name}", str, lambda record: field_value(record, name))


_CSV_START, _JSONL_START = rb"question_id,variant,", rb'\{"question_id":'
"""The beginnings of the tables in every version."""


def write_csv(path: Path, overview: Overview, *, csv_safe: bool, data: Data | None = None) -> None:
    """A row for each record; lists are JSON, and a missing value is an empty cell.

    With `csv_safe`, a "'" is put before cells that a spreadsheet would take for a formula, as OWASP advises.
    """
    selected = columns(overview, data)
    cells = (
        [encode(cell).decode() if isinstance(cell, list) else cell for cell in row]
        for row in rows(overview.run.records, selected)
    )
    write_rows(path, chain([[column.name for column in selected]], cells), _CSV_START, csv_safe=csv_safe)


def write_jsonl(path: Path, overview: Overview, *, data: Data | None = None) -> None:
    """The same table with a JSON object per line; a missing value is null."""
    selected = columns(overview, data)
    names = [column.name for column in selected]
    entries = (dict(zip(names, row, strict=True)) for row in rows(overview.run.records, selected))
    write_entries(path, entries, _JSONL_START, as_list=False)


_PARQUET_START = b"PAR1"
ROWS_AT_ONCE = 1000


def write_parquet(path: Path, overview: Overview, *, data: Data | None = None) -> None:
    """Write the columns of the CSV table; raises UsageError if pyarrow is not installed."""
    with importing("parquet", "--parquet needs pyarrow"):
        import pyarrow as pa
        from pyarrow import parquet
    selected = columns(overview, data)
    kinds = _kinds(pa)
    schema = pa.schema([(column.name, kinds[column.kind]) for column in selected])
    with replacing(path, _PARQUET_START) as file, parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in _batches(rows(overview.run.records, selected)):
            arrays = [
                pa.array(values, field.type) for values, field in zip(zip(*batch, strict=True), schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _kinds(pa: Any) -> dict[type, Any]:
    texts = pa.list_(pa.string())
    image = [("name", pa.string()), ("sha256", pa.string()), ("size_bytes", pa.int64())]
    image += [("width", pa.int64()), ("height", pa.int64()), ("transforms", texts)]
    image += [("file_sha256", pa.string()), ("file_size_bytes", pa.int64())]
    return {
        str: pa.string(),
        list: texts,
        float: pa.float64(),
        int: pa.int64(),
        bool: pa.bool_(),
        SentImage: pa.list_(pa.struct(image)),
    }


def _batches(lines: Iterator[list[Any]]) -> Iterator[list[list[Any]]]:
    while batch := list(islice(lines, ROWS_AT_ONCE)):
        yield batch
