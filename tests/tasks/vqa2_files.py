"""A small split in VQA 2.0's files, of our own making."""

import json
from pathlib import Path
from typing import Any

OFFICIAL = ("v2_OpenEnded_mscoco_val2014_questions.json", "v2_mscoco_val2014_annotations.json")
SHORT = ("questions.json", "annotations.json")


def question(number: int, text: str = "What color is the boat?", **changes: Any) -> dict[str, Any]:
    return {"image_id": 1 + number // 1000, "question": text, "question_id": number} | changes


def answers(*texts: str, ids: bool = True) -> list[dict[str, Any]]:
    return [
        {"answer": text, "answer_confidence": "yes"} | ({"answer_id": at} if ids else {})
        for at, text in enumerate(texts, start=1)
    ]


def annotation(number: int, *texts: str, ids: bool = True, **changes: Any) -> dict[str, Any]:
    given = texts or ("red",) * 10
    return {
        "question_type": "what color is the",
        "multiple_choice_answer": given[0],
        "answers": answers(*given, ids=ids),
        "image_id": 1 + number // 1000,
        "answer_type": "other",
        "question_id": number,
    } | changes


def write_split(
    folder: Path,
    questions: list[dict[str, Any]],
    annotations: list[dict[str, Any]] | None,
    *,
    names: tuple[str, str] = OFFICIAL,
    images: list[int] | None = None,
    subtype: str = "val2014",
) -> Path:
    """Write a split; `images` are the ids with an (empty) file, by default those of all questions."""
    folder.mkdir(parents=True, exist_ok=True)
    head = {"info": {"version": "2.0"}, "data_subtype": subtype}
    (folder / names[0]).write_text(json.dumps({**head, "task_type": "Open-Ended", "questions": questions}))
    if annotations is not None:
        (folder / names[1]).write_text(json.dumps({**head, "annotations": annotations}))
    ids = {asked["image_id"] for asked in questions} if images is None else set(images)
    place = folder / "images" / subtype
    place.mkdir(parents=True, exist_ok=True)
    for image_id in ids:
        (place / f"COCO_{subtype}_{image_id:012d}.jpg").touch()
    return folder
