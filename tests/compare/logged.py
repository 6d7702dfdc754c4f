"""Invented runs on disk for comparisons."""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from vqa_client.types import Record

DIGEST = "ab" * 32


def record(name: str, *, score: float = 1.0, **changes: Any) -> Record:
    fields: dict[str, Any] = {
        "question_id": name,
        "status": "ok",
        "prompt": f"What is on picture {name}?",
        "output": "It is a kettle." if score else "It is a boat.",
        "answer": "kettle" if score else "boat",
        "rule": "whole_reply",
        "references": ("kettle",),
        "score": score,
        "parts": {"normalised": score},
        "finish_reason": "stop",
        "attempts": 1,
    }
    return Record(**(fields | changes))


def failed(name: str, **changes: Any) -> Record:
    fields: dict[str, Any] = {"score": 0.0, "status": "timeout", "output": None, "answer": None}
    return record(name, **(fields | changes))


def put(
    folder: Path,
    records: Iterable[Record],
    *,
    stem: str = "vqa2_results",
    model: str = "org/one",
    task: str = "vqa2",
    variant: str = "",
    run_file: bool = True,
    **changes: Any,
) -> Path:
    """Write a log and its run file, and give the log's path."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{stem}.records.jsonl"
    log.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in records))
    settings = {"model_name": model, "max_tokens": 5, "temperature": 0.0}
    content: dict[str, Any] = {
        "identity": {"task": task, "variant": variant, "model": settings},
        "scoring": {"version": "1"},
        "described": {"data_sha256": DIGEST, "settings": {}},
        "sessions": [],
    }
    for key, value in changes.items():
        content[key] = content[key] | value
    if run_file:
        (folder / f"{stem}.run.json").write_text(json.dumps(content))
    return log


def many(seed: int, chance: float, *, count: int = 300, per_image: int = 3, partial: bool = False) -> list[Record]:
    """Questions of two kinds, some on one image, each right with its own probability."""
    draw = random.Random(seed)
    scores = (0.3, 0.6, 1.0) if partial else (1.0,)
    return [
        record(
            f"q{number}",
            score=draw.choice(scores) if draw.random() < chance else 0.0,
            cluster=f"image{number // per_image}" if per_image > 1 else "",
            groups={"kind": "number" if number % 4 == 0 else "other"},
        )
        for number in range(count)
    ]
