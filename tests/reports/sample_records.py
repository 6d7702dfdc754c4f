"""Invented records as a run leaves them."""

from typing import Any

from vqa_client.types import Failure, Question, Record, SentImage

CHOICES = {"A": "the Gannet", "B": "the Petrel", "C": "the Skua", "D": "none of them"}


def mc_groups(**changes: str) -> dict[str, str]:
    return {
        "difficulty": "easy",
        "length": "short",
        "context_length": "8k-16k",
        "domain": "QA",
        "sub_domain": "Harbour books",
    } | changes


def answered(name: str, *, right: bool = True, **changes: Any) -> Record:
    fields: dict[str, Any] = {
        "question_id": name,
        "status": "ok",
        "prompt": "Which boat?",
        "output": "The correct answer is (B).",
        "answer": "B",
        "rule": "declaration",
        "references": ("B",),
        "score": float(right),
        "parts": {"robust": float(right), "published": 1.0, "longbench": 0.0},
        "groups": mc_groups(),
        "cluster": name,
        "images": (SentImage(name=f"{name}_page_001.png", sha256="ab" * 32, size_bytes=1_000),),
        "finish_reason": "stop",
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "latency_s": 0.5,
        "attempts": 1,
    }
    return Record(**(fields | changes))


def failed(name: str, status: str = "timeout", **changes: Any) -> Record:
    fields: dict[str, Any] = {
        "question_id": name,
        "status": status,
        "prompt": "Which boat?",
        "references": ("B",),
        "groups": mc_groups(),
        "cluster": name,
        "error": Failure(message="no reply within 600 s"),
        "latency_s": 600.0,
        "attempts": 3,
    }
    return Record(**(fields | changes))


def mc_question(name: str) -> Question:
    return Question(
        id=name,
        text="Which boat came in last?",
        images=(f"/pages/{name}_page_001.png", f"/pages/{name}_page_002.png"),
        references=("B",),
        choices=CHOICES,
        groups=mc_groups(),
        cluster=name,
    )


def needle(document: str, index: int, *, right: bool, depth: str, context_length: str = "<8k") -> Record:
    groups = mc_groups(needle_depth=depth, context_length=context_length)
    return answered(
        f"{document}#{index}",
        right=right,
        cluster=document,
        groups=groups,
        output="It is iron.",
        answer="It is iron.",
        rule="whole_reply",
        references=("iron",),
        parts={"containment": float(right), "strict": 0.0, "n_numbers": 2.0},
    )


def needle_question(document: str, index: int) -> Question:
    return Question(
        id=f"{document}#{index}",
        text="What is the secret metal?",
        references=("iron",),
        cluster=document,
        extra={"question_idx": index},
    )
