"""The sample benchmark of the whole-run tests, whose rows, pages and replies can be changed one by one."""

import asyncio
import json
import os
import random
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

import vqa_client
from tests.fakes.server import FaultServer
from tests.runs.sample import Sample
from vqa_client.progress import Progress
from vqa_client.settings.own_commands import NiahSettings
from vqa_client.types import Record

CHOICES = {"A": "red", "B": "green", "C": "blue", "D": "yellow"}


class Notes(Progress):
    """Collects a run's messages."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.served: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)

    def serving(self, text: str) -> None:
        self.served.append(text)

    def about(self, *words: str) -> list[str]:
        """The notes that contain all these words."""
        return [note for note in self.said if all(word in note for word in words)]


class StopsAfter(Notes):
    """Stops a run once so many questions have ended and a message had the words."""

    def __init__(self, questions: int = 0, words: str = "") -> None:
        super().__init__()
        self.stop = asyncio.Event()
        self._left, self._unsaid = questions, words

    def finished(self, record: Record) -> None:
        self._left -= 1
        self._stop_when_due()

    def note(self, text: str) -> None:
        super().note(text)
        if self._unsaid in text:
            self._unsaid = ""
            self._stop_when_due()

    def _stop_when_due(self) -> None:
        if self._left <= 0 and not self._unsaid:
            self.stop.set()


class Questions(Sample):
    """A sample whose questions all have the same choices, and whose right letters take turns."""

    def __init__(self, root: Path, count: int, pages: int = 1, folders: tuple[str, ...] = ("clean",)) -> None:
        root.mkdir(parents=True, exist_ok=True)
        super().__init__(root, count, pages, folders)
        self.images = self.pages_dir / "clean" / "images"

    def _row(self, name: str) -> dict[str, Any]:
        return super()._row(name) | {f"choice_{letter}": text for letter, text in CHOICES.items()}

    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(self.data_json.read_bytes())
        return rows

    def write_rows(self, rows: Iterable[dict[str, Any]]) -> None:
        self.data_json.write_text(json.dumps(list(rows)), encoding="utf-8")

    def change(self, name: str, **fields: Any) -> None:
        """Change fields of one row; a field of None is removed."""
        rows = self.rows()
        row = next(row for row in rows if row["_id"] == name)
        row.update(fields)
        for field in [field for field, value in fields.items() if value is None]:
            del row[field]
        self.write_rows(rows)

    def page(self, name: str, number: int = 1) -> Path:
        return self.images / f"{name}_page_{number:03d}.png"

    def config(self, **fields: Any) -> str:
        """A config file with these fields."""
        path = self.root / "model.json"
        path.write_text(json.dumps({"model_name": "tiny-vlm", "max_tokens": 64} | fields), encoding="utf-8")
        return str(path)

    async def ask(self, server: FaultServer | str, **changes: Any) -> dict[str, dict[str, Any]]:
        """Run it against a server or an address; returns the last record of each question."""
        progress = changes.pop("progress", None)
        base_url = server if isinstance(server, str) else server.base_url
        await vqa_client.arun(self.settings(base_url, **changes), progress=progress)
        return self.outcomes()

    def outcomes(self) -> dict[str, dict[str, Any]]:
        """The last record of each question."""
        records = [json.loads(line) for line in self.lines() if line]
        return {record["question_id"]: record for record in records}

    def lines(self) -> list[bytes]:
        """The record log on the disk, split into lines."""
        return self.log_path.read_bytes().split(b"\n")

    @property
    def log_path(self) -> Path:
        return self.output / "clean_mc_eval.records.jsonl"

    def run_file(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.output / "clean_mc_eval.run.json").read_bytes())
        return found


def niah_settings(of: Questions, base_url: str, **changes: Any) -> NiahSettings:
    """The same documents as needles, two questions each: "code q0#0" and "code q0#1" are the answers in `q0`."""
    rows = [
        {
            "_id": name,
            "length": "short",
            "context": "Some words.",
            "questions": [f"[[{name}#0]] What is the code?", f"[[{name}#1]] And the other?"],
            "answers": [f"code {name}#0", f"code {name}#1"],
            "question_depths": ["0-20%", "40-60%"],
        }
        for name in of.ids
    ]
    data = of.root / "needles.json"
    data.write_text(json.dumps(rows), encoding="utf-8")
    given: dict[str, Any] = {
        "data": data,
        "images": of.images,
        "output": of.root / "needles_out.json",
        "base_url": base_url,
        "api_key": None,
        "max_workers": 8,
        "wait_for_server": 5.0,
    }
    return NiahSettings(**(given | changes))


def noise_png(width: int, height: int, seed: int = 0) -> bytes:
    """An image that can't be compressed: three bytes per pixel."""
    pixels = random.Random(seed).randbytes(width * height * 3)
    buffer = BytesIO()
    Image.frombytes("RGB", (width, height), pixels).save(buffer, "PNG", compress_level=0)
    return buffer.getvalue()


def linked_pages(of: Questions, data: bytes, pages: int) -> None:
    """Give each document pages of these bytes, which are on the disk only once."""
    of.images.mkdir(parents=True, exist_ok=True)
    source = of.root / "page.png"
    source.write_bytes(data)
    for name in of.ids:
        for page in range(1, pages + 1):
            of.page(name, page).unlink(missing_ok=True)
            os.link(source, of.page(name, page))
