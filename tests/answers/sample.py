"""Small files in the usual forms."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def ten_answers(*texts: str) -> list[dict[str, Any]]:
    """Ten answers with ids, repeating the texts in turn."""
    return [{"answer": texts[n % len(texts)], "answer_confidence": "yes", "answer_id": n + 1} for n in range(10)]


def annotation(question_id: int | str, *texts: str, **others: Any) -> dict[str, Any]:
    """One annotation in VQA's form; `others` replace or add fields."""
    return {
        "question_id": question_id,
        "image_id": int(question_id) // 1000,
        "question_type": "is the",
        "answer_type": "yes/no",
        "multiple_choice_answer": texts[0] if texts else "",
        "answers": ten_answers(*texts) if texts else [],
        **others,
    }


def write_annotations(path: Path, *rows: Mapping[str, Any]) -> Path:
    path.write_text(json.dumps({"info": {"version": "2.0"}, "annotations": rows}))
    return path


def write_results(path: Path, answers: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> Path:
    pairs = answers.items() if isinstance(answers, Mapping) else answers
    path.write_text(json.dumps([{"question_id": key, "answer": answer} for key, answer in pairs]))
    return path
