"""Every matched question scored: its answer by each accuracy, its explanation against those of people."""

from collections.abc import Sequence
from math import fsum
from typing import Any

from msgspec import Struct

from vqa_client.benchmark import Metric
from vqa_client.scorefiles.explanations.matched import Matched
from vqa_client.scorefiles.explanations.predictions import Said
from vqa_client.scorefiles.summary import Mean, mean_of
from vqa_client.scoring.explained_answer.normalise import same
from vqa_client.scoring.explanation_metrics.judged import SOFT, Explanation, Judged, judge
from vqa_client.scoring.explanation_metrics.tools import Tools
from vqa_client.tasks.explain import dataset_of
from vqa_client.types import ANSWERED, Question

ACCURACY = "accuracy"
"""The share of answers equal to the right one, or to the majority's, both normalised."""


class Accuracy(Struct, frozen=True, kw_only=True):
    """A mean over the questions that have a prediction, and one over all, where a missing one counts as 0."""

    mean: Mean
    if_missing_were_wrong: float


class Scored(Struct, frozen=True, kw_only=True):
    """The accuracies by name, none where the answers aren't known, and what the explanations are worth."""

    accuracies: dict[str, Accuracy]
    explanations: Judged


def score_all(matched: Matched, *, task: str | None, vcr_mode: str, answers_known: bool, tools: Tools) -> Scored:
    """Score what both sides have; a failed question counts as wrong and as without an explanation."""
    metrics = dataset_of(task, vcr_mode).metrics if task and answers_known else ()
    rows = [_by_metric(question, said, metrics) if answers_known else {} for question, said in matched.pairs]
    explanations = [
        Explanation(
            id=question.id,
            text=said.explanation if said.status in ANSWERED else "",
            references=question.rationales,
            right=row[ACCURACY] >= 1.0 if row else None,
            task_score=row.get(SOFT, row[ACCURACY]) if row else None,
        )
        for (question, said), row in zip(matched.pairs, rows, strict=True)
    ]
    clusters = [question.cluster or question.id for question, _ in matched.pairs]
    names = dict.fromkeys(name for row in rows for name in row)
    return Scored(
        accuracies={name: _accuracy([row.get(name) for row in rows], clusters, len(matched.missing)) for name in names},
        explanations=judge(explanations, tools),
    )


def _by_metric(question: Question, said: Said, metrics: Sequence[Metric]) -> dict[str, float]:
    answer = said.answer if said.status in ANSWERED else ""
    gold: Any = (question.extra[name] for name in ("gold", "gold_text") if name in question.extra)
    right = bool(answer) and any(same(answer, each) for each in gold)
    others = {metric.name: metric.score(answer, question) for metric in metrics if question.extra}
    return {ACCURACY: float(right)} | {name: score for name, score in others.items() if score is not None}


def _accuracy(values: list[float | None], clusters: list[str], missing: int) -> Accuracy:
    """Over the questions that have this metric."""
    held = [(value, cluster) for value, cluster in zip(values, clusters, strict=True) if value is not None]
    scores = [value for value, _ in held]
    return Accuracy(
        mean=mean_of(scores, [cluster for _, cluster in held]),
        if_missing_were_wrong=fsum(scores) / (len(scores) + missing),
    )
