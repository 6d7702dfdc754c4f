"""How good a run's explanations are: both scopes, e-ViL's scores, and the same as COCO captions for outside scorers."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vqa_client.files import write_json
from vqa_client.reports.coco_captions import Captioned, write_captions
from vqa_client.reports.run import Run
from vqa_client.reports.summary import Summary
from vqa_client.scoring.explanation.corpus import ALL, ExplanationScores, Scope, score_explanations
from vqa_client.scoring.explanation.evil import Evil, evil
from vqa_client.scoring.explanation.tools import tools_named_in
from vqa_client.types import Question, Record

TASK_SCORES = {"vqax": "soft_vqa"}
"""The part of a score that is e-ViL's S_T; of the other benchmarks it is the accuracy itself."""


class Judged(Struct, frozen=True, kw_only=True):
    """Every explanation of a complete run against its references; e-ViL counts half-right answers as right too."""

    scores: ExplanationScores
    evil: Evil


class ExplainSummary(Summary, frozen=True, kw_only=True):
    """A summary with the explanations' scores, which only a complete run has."""

    explanations: Judged | None = None


def judge_explanations(pairs: Iterable[tuple[Question, Record]], benchmark: str) -> Judged:
    """Score what every question was explained by; a question without an explanation counts as an empty one.

    METEOR, SPICE and BERTScore are computed where the environment names their programs and weights.
    """
    said: dict[str, str] = {}
    references: dict[str, tuple[str, ...]] = {}
    right: set[str] = set()
    task_scores: dict[str, float] = {}
    for question, record in pairs:
        references[question.id] = question.rationales
        said[question.id] = record.rationale or ""
        task_scores[question.id] = record.parts.get(TASK_SCORES.get(benchmark, ""), record.score)
        if record.score >= 1:
            right.add(question.id)
    tools = tools_named_in(os.environ)
    scores = score_explanations(said, references, right=right, metrics=ALL, tools=tools)
    partly = {question_id for question_id, score in task_scores.items() if score > 0}
    of_evil = (
        scores if partly == right else score_explanations(said, references, right=partly, metrics=ALL, tools=tools)
    )
    mean = sum(task_scores.values()) / len(task_scores) if task_scores else None
    return Judged(scores=scores, evil=evil(of_evil, task_score=mean))


def write_scores(path: Path, run: Run, judged: Judged) -> None:
    """Write the scores as JSON; raises UsageError where the path can't be written."""
    scores = judged.scores
    write_json(
        path,
        {
            "model": run.model,
            "config": run.config,
            "data_path": run.data_path,
            "scoring": dict(run.scoring),
            "tokens": scores.tokens,
            "n_without_references": scores.n_without_references,
            "unfiltered": _scope(scores.unfiltered),
            "filtered": _scope(scores.filtered) if scores.filtered else None,
            "evil": msgspec.to_builtins(judged.evil),
        },
    )


def export_captions(stem: Path, pairs: Iterable[tuple[Question, Record]]) -> list[Path]:
    """Write references and predictions as COCO captions; give the paths."""
    return write_captions(
        stem,
        [
            Captioned(
                id=question.id,
                answer=record.answer or "",
                explanation=record.rationale or "",
                right_answer=question.extra.get("gold_text", question.extra["gold"]),
                references=question.rationales,
            )
            for question, record in pairs
        ],
    )


def _scope(scope: Scope) -> dict[str, Any]:
    metrics = {
        name: {"value": metric.value, "n": metric.n} | ({"reason": metric.reason} if metric.reason else {})
        for name, metric in scope.metrics.items()
    }
    return {"n": scope.n, "n_empty": scope.n_empty, "metrics": metrics}
