"""Writes a benchmark's sample in each form that it declares. A sample is one table of rows.

A row maps the benchmark's own fields to values. A picture is PNG bytes (`draw(shade)`), several are a list. `"1:field"`
is the value in form 1 alone. `"at"` is the name of the row's file without its suffix, where a form has several files:
`"test_human"`, or a tuple, where the first name that fits the form counts.
"""

import base64
import csv
import io
import json
import re
from collections.abc import Callable
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct
from PIL import Image

from vqa_client.benchmark import Benchmark, Beside, Columns, Form
from vqa_client.tables.loading import Tables

Fields = dict[str, Any]
_NAMED = re.compile(r"\{([^{}:]+)(?::([^{}]*))?\}")


class Sample(Struct):
    """The rows of a benchmark's sample; `write` has functions for forms of another shape, by the form's number.

    `same_ids` is off where the ids of questions differ by form.
    """

    rows: list[Fields] = []
    same_ids: bool = True
    write: dict[int, Callable[[Path], None]] = {}


@cache
def draw(shade: int) -> bytes:
    """A small picture."""
    file = io.BytesIO()
    Image.new("RGB", (24, 16), (shade % 256, shade // 256, 120)).save(file, "PNG")
    return file.getvalue()


def forms_of(benchmark: Benchmark) -> tuple[Form, ...]:
    return benchmark.load.forms if isinstance(benchmark.load, Tables) else (Form(""),)


def write(benchmark: Benchmark, sample: Sample, number: int, folder: Path) -> None:
    """Write the sample in a form, below a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if number in sample.write:
        sample.write[number](folder)
        return
    form = forms_of(benchmark)[number]
    split = benchmark.load.split if isinstance(benchmark.load, Tables) else ""
    files: dict[str, list[Fields]] = {}
    for row in sample.rows:
        of_form = {name: value for name, value in row.items() if ":" not in name and name != "at"}
        start = f"{number}:"
        of_form |= {name.removeprefix(start): value for name, value in row.items() if name.startswith(start)}
        files.setdefault(_file_of(form.globs(split), row.get("at", ())), []).append(of_form)
    for at, (name, rows) in enumerate(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _WRITERS[path.suffix](path, [_cells(row, form) for row in rows], form.records, at)


def _file_of(globs: tuple[str, ...], at: str | tuple[str, ...]) -> str:
    for glob in globs:
        suffix = Path(glob).suffix
        for stem in (at,) if isinstance(at, str) else at:
            if fnmatch(stem + suffix, glob):
                return stem + suffix
    return globs[0].replace("*", "0")


def _cells(row: Fields, form: Form) -> Fields:
    cells: Fields = {}
    paths = {}
    for field, value in row.items():
        column = form.columns.get(field, field)
        if isinstance(column, Beside):
            paths[column.template] = value
        elif isinstance(column, Columns):
            by_name = value if isinstance(value, dict) else dict(zip(column.names, value, strict=False))
            cells |= {name: by_name.get(name) for name in column.names}
        else:
            *outer, last = [column] if "." not in column else column.split(".")
            inner = cells
            for name in outer:
                inner = inner.setdefault(name, {})
            inner[last] = value
    return {"": paths, **cells}


def _json(path: Path, rows: list[Fields], records: str, at: int) -> None:
    for number, row in enumerate(rows):
        _place_files(path.parent, row.pop(""), row, f"{at}_{number}")
    written: Any = rows
    if all("key" in row for row in rows):
        written = {row.pop("key"): row for row in rows}
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        path.write_text(json.dumps({"about": "a sample", records: written} if records else written), encoding="utf-8")


def _place_files(folder: Path, beside: Fields, row: Fields, name: str) -> None:
    """Write pictures at the paths of their templates, or at new paths that are put into their cells."""
    for template, value in beside.items():
        missing = [name for name, _ in _NAMED.findall(template) if name not in row]
        if value is None:
            row |= dict.fromkeys(missing[-1:])
            continue
        several = isinstance(value, list)
        if missing:
            row[missing[-1]] = [f"{name}_{at}.png" for at in range(len(value))] if several else f"{name}.png"
        for at, picture in enumerate(value if several else [value]):
            _put(folder / _filled(template, row, at), picture)
    for column, value in row.items():
        if isinstance(value, bytes):
            row[column] = f"images/{name}_{column}.png"
            _put(folder / row[column], value)
        elif isinstance(value, list) and value and isinstance(value[0], bytes):
            row[column] = [f"images/{name}_{column}_{at}.png" for at in range(len(value))]
            for each, picture in zip(row[column], value, strict=True):
                _put(folder / each, picture)


def _filled(template: str, row: Fields, at: int) -> str:
    def written(found: re.Match[str]) -> str:
        value = row[found[1]][at] if isinstance(row[found[1]], list) else row[found[1]]
        return format(value, found[2]) if found[2] else str(value)

    return _NAMED.sub(written, template)


def _put(path: Path, picture: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture)


def _parquet(path: Path, rows: list[Fields], records: str, at: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    for number, row in enumerate(rows):
        _place_files(path.parent, row.pop(""), dict(row), f"{at}_{number}")
    parquet.write_table(pa.Table.from_pylist([_struct(row) for row in rows]), path)


def _struct(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": value, "path": None}
    if isinstance(value, dict):
        return {name: _struct(each) for name, each in value.items()}
    return [_struct(each) for each in value] if isinstance(value, list | tuple) else value


def _tsv(path: Path, rows: list[Fields], records: str, at: int) -> None:
    seen: dict[bytes, Any] = {}
    for number, row in enumerate(rows):
        row.setdefault("index", number)
        _place_files(path.parent, row.pop(""), dict(row), f"{at}_{number}")
        picture = row.get("image")
        if isinstance(picture, bytes) and seen.setdefault(picture, row["index"]) != row["index"]:
            row["image"] = str(seen[picture])
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list({name: None for row in rows for name in row}), delimiter="\t")
        table.writeheader()
        table.writerows({name: _text(value) for name, value in row.items()} for row in rows)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list | tuple):
        return repr([_text(each) if isinstance(each, bytes) else each for each in value])
    return json.dumps(value) if isinstance(value, dict) else "" if value is None else str(value)


_WRITERS: dict[str, Callable[[Path, list[Fields], str, int], None]] = {
    ".json": _json,
    ".jsonl": _json,
    ".parquet": _parquet,
    ".tsv": _tsv,
}
