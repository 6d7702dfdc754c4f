"""One question in the LongBench-v2 reports: the published fields, then what this program knows besides."""

from typing import Any

from vqa_client.types import ANSWERED, Question, Record, Status

_CONNECTION: frozenset[Status] = frozenset({"connection", "timeout"})
_CONTEXT_END_CHARS = 200


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
        **_ending(question, record),
    }


def niah_result(question: Question, record: Record) -> dict[str, Any]:
    """Write one needle question."""
    return {
        "instance_id": question.cluster,
        "question_idx": question.extra["question_idx"],
        "question": question.text,
        "ground_truth": question.references[0],
        "model_output": record.output,
        **_ending(question, record),
    }


def published_status(status: Status) -> str:
    """Name a status as the published script would; its success is any reply, whatever was read from it."""
    if status in ANSWERED:
        return "success"
    return "connection_error" if status in _CONNECTION else "error"


def published_score(record: Record) -> float:
    """What the published script scores a record."""
    return record.parts.get("published", record.score)


def _ending(question: Question, record: Record) -> dict[str, Any]:
    return {
        "correct": published_score(record) >= 1.0,
        "num_images": len(record.images) or len(question.images) - record.truncated_pages,
        "status": published_status(record.status),
        **({"error": record.error.message} if record.error else {}),
        "question_id": record.question_id,
        "outcome": record.status,
        "rule": record.rule,
        "rivals": record.rivals,
        "source": record.source,
        "scores": record.parts,
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
