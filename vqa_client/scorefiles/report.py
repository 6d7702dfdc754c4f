"""One call: read both files, match, score, sum up and write."""

from collections import Counter
from pathlib import Path

from msgspec import Struct

from vqa_client.errors import DataError
from vqa_client.files import write_json
from vqa_client.reports.names import count
from vqa_client.scorefiles.annotations import Annotations, read_annotations
from vqa_client.scorefiles.notes import notes
from vqa_client.scorefiles.official_files import stem_of, write_evaluation, write_leaderboard
from vqa_client.scorefiles.predictions import EXPLANATIONS_HINT, Predictions, read_predictions, strangers
from vqa_client.scorefiles.scored import Scored, Summary, score_all, summarise
from vqa_client.scoring.vqa_accuracy import MODES
from vqa_client.settings.score import ScoreSettings
from vqa_client.types import ANSWERED, Status


class Counts(Struct, frozen=True, kw_only=True):
    """The denominators: questions of either file, and how many of them could be scored."""

    n_questions: int
    n_predictions: int
    n_annotations: int
    n_scored: int
    n_without_annotation: int
    n_without_prediction: int
    n_without_answers: int
    n_without_image: int
    n_failed: int
    n_repeated_predictions: int
    n_repeated_annotations: int
    n_without_answer_id: int
    answers_per_question: dict[int, int]
    status_counts: dict[Status, int]


class ScoreReport(Struct, frozen=True, kw_only=True):
    """All numbers of a scoring, accuracies in [0, 1], and the files that hold them."""

    predictions: str
    annotations: str
    metrics: tuple[str, ...]
    counts: Counts
    summary: Summary
    notes: list[str]
    files: list[str]


def score_files(settings: ScoreSettings) -> ScoreReport:
    """Score a file of predictions; writes nothing without an output folder.

    The question file of a test split leaves every accuracy None. Raises DataError where no id is in both files, and
    where other annotations have no answer to any of them.
    """
    predictions = read_predictions(settings.predictions, settings.variant)
    annotations = read_annotations(settings.annotations)
    if predictions.by_id.keys().isdisjoint(annotations.by_id):
        raise strangers(predictions, next(iter(annotations.by_id)), str(settings.annotations))
    scored = score_all(predictions, annotations, settings.metrics)
    if not scored.question_ids and not annotations.unlabelled:
        raise _unanswered(predictions, annotations, len(scored.without_answers))
    files = _write(settings.output, predictions, scored) if settings.output else []
    report = ScoreReport(
        predictions=predictions.path,
        annotations=annotations.path,
        metrics=settings.metrics,
        counts=_counts(predictions, scored, len(annotations.repeated)),
        summary=summarise(scored),
        notes=notes(predictions, annotations, scored),
        files=[str(path) for path in files],
    )
    if settings.output:
        write_json(settings.output / f"{stem_of(predictions.path)}_score.json", report)
    return report


def _write(folder: Path, predictions: Predictions, scored: Scored) -> list[Path]:
    stem = stem_of(predictions.path)
    written = [write_leaderboard(folder, stem, predictions)]
    if scored.question_ids:
        for metric in scored.values:
            written += write_evaluation(folder, stem, scored, metric) if metric in MODES else []
    return [*written, folder / f"{stem}_score.json"]


def _counts(predictions: Predictions, scored: Scored, repeated_annotations: int) -> Counts:
    statuses = Counter(prediction.status for prediction in predictions.by_id.values())
    known = len(scored.question_ids) + len(scored.without_answers)
    return Counts(
        n_questions=known + len(scored.without_annotation) + len(scored.without_prediction),
        n_predictions=len(predictions.by_id),
        n_annotations=known + len(scored.without_prediction),
        n_scored=len(scored.question_ids),
        n_without_annotation=len(scored.without_annotation),
        n_without_prediction=len(scored.without_prediction),
        n_without_answers=len(scored.without_answers),
        n_without_image=statuses["bad_image"],
        n_failed=sum(number for status, number in statuses.items() if status not in ANSWERED),
        n_repeated_predictions=len(predictions.repeated),
        n_repeated_annotations=repeated_annotations,
        n_without_answer_id=scored.without_answer_id,
        answers_per_question=dict(sorted(scored.answer_counts.items())),
        status_counts=dict(statuses.most_common()),
    )


def _unanswered(predictions: Predictions, annotations: Annotations, number: int) -> DataError:
    return DataError(
        f"{annotations.path} has no answer to compare {count(number, 'prediction')} with",
        hint=EXPLANATIONS_HINT.format(predictions.path)
        if predictions.explained
        else 'annotations have "answers": [{"answer", "answer_id"}]; for a test split give its question file',
    )
