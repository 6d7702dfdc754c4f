"""The records as a Parquet table with typed columns, written a thousand rows at a time."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from vqa_client.errors import UsageError
from vqa_client.exports.columns import COUNT, IMAGES, NUMBER, TEXT, TEXTS, YES_NO, Data, columns, rows
from vqa_client.files import replacing
from vqa_client.reports.logged_run import LoggedRun
from vqa_client.reports.overview import Overview
from vqa_client.shipped import install

OURS = b"PAR1"
ROWS_AT_ONCE = 1000


def write_parquet(path: Path, run: LoggedRun, found: Overview, *, data: Data | None = None) -> None:
    """Write the columns of the CSV table; raises UsageError where pyarrow is not installed."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise UsageError("--parquet needs pyarrow", hint=install("parquet")) from None
    shown = columns(found, data)
    kinds = _kinds(pa)
    schema = pa.schema([(column.name, kinds[column.kind]) for column in shown])
    with replacing(path, OURS) as file, parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in _batches(rows(run.records, shown)):
            arrays = [
                pa.array(values, field.type) for values, field in zip(zip(*batch, strict=True), schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _kinds(pa: Any) -> dict[str, Any]:
    texts = pa.list_(pa.string())
    image = [("name", pa.string()), ("sha256", pa.string()), ("size_bytes", pa.int64())]
    image += [("width", pa.int64()), ("height", pa.int64()), ("transforms", texts)]
    image += [("file_sha256", pa.string()), ("file_size_bytes", pa.int64())]
    return {
        TEXT: pa.string(),
        TEXTS: texts,
        NUMBER: pa.float64(),
        COUNT: pa.int64(),
        YES_NO: pa.bool_(),
        IMAGES: pa.list_(pa.struct(image)),
    }


def _batches(found: Iterator[list[Any]]) -> Iterator[list[list[Any]]]:
    while batch := list(islice(found, ROWS_AT_ONCE)):
        yield batch
