"""Records of our own in the exact forms of the NLE files, and a data folder with them."""

import json
from pathlib import Path
from typing import Any

from vqa_client.scoring.reply import Reply, reply_from
from vqa_client.types import Completion, Question

FILES = {
    "vqax": "VQA-X/vqaX_{}.json",
    "actx": "ACT-X/actX_{}.json",
    "esnlive": "eSNLI-VE/esnlive_{}.json",
    "vcr": "VCR/vcr_{}.json",
}


def vqax(*answers: str, number: int = 7, **changes: Any) -> dict[str, Any]:
    given = answers or ("kettle",) * 6 + ("pot",) * 3 + ("Kettle.",)
    return {
        "question": "What stands on the stove?",
        "answers": [
            {"answer": answer, "answer_confidence": "yes", "answer_id": at} for at, answer in enumerate(given, 1)
        ],
        "image_id": str(number),
        "image_name": f"COCO_val2014_{number:012d}.jpg",
        "explanation": ["it has a spout and steam comes out", "there is a lid with a knob"],
    } | changes


def actx(label: str = "playing guitar", number: str = "015601864", **changes: Any) -> dict[str, Any]:
    return {
        "answers": label,
        "image_id": number,
        "image_name": f"{number}.jpg",
        "explanation": ["he holds a guitar", "his fingers are on strings", "he sits on a stool"],
    } | changes


def esnlive(label: str = "neutral", number: str = "3416050", **changes: Any) -> dict[str, Any]:
    return {
        "hypothesis": "The man waits for his brother.",
        "answers": label,
        "image_name": f"{number}.jpg",
        "explanation": "whom he waits for can't be seen",
    } | changes


def vcr_nlx(**changes: Any) -> dict[str, Any]:
    return {
        "question": "why is person0 pointing at person1",
        "answers": "he shows person2 who asked for the soup",
        "explanation": "person2 carries a bowl",
        "annot_id": "val-3",
        "img_name": "/vcr1images/lsmdc_1/x@0.jpg",
        "boxes_data": [[1.0, 2.0, 3.0, 4.0, 0.9]],
        "image_w": 1920,
        "image_h": 800,
        "objects": ["person", "person", "person"],
    } | changes


def vcr_evil(**changes: Any) -> dict[str, Any]:
    return {
        "img_id": "vcr_val_x@0.npz",
        "raw_img_id": "lsmdc_1/x@0.jpg",
        "sent": "Why is <det0> pointing at <det1> ?",
        "answer_choices": ["He is angry.", "He shows <det2> who asked.", "He is lost.", "He dances."],
        "label": 1,
        "explanation": "<det2> carries a bowl",
        "objects": ["person", "person", "person"],
        "question_id": "val-3",
    } | changes


def vcr_own(**changes: Any) -> dict[str, Any]:
    return {
        "annot_id": "val-3",
        "img_fn": "lsmdc_1/x@0.jpg",
        "objects": ["person", "person", "bowl"],
        "question": ["Why", "is", [0], "pointing", "at", [1, 2], "?"],
        "answer_choices": [["He", "is", "angry", "."], [[0], "shows", "who", "asked", "."], ["No", "."], ["Yes", "."]],
        "answer_label": 1,
        "rationale_choices": [["It", "is", "dark", "."], ["A"], ["B"], [[1], "carries", "a", "bowl", "."]],
        "rationale_label": 3,
    } | changes


def put(root: Path, task: str, split: str, records: Any, *, file: str = "", images: tuple[str, ...] = ()) -> Path:
    """Write an NLE file and empty images; return the data root."""
    path = root / "nle_data" / (file or FILES[task].format(split))
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "\n".join(map(json.dumps, records)) if path.suffix == ".jsonl" else json.dumps(records)
    path.write_text(lines, encoding="utf-8")
    for image in images:
        place = root / "images" / image
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    return root


def vqax_root(root: Path) -> Path:
    """One VQA-X sample with its image."""
    return put(root, "vqax", "val", {"42": vqax()}, images=("val2014/COCO_val2014_000000000007.jpg",))


def said(text: str, finish_reason: str = "stop") -> Reply:
    return reply_from(Completion(text=text, finish_reason=finish_reason))


def only(questions: Any) -> Question:
    (question,) = questions
    assert isinstance(question, Question)
    return question
