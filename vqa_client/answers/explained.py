"""Explanations in a file against those of people, and the answers where these are known, in the line of a run."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, partial
from math import fsum
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from vqa_client.answers.predictions import (
    Prediction,
    Predictions,
    Scores,
    named,
    of_file,
    of_ids,
    of_repeated,
    of_statuses,
    read_explained,
    records_of,
    stem_of,
    strangers,
)
from vqa_client.answers.references import Places, References, read_references
from vqa_client.answers.rows import Form
from vqa_client.benchmark import Metric
from vqa_client.files import write_json
from vqa_client.reports.names import count
from vqa_client.scoring.explanation_metrics.evil import Judged, described
from vqa_client.scoring.short_answers import same
from vqa_client.scoring.statistics import Mean, mean_of
from vqa_client.settings.score import ScoreExplanationsSettings
from vqa_client.tasks.explain.report import export_captions, judge_explanations
from vqa_client.types import ANSWERED, Question, Record

ACCURACY: Final = "accuracy"
"""The share of answers equal to the right one, or to the majority's, both normalised."""
_FORMS: Final[dict[Form, str]] = {
    "full": 'the captions are taken for "answer because explanation"',
    "exp": "the captions are taken for explanations without answers",
}


class Accuracy(Struct, frozen=True, kw_only=True):
    """A mean over the questions that have a prediction, and one over all, where a missing one counts as 0."""

    mean: Mean
    if_missing_were_wrong: float


class ExplanationReport(Struct, frozen=True, kw_only=True):
    """All numbers of a scoring, accuracies in [0, 1], none where the answers aren't known, and the files with them."""

    predictions: str
    references: str
    task: str | None
    counts: dict[str, Any]
    accuracies: dict[str, Accuracy]
    explanations: Judged
    notes: list[str]
    files: list[str]

    def as_json(self) -> dict[str, Any]:
        """The report as machines read it, without the scores of single questions."""
        built = {
            name: msgspec.to_builtins(getattr(self, name)) for name in self.__struct_fields__ if name != "explanations"
        }
        return built | {"explanations": described(self.explanations)}


def score_explanation_files(settings: ScoreExplanationsSettings) -> ExplanationReport:
    """Score a file of explanations; writes nothing without an output folder.

    METEOR, SPICE and BERTScore are computed where the environment names their programs and weights. Raises DataError
    where no question is in both files, UsageError where nothing says what to compare with.
    """
    references = cache(lambda: read_references(settings))
    places = cache(lambda: Places(references().by_id))
    predictions = read_explained(settings.predictions, lambda cells: places().take(cells), settings.captions)
    report, pairs = _scored(predictions, references())
    if not settings.output:
        return report
    stem = settings.output / stem_of(predictions.path)
    known = bool(report.accuracies)
    captions = export_captions(stem, pairs, answers_known=known) if settings.coco_captions else []
    path = Path(f"{stem}_explanation_scores.json")
    whole = replace(report, files=[*map(str, captions), str(path)])
    write_json(path, whole.as_json())
    return whole


def _scores(metrics: Sequence[Metric], said: Prediction, question: Question) -> dict[str, float]:
    text = said.text or "" if said.status in ANSWERED else ""
    gold = (question.extra[name] for name in ("gold", "gold_text") if name in question.extra)
    right = bool(text) and any(same(text, each) for each in gold)
    others = {metric.name: metric.score(text, question) for metric in metrics}
    return {ACCURACY: float(right)} | {name: score for name, score in others.items() if score is not None}


def _scored(
    predictions: Predictions, references: References
) -> tuple[ExplanationReport, list[tuple[Question, Record]]]:
    known = references.by_id
    if predictions.by_id.keys().isdisjoint(known):
        raise strangers(predictions, next(iter(known)), references.path)
    answers_known = predictions.has_answers and references.has_answers
    scores: Scores = partial(_scores, references.metrics) if answers_known else lambda *_: {}
    pairs = list(records_of(known.values(), predictions, scores))
    judged = judge_explanations(pairs, answers_known=answers_known)
    rows = [key for key in predictions.by_id for _ in range(predictions.repeated.get(key, 1))]
    others = [key for key in rows if key not in known]
    missing = [key for key in known if key not in predictions.by_id]
    repeated = {key: number for key, number in predictions.repeated.items() if key in known}
    statuses = Counter(record.status for _, record in pairs)
    differing = len(predictions.differing.intersection(known))
    report = ExplanationReport(
        predictions=predictions.path,
        references=references.path,
        task=references.task,
        counts={
            "n_predictions": len(rows),
            "n_references": len(known),
            "n_scored": len(pairs),
            "n_without_reference": len(others),
            "n_without_prediction": len(missing),
            "n_repeated_predictions": len(repeated),
            "n_unusable_references": sum(map(len, references.unusable.values())),
            "n_failed": sum(number for status, number in statuses.items() if status not in ANSWERED),
            "status_counts": dict(statuses.most_common()),
        },
        accuracies=_accuracies(pairs, len(missing)),
        explanations=judged,
        notes=[
            *filter(None, [references.note]),
            *_on_captions(predictions, references),
            *of_ids(others, missing, "reference", "question"),
            *(
                f"{named(ids, 'reference')} left out: {why.replace('_', ' ')}"
                for why, ids in references.unusable.items()
            ),
            *of_repeated(repeated, differing),
            *_on_explanations(judged, None if answers_known else predictions if references.has_answers else references),
            *of_statuses(statuses, lambda status: "counted as wrong"),
            *of_file(predictions),
        ],
        files=[],
    )
    return report, pairs


def _accuracies(pairs: Sequence[tuple[Question, Record]], missing: int) -> dict[str, Accuracy]:
    """Each over the questions that have this metric."""
    found = {}
    for name in dict.fromkeys(name for _, record in pairs for name in record.parts):
        held = [(question, record.parts[name]) for question, record in pairs if name in record.parts]
        scores = [score for _, score in held]
        mean = mean_of(scores, [question.cluster or question.id for question, _ in held])
        found[name] = Accuracy(mean=mean, if_missing_were_wrong=fsum(scores) / (len(scores) + missing))
    return found


def _on_captions(predictions: Predictions, references: References) -> Iterator[str]:
    for of in (predictions, references):
        if of.captions:
            yield f"{of.path}: {_FORMS[of.captions]}"


def _on_explanations(judged: Judged, lacking: Predictions | References | None) -> Iterator[str]:
    if lacking:
        yield f"{lacking.path} has no answers: accuracy and the scores of right answers alone are left out"
    scores = judged.scores
    if scores.n_without_references:
        yield f"{count(scores.n_without_references, 'question')} without an explanation to compare with, not scored"
    if scores.unfiltered.n_empty:
        empty = count(scores.unfiltered.n_empty, "question")
        yield f"{empty} without a predicted explanation, scored as an empty one"
