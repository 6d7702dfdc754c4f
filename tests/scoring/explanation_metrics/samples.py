"""Explanations of our own, and their preparation for a metric."""

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from vqa_client.scoring.explanation_metrics.coco import Explained
from vqa_client.scoring.explanation_metrics.evil import METRICS, Explanation, ExplanationScores, Scope, judge
from vqa_client.scoring.explanation_metrics.outside import Tools

CORE = ("bleu", "rouge_l", "cider")
"""The metrics that need only this package."""

PREDICTIONS = {
    "1": "the street is wet and people hold umbrellas",
    "2": "there is snow on the roof",
    "3": "he wears a helmet and rides a bike",
    "4": "the plate is empty",
}
REFERENCES = {
    "1": ["people hold umbrellas", "the street is wet", "it is grey and the street is wet"],
    "2": ["snow lies on the roof", "the ground is white"],
    "3": ["he rides a bike on a road", "he has a helmet"],
    "4": ["nothing is on the plate", "the plate has no food on it"],
}


def explained(text: str, *references: str) -> Explained:
    return Explained(
        text=text,
        tokens=text.split(),
        references=references,
        reference_tokens=[reference.split() for reference in references],
    )


def everything(questions: Sequence[Explained]) -> list[list[int]]:
    return [list(range(len(questions)))]


def score_explanations(
    said: Mapping[str, str],
    references: Mapping[str, Sequence[str]],
    *,
    right: Collection[str] | None = None,
    metrics: Collection[str] = CORE,
    tools: Tools = Tools(),  # noqa: B008  it is frozen
) -> ExplanationScores:
    explanations = [
        Explanation(id=id, text=said.get(id, ""), references=tuple(texts), right=None if right is None else id in right)
        for id, texts in references.items()
    ]
    scores = judge(explanations, tools).scores
    names = {name for metric in metrics for name in METRICS[metric][0]}

    def chosen(scope: Scope) -> Scope:
        return replace(scope, metrics={name: value for name, value in scope.metrics.items() if name in names})

    filtered = chosen(scores.filtered) if scores.filtered else None
    return replace(scores, unfiltered=chosen(scores.unfiltered), filtered=filtered)
