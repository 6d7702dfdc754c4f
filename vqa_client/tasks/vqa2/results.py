"""One question in the VQA 2.0 report: the published fields, then what this program knows besides."""

from typing import Any

from vqa_client.scoring.reply import reply_from
from vqa_client.scoring.vqa2 import published_score
from vqa_client.types import ANSWERED, Completion, Question, Record


def question_result(question: Question, record: Record) -> dict[str, Any]:
    """Write one question; a question without a reply has no answer and no time, and counts as wrong.

    `model_answer` is the reply without its reasoning, as the published scores take it; the whole of it is
    `model_output` where that is more. Without a known answer there are no scores.
    """
    answer = _said(record)
    gold, known = question.extra["multiple_choice_answer"], bool(question.references)
    debug = published_score(gold or "", answer or "")
    return {
        "question_id": question.extra["question_id"],
        "image_id": question.extra["image_id"],
        "image_filename": question.extra["image_filename"],
        "question": question.text,
        "model_answer": answer,
        "ground_truth": gold,
        "is_correct": record.parts.get("simple", 0.0) >= 1.0 if known else None,
        "vqa_accuracy": record.parts.get("enhanced", 0.0) if known else None,
        "inference_time": record.latency_s if record.status in ANSWERED else None,
        "debug_info": {
            "model_answer_lower": debug.model_answer_lower,
            "gt_answer_lower": debug.gt_answer_lower if known else None,
            "is_yes_no_question": debug.is_yes_no_question if known else None,
        },
        "status": record.status,
        **({"error": record.error.message} if record.error else {}),
        **({"model_output": record.output} if record.output != answer else {}),
        "answers": list(question.references),
        "scores": record.parts,
        "groups": record.groups,
        "rule": record.rule,
        "source": record.source,
        "finish_reason": record.finish_reason,
        **({"reasoning": record.reasoning} if record.reasoning else {}),
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "images": record.images,
    }


def _said(record: Record) -> str | None:
    if record.answer is None or record.output is None:
        return record.output
    completion = Completion(text=record.output, reasoning=record.reasoning, finish_reason=record.finish_reason)
    return reply_from(completion).visible
