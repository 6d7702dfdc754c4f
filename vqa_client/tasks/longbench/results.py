"""One question in the LongBench-v2 reports: the published fields, then what this program knows besides."""

from collections.abc import Mapping
from typing import Any, TypeVar

from vqa_client.types import ANSWERED, Question, Record, Status

Scored = TypeVar("Scored")

_CONNECTION: frozenset[Status] = frozenset({"connection", "timeout"})
_CONTEXT_END_CHARS = 200


_FILED_AS = {"published": "seed"}
"""What the report of mc calls a score."""


def mc_scores(scores: Mapping[str, Scored]) -> dict[str, Scored]:
    """Scores by the names that the report of mc has for them."""
    return {_FILED_AS.get(name, name): score for name, score in scores.items()}


def mc_result(question: Question, record: Record) -> dict[str, Any]:
    """Write one multiple-choice question."""
    answered = record.status in ANSWERED
    return {
        "instance_id": question.id,
        "question": question.text,
        "choices": question.choices,
        "ground_truth": question.references[0],
        **({"prompt": _bare_prompt(record.prompt, question)} if answered else {}),
        "model_output": record.output,
        "extracted_answer": (record.answer or "") if answered else None,
        **_ending(question, record, correct=record.score >= 1.0, scores=mc_scores(record.parts)),
    }


def niah_result(question: Question, record: Record) -> dict[str, Any]:
    """Write one needle question."""
    return {
        "instance_id": question.cluster,
        "question_idx": question.extra["question_idx"],
        "question": question.text,
        "ground_truth": question.references[0],
        "model_output": record.output,
        **_ending(question, record, correct=published_score(record) >= 1.0, scores=record.parts),
    }


def published_status(status: Status) -> str:
    """Name a status as the published script would; its success is any reply, whatever was read from it."""
    if status in ANSWERED:
        return "success"
    return "connection_error" if status in _CONNECTION else "error"


def published_score(record: Record) -> float:
    """What the published script of niah scores a record."""
    return record.parts.get("published", record.score)


def _ending(question: Question, record: Record, *, correct: bool, scores: dict[str, float]) -> dict[str, Any]:
    return {
        "correct": correct,
        "num_images": len(record.images) or len(question.images) - record.truncated_pages,
        "status": published_status(record.status),
        **({"error": record.error.message} if record.error else {}),
        "question_id": record.question_id,
        "outcome": record.status,
        "rule": record.rule,
        "rivals": record.rivals,
        "source": record.source,
        "scores": scores,
        **({"probabilities": record.probabilities} if record.probabilities else {}),
        "groups": record.groups,
        "finish_reason": record.finish_reason,
        **({"reasoning": record.reasoning} if record.reasoning else {}),
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "images": record.images,
        "truncated_pages": record.truncated_pages,
    }


def _bare_prompt(prompt: str, question: Question) -> str:
    """Leave out the document's text that a text-only run puts first, which the published report doesn't repeat.

    A record keeps only both ends of a long prompt, so the text is known by its own end.
    """
    context = question.extra.get("context")
    if context is None:
        return prompt
    _, found, bare = prompt.rpartition(f"{context[-_CONTEXT_END_CHARS:]}\n\n")
    return bare if found else prompt
