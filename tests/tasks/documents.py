"""Small data files of our own writing in the LongBench-v2 and needle schemas."""

import json
from pathlib import Path
from typing import Any

BOM = b"\xef\xbb\xbf"


def mc_record(name: str, **changes: Any) -> dict[str, Any]:
    record = {
        "_id": name,
        "domain": "Single-Document QA",
        "sub_domain": "Harbour books",
        "difficulty": "easy",
        "length": "short",
        "question": "Which boat came in last?",
        "choice_A": "the Gannet",
        "choice_B": "the Petrel",
        "choice_C": "the Skua",
        "choice_D": "none of them",
        "answer": "B",
        "context": "The Gannet came in first, the Skua after her. The Petrel was seen last.",
    }
    return _changed(record, changes)


def niah_record(name: str, **changes: Any) -> dict[str, Any]:
    record = {
        "_id": name,
        "domain": "Needle in a Haystack",
        "sub_domain": "Secret Retrieval",
        "difficulty": "hard",
        "length": "medium",
        "questions": ["What is the secret number in the above context?", "What is the secret metal?"],
        "answers": ["137", "iron"],
        "question_depths": ["80-100%", "0-20%"],
        "context": "The secret metal is iron. Much later, the secret number is 137.",
    }
    return _changed(record, changes)


def _changed(record: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = record | changes
    return {key: value for key, value in merged.items() if value is not ...}


def write_list(path: Path, records: list[Any], *, bom: bool = False, indent: int | None = None) -> Path:
    text = json.dumps(records, ensure_ascii=False, indent=indent)
    path.write_bytes((BOM if bom else b"") + text.encode())
    return path


def write_lines(path: Path, records: list[Any], *, bom: bool = False) -> Path:
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_bytes((BOM if bom else b"") + text.encode())
    return path


def two_pages(name: str) -> tuple[str, ...]:
    return (f"/pages/{name}_page_001.png", f"/pages/{name}_page_002.png")
