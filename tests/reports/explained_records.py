"""Invented questions with explanations, and the records of their replies."""

from typing import Any

from vqa_client.reports.run import Run
from vqa_client.types import Failure, Question, Record, SentImage

COLUMNS = {
    "vqax": {"image_id": "7", "gt_answer": "kettle"},
    "actx": {"image_id": "015601864", "gt_label": "rowing"},
    "esnlive": {"image_name": "34.jpg", "image_numeric_id": "34", "hypothesis": "A man rows.", "gt_label": "neutral"},
    "vcr": {"image_name": "x@0.jpg", "gt_answer": "He waves.", "options": "He waves. || She sits."},
}


def asked(name: str, benchmark: str = "vqax", **changes: Any) -> Question:
    fields: dict[str, Any] = {
        "id": name,
        "text": "What stands on the stove?",
        "images": ("/images/val2014/seven.jpg",),
        "references": ("kettle", "pot"),
        "rationales": ("it steams", "there is a lid"),
        "extra": {"gold": "kettle", "columns": COLUMNS[benchmark]},
    }
    return Question(**(fields | changes))


def replied(name: str, *, right: bool = True, **changes: Any) -> Record:
    fields: dict[str, Any] = {
        "question_id": name,
        "status": "ok",
        "output": "kettle because it steams",
        "answer": "kettle",
        "rationale": "it steams",
        "rule": "because",
        "references": ("kettle", "pot"),
        "score": float(right),
        "parts": {"robust": float(right), "published": 0.0, "soft_vqa": 0.6},
        "groups": {"majority": "clear"},
        "images": (SentImage(name="seven.jpg", sha256="ab" * 32, size_bytes=10),),
        "finish_reason": "stop",
        "prompt_tokens": 100,
        "completion_tokens": 9,
        "latency_s": 0.25,
        "attempts": 1,
    }
    return Record(**(fields | changes))


def lost(name: str) -> Record:
    return Record(question_id=name, status="timeout", error=Failure(message="no reply within 60 s"), attempts=3)


def run_of(benchmark: str = "vqax", **changes: Any) -> Run:
    fields: dict[str, Any] = {
        "folder": "val",
        "model": "org/llava",
        "config": "llava",
        "data_path": "nle_data/VQA-X/vqaX_val.json",
        "images_dir": "images",
        "expected": 3,
        "scoring": {"benchmark": benchmark, "parsing": "robust", "version": "1"},
        "model_settings": {"model_name": "org/llava", "max_tokens": 64, "timeout": 60},
        "started": "2026-11-28T01:00:00Z",
    }
    return Run(**(fields | changes))
