"""Measures commands for the manual, without other clients: `python -m tests.bench.alone render|score`."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.bench.processes import BYTES_PER_MAXRSS, MB

WORDS = (
    "the",
    "a",
    "river",
    "bridge",
    "stone",
    "letter",
    "harbour",
    "winter",
    "answered",
    "before",
    "evening",
    "slowly",
)
ANSWERS = ("yes", "no", "2", "red", "blue", "tennis", "dog", "left", "kitchen", "wood")
PAGES, WORDS_PER_PAGE, DOCUMENTS = 300, 1_150, 20
QUESTIONS, PEOPLE = 214_354, 10


def render(folder: Path) -> None:
    """300 full A4 pages at 96 dpi from 20 documents."""
    chance = random.Random(0)
    words = PAGES // DOCUMENTS * WORDS_PER_PAGE
    rows = [{"_id": f"d{n}", "context": " ".join(chance.choices(WORDS, k=words))} for n in range(DOCUMENTS)]
    data = write_json(folder / "data.json", rows)
    measure("render", "--data_json", data, "-o", str(folder / "pages"), "--dpi", "96", "--workers", "2")
    print(f"{len(list((folder / 'pages/images').iterdir()))} pages")


def score(folder: Path) -> None:
    """As many questions as VQA 2.0's validation split has, with ten answers each."""
    chance = random.Random(0)
    answers = ({"question_id": n, "answer": chance.choice(ANSWERS)} for n in range(QUESTIONS))
    rows = (
        {
            "question_id": n,
            "image_id": n // 5,
            "question_type": "what is",
            "answer_type": "other",
            "multiple_choice_answer": "yes",
            "answers": [{"answer": chance.choice(ANSWERS), "answer_id": at} for at in range(1, PEOPLE + 1)],
        }
        for n in range(QUESTIONS)
    )
    predictions = write_json(folder / "answers.json", answers)
    annotations = write_json(folder / "annotations.json", rows)
    measure("score", "-p", predictions, "-a", annotations, "--json")


def write_json(path: Path, rows: Iterable[object]) -> str:
    """Write a JSON list item by item, so that this process stays small; returns its path for a command line."""
    with path.open("w") as file:
        file.write("[")
        for number, row in enumerate(rows):
            file.write(("," if number else "") + json.dumps(row))
        file.write("]")
    return str(path)


def measure(*words: str) -> None:
    """Run a command as a process and print its time, CPU time and memory."""
    started_s = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "vqa_client", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0  # wait4 has already waited for it
    peak_mb = used.ru_maxrss * BYTES_PER_MAXRSS / MB
    took = f"{time.monotonic() - started_s:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of CPU"
    print(f"{words[0]}: {took}, at most {peak_mb:.0f} MB")


PARTS: dict[str, Callable[[Path], None]] = {"render": render, "score": score}


if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        with tempfile.TemporaryDirectory() as scratch:
            PARTS[part](Path(scratch))
