"""Benchmarks with explanations in a test's folder: tiny pictures, an oracle server, settings."""

import csv
import hashlib
import json
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.fakes.received import Received
from tests.fakes.script import Script
from tests.fakes.words import error
from tests.tasks.declared import task_of
from tests.tasks.explain.samples import put
from vqa_client.records import RecordLog
from vqa_client.settings.own_commands import ExplainSettings
from vqa_client.tasks import explain
from vqa_client.tasks.explain.dataset import load
from vqa_client.types import Question, Record

REAL = Path(__file__).parents[3] / "shared/data/seed001_nle"
_AFTER_START = 2
"""Bytes of a JPEG file before its first segment."""


def draw(root: Path, places: Iterable[str]) -> None:
    """Put a picture of some hundred bytes in each place below images/; all differ."""
    buffer = BytesIO()
    Image.new("RGB", (8, 6), (90, 120, 60)).save(buffer, "JPEG")
    picture = buffer.getvalue()
    for place in places:
        path = root / "images" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        comment = place.encode()
        segment = b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment
        path.write_bytes(picture[:_AFTER_START] + segment + picture[_AFTER_START:])


def own(root: Path, task: str, split: str, records: Any, *places: str, file: str = "") -> "ExplainSample":
    """Invented records, and their pictures in `places`."""
    put(root, task, split, records, file=file)
    draw(root, places)
    return ExplainSample(root, task, split)


def real(root: Path, task: str, name: str, folder: str, *, every: int) -> "ExplainSample":
    """Some records of a real file, with invented pictures; skips if the file is missing."""
    if not (REAL / name).is_file():
        pytest.skip(f"{name} is not here")
    place = root / "nle_data" / name
    place.parent.mkdir(parents=True)
    records = dict(list(json.loads((REAL / name).read_bytes()).items())[::every])
    place.write_text(json.dumps(records))
    draw(root, {f"{folder}/{record['image_name']}" for record in records.values()})
    return ExplainSample(root, task, "test")


class ExplainSample:
    """One split of a benchmark below `root`, with its results beside it."""

    def __init__(self, root: Path, task: str, split: str) -> None:
        self.root, self.task, self.split = root, task, split
        self.results = root / "results"

    def settings(self, base_url: str, **changes: Any) -> ExplainSettings:
        given: dict[str, Any] = {
            "task": self.task,
            "split": self.split,
            "n_samples": None,
            "data_root": self.root,
            "results_dir": self.results,
            "base_url": base_url,
            "api_key": None,
            "model_name": "tiny-vlm",
            "max_workers": 16,
            "max_retries": 0,
            "wait_for_server": 5.0,
        }
        return ExplainSettings(**(given | changes))

    def questions(self, vcr_mode: str = "free", n_samples: int | None = None) -> list[Question]:
        dataset = explain.dataset_of(self.task, vcr_mode)
        return list(load(dataset, self.split, self.root, n_samples=n_samples).questions)

    def oracle(
        self, says: Callable[[int, Question], Script], *, vcr_mode: str = "free", n_samples: int | None = None
    ) -> Callable[[Received], Script]:
        """What `says` makes of a question and its place in the file, told by prompt and picture.

        If two questions have the same prompt and picture, the first one counts.
        """
        prompt = task_of(self.task, vcr_mode=vcr_mode).prompt
        plays: dict[tuple[str, ...], Script] = {}
        for number, question in enumerate(self.questions(vcr_mode, n_samples)):
            digest = hashlib.sha256(Path(question.images[0]).read_bytes()).hexdigest()
            plays.setdefault((prompt(question), digest), says(number, question))
        return lambda received: plays.get(received.question, error(500, "an unknown question"))

    def csv_path(self, suffix: str = "") -> Path:
        return self.results / "llava_results" / f"{self.task}_{self.split}_eval{suffix}.csv"

    def rows(self, suffix: str = "") -> list[dict[str, str]]:
        with self.csv_path(suffix).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def records(self, suffix: str = "") -> dict[str, Record]:
        with RecordLog(self.csv_path(suffix).with_suffix(".records.jsonl")) as log:
            return {record.question_id: record for record in log}

    def scores(self, suffix: str = "") -> Any:
        return json.loads(self.csv_path(suffix).with_suffix(".explanations.json").read_bytes())

    def grid(self, title: str) -> dict[str, str]:
        """The filled cells of a row."""
        with (self.results / "accuracy_grid.csv").open(encoding="utf-8", newline="") as file:
            row = next(row for row in csv.DictReader(file) if row["task"] == title)
        return {column: cell for column, cell in row.items() if cell and column != "task"}

    def history(self) -> list[dict[str, str]]:
        with (self.results / "accuracy_grid_history.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


def right(number: int, question: Question) -> str:
    """The right answer and the first human explanation."""
    del number
    return f"{question.extra['gold']} because {question.rationales[0]}"
