"""Questions of VQA 2.0 and records of replies to them, as a run leaves them."""

from typing import Any

from tests.tasks.declared import task_of
from vqa_client.reports.run import Run
from vqa_client.runner import judge
from vqa_client.scoring.vqa_accuracy import HumanAnswer
from vqa_client.tasks.vqa2.data import kind_of
from vqa_client.tasks.vqa2.report import Setup
from vqa_client.types import Completion, Failure, Question, Record, SentImage

SETUP = Setup(mode="coco", num_questions=20, seed=42, annotations_path="a.json")
Pair = tuple[Question, Record]


def run_of(**changes: Any) -> Run:
    fields: dict[str, Any] = {
        "folder": "moondream2",
        "model": "org/moondream2",
        "config": "moondream2",
        "data_path": "q.json",
        "images_dir": "images",
        "expected": 3,
        "scoring": {"version": "1"},
        "model_settings": {"max_tokens": 100, "temperature": 0.0},
        "started": "2026-11-28T02:50:00+00:00",
        "sessions": [{"wall_s": 2.5}, {"wall_s": 1.5}],
        "server": {"base_url": "http://localhost:8000/v1", "memory_bytes": 5_000},
    }
    return Run(**(fields | changes))


def asked(number: int, text: str, *answers: str, question_type: str = "what color is the") -> Question:
    gold = answers[0] if answers else None
    return Question(
        id=str(number),
        text=text,
        images=(f"/images/COCO_val2014_{number // 1000:012d}.jpg",),
        references=answers,
        groups={"kind": kind_of(text, gold), "answer_type": "other", "question_type": question_type},
        cluster=str(number // 1000),
        extra={
            "question_id": number,
            "image_id": number // 1000,
            "image_filename": f"COCO_val2014_{number // 1000:012d}.jpg",
            "multiple_choice_answer": gold,
            "answers": tuple(HumanAnswer(answer=answer, answer_id=at) for at, answer in enumerate(answers)),
        },
    )


def replied(question: Question, text: str, latency_s: float = 0.5, **changes: Any) -> Pair:
    answer, score = judge(Completion(text=text, finish_reason="stop"), question, task_of("vqa2"))
    fields: dict[str, Any] = {
        "question_id": question.id,
        "status": answer.status,
        "output": text,
        "answer": answer.text,
        "rule": answer.rule,
        "references": question.references,
        "score": score.value,
        "parts": score.parts,
        "groups": question.groups,
        "cluster": question.cluster,
        "images": (SentImage(name=question.extra["image_filename"], sha256="ab" * 32, size_bytes=1_000),),
        "finish_reason": "stop",
        "prompt_tokens": 100,
        "completion_tokens": 4,
        "latency_s": latency_s,
    }
    return question, Record(**(fields | changes))


def lost(question: Question, status: str = "timeout") -> Pair:
    failure = Failure(message="no reply within 60 s")
    record = Record(
        question_id=question.id,
        status=status,  # type: ignore[arg-type]
        references=question.references,
        groups=question.groups,
        cluster=question.cluster,
        error=failure,
    )
    return question, record


DAY = asked(1_000, "Is it day?", *["yes"] * 10, question_type="is it")
BOAT = asked(2_000, "What color is the boat?", *["red"] * 10)
GULLS = asked(2_001, "How many gulls are there?", *["3"] * 10, question_type="how many")
THREE = [replied(DAY, "Yes, it is.", 1.0), replied(BOAT, "Red", 3.0), lost(GULLS)]
