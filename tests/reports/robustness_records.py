"""Robustness runs on disk, of invented models whose answers get worse with the level."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vqa_client.records import RecordLog
from vqa_client.reports.run import Run
from vqa_client.runs.resume import RunPaths
from vqa_client.runs.varied import variant_name
from vqa_client.scoring.robustness import CLASSES
from vqa_client.types import Failure, Question, Record, SentImage

Pair = tuple[Question, Record]
FOURTEEN = tuple(name for names in CLASSES.values() for name in names)
TYPES = ("what color is the", "is this a", "how many", "what is the man doing", "none of the above")
HARM = dict(zip(FOURTEEN, (0.5, 0.3, 0.3, 0.2, 0.3, 0.5, 0.4, 0.1, 0.45, 0.2, 0.22, 0.25, 0.12, 0.15), strict=True))
"""The share of its right answers that an invented model loses at level 5."""
IDENTITY = {"task": "vqa2", "variant": "", "profile": "vqa-vrb", "corruption_seed": 0}


def curves(clean: float, frailty: float = 1.0, corruptions: Sequence[str] = FOURTEEN) -> dict[str, list[float]]:
    """Accuracies at levels 0 to 5, in [0, 1]."""
    return {
        name: [clean * (1 - min(1, frailty * HARM.get(name, 0.3)) * (level / 5) ** 1.3) for level in range(6)]
        for name in corruptions
    }


def pairs_of(
    accuracies: Mapping[str, Sequence[float | None]], *, questions: int = 30, seed: int = 0, an_image: int = 3
) -> list[Pair]:
    """Questions in the order of a run, some per image; what is right at a level is mostly right below it, too."""
    return list(_pairs(accuracies, questions, random.Random(seed), an_image))


def _pairs(
    accuracies: Mapping[str, Sequence[float | None]], questions: int, draw: random.Random, an_image: int
) -> Iterator[Pair]:
    variants = [("", 0)] + [
        (name, level) for name, row in accuracies.items() for level in range(1, len(row)) if row[level] is not None
    ]
    ease = [draw.random() for _ in range(questions)]
    for first in range(0, questions, an_image):
        group = range(first, min(first + an_image, questions))
        for corruption, level in variants:
            row = accuracies[corruption or next(iter(accuracies))]
            for number in group:
                chance = ease[number] if draw.random() < 0.85 else draw.random()
                yield pair(number, corruption, level, right=chance < (row[level] or 0), an_image=an_image)


def pair(
    number: int, corruption: str = "", level: int = 0, *, right: bool = True, an_image: int = 3, **changes: Any
) -> Pair:
    image = f"COCO_val2014_{number // an_image:012d}.png"
    groups = {
        "question_type": TYPES[number % len(TYPES)],
        "answer_type": "other",
        "corruption": corruption or "clean",
        "level": str(level),
    }
    question = Question(
        id=str(number),
        variant=variant_name(corruption, level),
        text=f"What is at {number}?",
        images=(f"/images/{image}",),
        references=("red",) * 10,
        groups=groups,
        cluster=str(number // an_image),
        extra={"question_id": number, "image_id": number // an_image, "multiple_choice_answer": "red"},
    )
    fields: dict[str, Any] = {
        "question_id": question.id,
        "variant": question.variant,
        "status": "ok",
        "output": "Red." if right else "blue",
        "answer": "red" if right else "blue",
        "references": question.references,
        "score": float(right),
        "parts": {"normalised": float(right)},
        "groups": groups,
        "cluster": question.cluster,
        "images": (SentImage(name=image, sha256="ab" * 32, size_bytes=1_000),),
    }
    return question, Record(**(fields | changes))


def lost(number: int, corruption: str = "", level: int = 0) -> Pair:
    """A question without a reply."""
    error = Failure(message="no reply within 60 s")
    return pair(
        number, corruption, level, right=False, status="timeout", output=None, answer=None, parts={}, error=error
    )


def run_of(model: str = "org/small", **changes: Any) -> Run:
    fields: dict[str, Any] = {
        "folder": "",
        "model": model,
        "config": None,
        "data_path": "questions.json",
        "images_dir": "images",
        "expected": 0,
        "scoring": {"version": "1"},
    }
    return Run(**(fields | changes))


def on_disk(folder: Path, model: str, pairs: Sequence[Pair], *, name: str = "", **identity: Any) -> RunPaths:
    """The record log and the run file of a finished run."""
    paths = RunPaths.beside(folder / f"{name or model.replace('/', '_')}_robustness.json")
    with RecordLog(paths.log) as log:
        for _, record in pairs:
            log.append(record)
    file = {
        "identity": IDENTITY | {"model": {"model_name": model, "max_tokens": 16}} | identity,
        "scoring": {"version": "1"},
        "described": {"data_sha256": "d1" * 32, "settings": {"images": str(folder / "images")}},
    }
    paths.run.write_text(json.dumps(file))
    return paths
