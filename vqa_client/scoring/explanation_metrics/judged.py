"""What a set of explanations is worth: the metrics in every scope and e-ViL's scores, of a run or of files alike."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct

from vqa_client.scoring.explanation_metrics.child import Tools
from vqa_client.scoring.explanation_metrics.corpus import ALL, ExplanationScores, Scope, score_explanations
from vqa_client.scoring.explanation_metrics.evil import Evil, evil

SOFT: Final = "soft_vqa"
"""The part of a score that is e-ViL's task score where there is one; elsewhere it is the accuracy itself."""


class Explanation(Struct, frozen=True, kw_only=True):
    """How one question was explained, "" for not at all, and how people explained it.

    `right` and `task_score`, which is 0 to 1, are None where the right answer isn't known.
    """

    id: str
    text: str
    references: tuple[str, ...]
    right: bool | None = None
    task_score: float | None = None


class Judged(Struct, frozen=True, kw_only=True):
    """Every explanation against its references."""

    scores: ExplanationScores
    evil: Evil


def judge(explanations: Iterable[Explanation], tools: Tools) -> Judged:
    """Score every explanation by all metrics; one whose program or model `tools` doesn't name is null with a reason.

    e-ViL counts an answer as right that is right or has a task score above 0. Of several explanations with one id the
    last counts.
    """
    by_id = {explanation.id: explanation for explanation in explanations}
    known = [one for one in by_id.values() if one.right is not None]
    scores = score_explanations(
        {one.id: one.text for one in by_id.values()},
        {one.id: one.references for one in by_id.values()},
        right={one.id for one in known if one.right} if known else None,
        half_right={one.id for one in known if one.right or one.task_score} if known else None,
        metrics=ALL,
        tools=tools,
    )
    task_scores = [one.task_score for one in by_id.values() if one.task_score is not None]
    mean = sum(task_scores) / len(task_scores) if task_scores else None
    return Judged(scores=scores, evil=evil(scores, task_score=mean))


def described(judged: Judged) -> dict[str, Any]:
    """The scores as JSON has them, without those of single questions."""
    scores = judged.scores
    return {
        "tokens": scores.tokens,
        "n_without_references": scores.n_without_references,
        "unfiltered": _scope(scores.unfiltered),
        "filtered": _scope(scores.filtered) if scores.filtered else None,
        "half_right": _scope(scores.half_right) if scores.half_right else None,
        "evil": msgspec.to_builtins(judged.evil),
    }


def _scope(scope: Scope) -> dict[str, Any]:
    metrics = {
        name: {"value": metric.value, "n": metric.n} | ({"reason": metric.reason} if metric.reason else {})
        for name, metric in scope.metrics.items()
    }
    return {"n": scope.n, "n_empty": scope.n_empty, "metrics": metrics}
