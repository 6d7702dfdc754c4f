"""Four questions of our own in every form of data that `ask` reads."""

import base64
import csv
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.forms import draw
from vqa_client.cli.main import run_command

Rows = list[dict[str, Any]]
ROWS: Rows = [
    {"image": [draw(1)], "question": "[[q0]] Which colour?", "choices": ["red", "blue"], "answer": "A"},
    {"image": [draw(2), draw(3)], "question": "[[q1]] Which changed?", "choices": ["cup", "lid", "jar"], "answer": "C"},
    {"image": [], "question": "[[q2]] Which is a fruit?", "choices": ["pear", "car"], "answer": "A"},
    {"image": [draw(1)], "question": "[[q3]] Which shape?", "choices": ["disc", "cube"], "answer": "B"},
]
REPLIES = {"[[q0]]": "A", "[[q1]]": "The answer is C", "[[q2]]": "A", "[[q3]]": "A"}
"""The last one is wrong."""


def files(folder: Path, row: dict[str, Any], number: int) -> list[str]:
    names = [f"{number}_{at}.png" for at in range(len(row["image"]))]
    for name, picture in zip(names, row["image"], strict=True):
        (folder / name).write_bytes(picture)
    return names


def encoded(row: dict[str, Any]) -> str:
    texts = [base64.b64encode(picture).decode() for picture in row["image"]]
    return repr(texts) if len(texts) > 1 else "".join(texts)


def as_json(folder: Path, *, lines: bool = False) -> Path:
    rows = [{**row, "image": files(folder, row, number)} for number, row in enumerate(ROWS)]
    path = folder / ("rows.jsonl" if lines else "rows.json")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) if lines else json.dumps(rows))
    return path


def as_object(folder: Path) -> Path:
    path = as_json(folder)
    path.write_text(json.dumps({"info": {"version": 1}, "questions": json.loads(path.read_text())}))
    return path


def as_coco(folder: Path) -> Path:
    path = as_json(folder)
    rows = json.loads(path.read_text())
    images = [{"id": number, "image": row.pop("image"), "width": 1} for number, row in enumerate(rows)]
    annotations = [{"id": number, "image_id": number, **row} for number, row in enumerate(rows)]
    path.write_text(json.dumps({"images": images[::-1], "annotations": annotations}, indent=1))
    return path


def as_csv(folder: Path) -> Path:
    with (folder / "rows.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["image", "question", "A", "B", "C", "answer"])
        for number, row in enumerate(ROWS):
            names = files(folder, row, number)
            cell = json.dumps(names) if len(names) > 1 else "".join(names)
            table.writerow([cell, row["question"], *row["choices"], *[""] * (3 - len(row["choices"])), row["answer"]])
    return folder / "rows.csv"


def as_tsv(folder: Path) -> Path:
    with (folder / "rows.tsv").open("w", newline="") as file:
        table = csv.writer(file, delimiter="\t")
        table.writerow(["index", "image", "question", "options", "answer"])
        for number, row in enumerate(ROWS):
            table.writerow([number, encoded(row), row["question"], repr(row["choices"]), row["answer"]])
    return folder / "rows.tsv"


def as_parquet(folder: Path) -> Path:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{**row, "image": [{"bytes": each, "path": None} for each in row["image"]]} for row in ROWS]
    parquet.write_table(pa.Table.from_pylist(rows), folder / "test-0.parquet")
    return folder


def as_image_columns(folder: Path) -> Path:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [
        {
            **{key: value for key, value in row.items() if key != "image"},
            **{f"image_{at + 1}": {"bytes": each, "path": None} for at, each in enumerate(row["image"])},
        }
        for row in ROWS
    ]
    blank = {"image_1": None, "image_2": None}
    parquet.write_table(pa.Table.from_pylist([blank | row for row in rows]), folder / "rows.parquet")
    return folder / "rows.parquet"


def as_tar(folder: Path) -> Path:
    with tarfile.open(folder / "rows.tar", "w") as tar:
        for number, row in enumerate(ROWS):
            asked = {key: value for key, value in row.items() if key != "image"}
            members = [(f"{number:04}.json", json.dumps(asked).encode())]
            members += [(f"{number:04}.{at}.png", picture) for at, picture in enumerate(row["image"])]
            for name, data in members:
                member = tarfile.TarInfo(name)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    return folder / "rows.tar"


def as_messages(folder: Path) -> Path:
    rows = []
    for row in ROWS:
        urls = [f"data:image/png;base64,{base64.b64encode(each).decode()}" for each in row["image"]]
        parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
        turn = {"role": "user", "content": [*parts, {"type": "text", "text": row["question"]}]}
        rows.append({"messages": [turn], "choices": row["choices"], "answer": row["answer"]})
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "rows.jsonl"


FORMS: dict[str, tuple[Callable[[Path], Path], tuple[str, ...]]] = {
    "JSON": (as_json, ()),
    "JSON Lines": (lambda folder: as_json(folder, lines=True), ()),
    "an object with a list": (as_object, ()),
    "COCO": (as_coco, ()),
    "CSV": (as_csv, ()),
    "TSV with base64": (as_tsv, ()),
    "Parquet in a folder": (as_parquet, ()),
    "columns image_1 and image_2": (as_image_columns, ()),
    "tar": (
        as_tar,
        ("--question", "json.question", "--choices", "json.choices", "--answer", "json.answer"),
    ),
}


def ask(data: Path, base_url: str, *options: str) -> int:
    out = str(data.parent / "out") if data.is_file() else str(data.with_name("out"))
    return run_command(["ask", str(data), "-o", out, "--base_url", base_url, "--no_check", "--no-html", *options])


def report(folder: Path, name: str = "ask") -> Any:
    return json.loads((folder / "out" / f"{name}.json").read_text())
