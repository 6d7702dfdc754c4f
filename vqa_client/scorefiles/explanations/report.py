"""One call: read both files, match, score and write."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from math import fsum
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from vqa_client.benchmark import Metric
from vqa_client.errors import DataError
from vqa_client.files import write_json
from vqa_client.reports.names import count
from vqa_client.scorefiles.explanations.matched import Matched, match
from vqa_client.scorefiles.explanations.predictions import Form, Predictions, Said, read_predictions
from vqa_client.scorefiles.explanations.references import References, Source, read_references, source_of
from vqa_client.scorefiles.notes import named, of_file, of_ids, of_repeated, of_statuses
from vqa_client.scorefiles.official_files import stem_of
from vqa_client.scorefiles.scored import mean_of
from vqa_client.scoring.averages import Mean
from vqa_client.scoring.explained_answer.normalise import same
from vqa_client.scoring.explanation_metrics.corpus import ExplanationScores
from vqa_client.scoring.explanation_metrics.judged import SOFT, Explanation, Judged, described, judge
from vqa_client.scoring.explanation_metrics.tools import Tools, tools_named_in
from vqa_client.settings.score_explanations import ScoreExplanationsSettings
from vqa_client.tasks.explain import dataset_of
from vqa_client.tasks.explain.coco_captions import captioned, write_captions
from vqa_client.types import ANSWERED, Question, Status

ACCURACY = "accuracy"
"""The share of answers equal to the right one, or to the majority's, both normalised."""
_FORMS: Final[dict[Form, str]] = {
    "full": 'the captions are taken for "answer because explanation"',
    "exp": "the captions are taken for explanations without answers",
}


class Accuracy(Struct, frozen=True, kw_only=True):
    """A mean over the questions that have a prediction, and one over all, where a missing one counts as 0."""

    mean: Mean
    if_missing_were_wrong: float


class _Scored(Struct, frozen=True, kw_only=True):
    """The accuracies by name, none where the answers aren't known, and what the explanations are worth."""

    accuracies: dict[str, Accuracy]
    explanations: Judged


class Counts(Struct, frozen=True, kw_only=True):
    """The denominators: what either file holds, and how many questions could be scored."""

    n_predictions: int
    n_references: int
    n_scored: int
    n_without_reference: int
    n_without_prediction: int
    n_repeated_predictions: int
    n_unusable_references: int
    n_failed: int
    status_counts: dict[Status, int]


class ExplanationReport(Struct, frozen=True, kw_only=True):
    """All numbers of a scoring, accuracies in [0, 1], and the files that hold them."""

    predictions: str
    references: str
    task: str | None
    counts: Counts
    accuracies: dict[str, Accuracy]
    explanations: Judged
    notes: list[str]
    files: list[str]

    def as_json(self) -> dict[str, Any]:
        """The report as machines read it, without the scores of single questions."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__ if name != "explanations"}
        built: dict[str, Any] = msgspec.to_builtins(fields)
        return built | {"explanations": described(self.explanations)}


def score_explanation_files(settings: ScoreExplanationsSettings) -> ExplanationReport:
    """Score a file of explanations; writes nothing without an output folder.

    METEOR, SPICE and BERTScore are computed where the environment names their programs and weights. Raises DataError
    where no question is in both files, UsageError where nothing says what to compare with.
    """
    predictions = read_predictions(settings.predictions, settings.captions)
    source = source_of(settings)
    references = read_references(source)
    matched = match(predictions, references)
    if not matched.pairs:
        raise _strangers(matched, predictions, references)
    scored = _score_all(
        matched,
        task=source.task if references.captions is None else None,
        vcr_mode=source.vcr_mode,
        answers_known=predictions.has_answers and references.has_answers,
        tools=tools_named_in(os.environ),
    )
    report = _report(source, predictions, references, matched, scored)
    return _written(settings, report, matched) if settings.output else report


def _report(
    source: Source, predictions: Predictions, references: References, matched: Matched, scored: _Scored
) -> ExplanationReport:
    said = _notes(predictions, references, matched, scored.explanations.scores)
    return ExplanationReport(
        predictions=predictions.path,
        references=references.path,
        task=source.task,
        counts=_counts(predictions, references, matched),
        accuracies=scored.accuracies,
        explanations=scored.explanations,
        notes=[*filter(None, [source.note]), *said],
        files=[],
    )


def _counts(predictions: Predictions, references: References, matched: Matched) -> Counts:
    statuses = Counter(said.status for _, said in matched.pairs)
    return Counts(
        n_predictions=len(predictions.rows),
        n_references=len(references.by_id),
        n_scored=len(matched.pairs),
        n_without_reference=len(matched.strangers),
        n_without_prediction=len(matched.missing),
        n_repeated_predictions=len(matched.repeated),
        n_unusable_references=sum(map(len, references.unusable.values())),
        n_failed=sum(number for status, number in statuses.items() if status not in ANSWERED),
        status_counts=dict(statuses.most_common()),
    )


def _written(settings: ScoreExplanationsSettings, report: ExplanationReport, matched: Matched) -> ExplanationReport:
    assert settings.output is not None
    stem = settings.output / stem_of(report.predictions)
    files: list[Path] = []
    if settings.coco_captions:
        pairs = [captioned(question, said.answer, said.explanation) for question, said in matched.pairs]
        files += write_captions(stem, pairs, answers_known=bool(report.accuracies))
    files.append(Path(f"{stem}_explanation_scores.json"))
    whole = msgspec.structs.replace(report, files=[str(path) for path in files])
    write_json(files[-1], whole.as_json())
    return whole


def _strangers(matched: Matched, predictions: Predictions, references: References) -> DataError:
    first, known = matched.strangers[0], next(iter(references.by_id))
    return DataError(
        f"no question of {predictions.path} is in {references.path}: the first ones are {first!r} and {known!r}",
        hint="are they of the same task and split?",
    )


def _score_all(matched: Matched, *, task: str | None, vcr_mode: str, answers_known: bool, tools: Tools) -> _Scored:
    """Score what both sides have; questions without a reply count as wrong and as without an explanation."""
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
    return _Scored(
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


def _notes(
    predictions: Predictions, references: References, matched: Matched, scores: ExplanationScores
) -> Iterator[str]:
    """One sentence for each thing; none where both files are whole."""
    for form, path in ((predictions.captions, predictions.path), (references.captions, references.path)):
        if form:
            yield f"{path}: {_FORMS[form]}"
    yield from of_ids(matched.strangers, matched.missing, "reference", "question")
    for reason, ids in references.unusable.items():
        yield f"{named(ids, 'reference')} left out: {reason.replace('_', ' ')}"
    yield from of_repeated(matched.repeated, matched.differing)
    if not (predictions.has_answers and references.has_answers):
        side = references.path if not references.has_answers else predictions.path
        yield f"no accuracy, and no scope of the right ones: {side} has no answers"
    if scores.n_without_references:
        yield f"{count(scores.n_without_references, 'question')} without an explanation to compare with, not scored"
    if scores.unfiltered.n_empty:
        empty = count(scores.unfiltered.n_empty, "question")
        yield f"{empty} without a predicted explanation, scored as an empty one"
    yield from of_statuses(Counter(said.status for _, said in matched.pairs), lambda status: "counted as wrong")
    yield from of_file(predictions.path, predictions.unreadable)
