"""Score answers in a file against VQA annotations, and write the official evaluator's files.

Annotations are VQA's annotation or question file, an object of records by id as explanation sets have it, a JSON list
or JSONL.
"""

import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from vqa_client.answers.columns import AnswersSummary, ScoredQuestions, summarise, write_evaluation, write_leaderboard
from vqa_client.answers.predictions import (
    EXPLANATIONS_HINT,
    Prediction,
    Predictions,
    count_and_first,
    no_common_question,
    note_file_faults,
    note_ids,
    note_repeats,
    note_statuses,
    read_predictions,
    records_of,
    stem_of,
)
from vqa_client.answers.rows import Id, decode_json, first_character, json_rows, json_text, key_of, lines
from vqa_client.errors import UNDECODABLE, DataError
from vqa_client.files import write_json
from vqa_client.not_json import fault
from vqa_client.reports.names import count
from vqa_client.scoring import vqa2
from vqa_client.scoring.reply import reply_from
from vqa_client.scoring.vqa_accuracy import (
    FEWEST_FOR_FULL_MARKS,
    LONG_WORDS,
    MODES,
    Answers,
    HumanAnswer,
    Mode,
    contains_answer,
    majority,
    question_accuracy,
    texts,
    texts_if_distinct,
)
from vqa_client.settings.score import ScoreSettings
from vqa_client.types import ANSWERED, Question

_FORM_HINT = 'expected {"annotations": [{"question_id", "answers": [{"answer", "answer_id"}], ...}]} or a record by id'

_LABELLED = ("train", "val")
"""The beginnings of names of splits whose answers are published."""


class Annotation(Struct, frozen=True, kw_only=True, gc=False):
    """The annotation of one question; `answers` are decoded only when needed, so that 200,000 questions stay small."""

    question_id: Id = ""
    image_id: Id | None = None
    question_type: str | None = None
    answer_type: str | None = None
    multiple_choice_answer: str | None = None
    answers: msgspec.Raw | UnsetType = UNSET


class Annotations(Struct, frozen=True, kw_only=True):
    """The questions of one file by id as text; of several with one id the last counts, as in VQA's own loader.

    `unlabelled`: it is the question file of a split without public answers.
    """

    path: str
    by_id: dict[str, Annotation]
    repeated: dict[str, int]
    id_kinds: set[type[Id]]
    unlabelled: bool = False

    def answers(self, annotation: Annotation) -> list[HumanAnswer | str]:
        """The answers to one question, if any; raises DataError with the question if they are malformed."""
        if isinstance(annotation.answers, UnsetType):
            return []
        try:
            decoded_answers = _answers.decode(annotation.answers)
        except UNDECODABLE as error:
            raise DataError(f"{self.path}: question {annotation.question_id!r}, answers: {error}") from None
        return [decoded_answers] if isinstance(decoded_answers, str) else decoded_answers


class _File(Struct, frozen=True):
    annotations: list[Annotation] | UnsetType = UNSET
    questions: list[Annotation] | UnsetType = UNSET
    data_subtype: str | None = None


_answers = msgspec.json.Decoder(list[HumanAnswer | str] | str)


def read_annotations(path: str | os.PathLike[str]) -> Annotations:
    """Read a file of any of these forms; raises DataError for a malformed one."""
    name = os.fspath(path)
    text = json_text(name)
    if first_character(text) == b"[":
        return _collect(name, decode_json(name, text, list[Annotation]))
    try:
        file = msgspec.json.decode(text, type=_File)
    except UNDECODABLE as error:
        if not _begins_with_row(name):
            raise DataError(f"{name}: {fault(error, text)}", hint=_FORM_HINT) from None
        return _collect(name, [row for _, row in json_rows(name, Annotation, [])])
    if not isinstance(file.annotations, UnsetType):
        return _collect(name, file.annotations)
    if not isinstance(file.questions, UnsetType):
        labelled = (file.data_subtype or "").startswith(_LABELLED)
        return replace(_collect(name, file.questions), unlabelled=not labelled)
    by_id = decode_json(name, text, dict[str, Annotation])
    rows = [replace(row, question_id=key) if row.question_id == "" else row for key, row in by_id.items()]
    annotations = _collect(name, rows)
    return replace(annotations, id_kinds=annotations.id_kinds - {str})  # keys of a JSON object can't be numbers


def _begins_with_row(name: str) -> bool:
    """Whether a file has one object per line, and isn't one broken object."""
    try:
        msgspec.json.decode(next((line for _, line in lines(name)), b""), type=Annotation)
    except UNDECODABLE:
        return False
    return True


def _collect(name: str, rows: list[Annotation]) -> Annotations:
    if not rows:
        raise DataError(f"{name} contains no question", hint=_FORM_HINT)
    for number, row in enumerate(rows, 1):
        if row.question_id == "":
            raise DataError(f"{name}, item {number} has no question_id", hint=_FORM_HINT)
    counts = Counter(key_of(row.question_id) for row in rows)
    return Annotations(
        path=name,
        by_id={key_of(row.question_id): row for row in rows},
        repeated={key: number for key, number in counts.items() if number > 1},
        id_kinds={type(row.question_id) for row in rows},
    )


AnswerMetric = Callable[[str, Answers, str], float]


def _in_mode(mode: Mode) -> AnswerMetric:
    return lambda prediction, answers, gold: question_accuracy(prediction, answers, mode)


def _against_gold(score: Callable[[str, str], float]) -> AnswerMetric:
    return lambda prediction, answers, gold: float(score(gold, prediction))


METRICS: Final[dict[str, AnswerMetric]] = {
    **{mode: _in_mode(mode) for mode in MODES},
    "simple": _against_gold(vqa2.simple_correct),
    "simple-words": _against_gold(vqa2.simple_correct_by_words),
    "enhanced": _against_gold(vqa2.enhanced_score),
    "enhanced-words": _against_gold(vqa2.enhanced_score_by_words),
    "contains": lambda prediction, answers, gold: float(contains_answer(prediction, answers)),
}
OF_THE_ANSWER: Final = frozenset({"normalised", "contains"})
"""Metrics of a record's answer; published scores are of the model's whole reply."""
AGAINST_GOLD: Final = frozenset({"simple", "simple-words", "enhanced", "enhanced-words"})
"""Metrics that compare with the annotation's `multiple_choice_answer`, or the majority's answer if it has none."""
_USUAL: Final = 10
_WHOLE_REPLY: Final = "whole_reply"
"""The rule of a record whose answer is the whole reply without its wrapper."""
_NON_STANDARD: Final = "a non-standard ladder of partial credit, for comparison with published numbers only"
_REMARKS: Final = {
    "contains": "an annotator's answer is in the prediction as whole words; a diagnostic, not an accuracy",
    "simple": "the gold answer is a part of the prediction, inside words too",
    "enhanced": _NON_STANDARD,
    "enhanced-words": _NON_STANDARD,
}
"""Notes on metrics that are not VQA accuracy."""


class ScoreReport(Struct, frozen=True, kw_only=True):
    """All results of a scoring, accuracies in [0, 1], and the files that were written."""

    predictions: str
    annotations: str
    metrics: tuple[str, ...]
    counts: dict[str, Any]
    summary: AnswersSummary
    notes: list[str]
    files: list[str]


def score_files(settings: ScoreSettings) -> ScoreReport:
    """Score a file of predictions; writes nothing without an output folder.

    With the question file of a test split every accuracy is None. Raises DataError if no id is in both files, or if
    other annotations have no answer to any prediction.
    """
    predictions = read_predictions(settings.predictions, settings.variant)
    annotations = read_annotations(settings.annotations)
    predicted, known = predictions.by_id, annotations.by_id
    if predicted.keys().isdisjoint(known):
        raise no_common_question(predictions, next(iter(known)), str(settings.annotations))
    columns = ScoredQuestions(
        values={name: array("d") for name in settings.metrics},
        without_annotation=[key for key in predicted if key not in known],
        without_prediction=[key for key in known if key not in predicted],
    )
    questions = _questions(predictions, annotations, columns, gold=not AGAINST_GOLD.isdisjoint(settings.metrics))
    for question, record in records_of(questions, predictions, partial(_scores, settings.metrics)):
        columns.add(question, record)
    if not columns.question_ids and not annotations.unlabelled:
        raise _unanswered(predictions, annotations, len(columns.without_answers))
    files = _write(settings, predictions, columns) if settings.output else []
    report = ScoreReport(
        predictions=predictions.path,
        annotations=annotations.path,
        metrics=settings.metrics,
        counts=_counts(predictions, annotations, columns),
        summary=summarise(columns),
        notes=list(_notes(predictions, annotations, columns)),
        files=files,
    )
    if files:
        write_json(files[-1], report)
    return report


def _questions(
    predictions: Predictions, annotations: Annotations, columns: ScoredQuestions, *, gold: bool
) -> Iterator[Question]:
    """The annotated questions in the order of the predictions; those without answers go to `columns`."""
    for key, prediction in predictions.by_id.items():
        annotation = annotations.by_id.get(key)
        if annotation is None:
            continue
        answers, image = annotations.answers(annotation), annotation.image_id
        if not answers:
            columns.without_answers.append(key)
            continue
        yield Question(
            id=key,
            text="",
            references=tuple(texts(answers)),
            cluster=f"image {image}" if image is not None else prediction.cluster or f"question {key}",
            row=annotation,
            extra={
                "annotators": [answer.answer_id for answer in answers if isinstance(answer, HumanAnswer)],
                "compared": texts_if_distinct(answers),
                "gold": annotation.multiple_choice_answer or (majority(answers) if gold else ""),
            },
        )


def _scores(metrics: tuple[str, ...], predicted: Prediction, question: Question) -> dict[str, float]:
    """The scores by metric; without an answer there are none, and a blank answer is compared like others."""
    if predicted.text is None:
        return {}
    whole = predicted.text
    if predicted.reply and predicted.status == "ok" and predicted.rule == _WHOLE_REPLY:
        whole = reply_from(predicted.reply).visible
    compared, gold = question.extra["compared"], question.extra["gold"]
    return {name: METRICS[name](predicted.text if name in OF_THE_ANSWER else whole, compared, gold) for name in metrics}


def _write(settings: ScoreSettings, predictions: Predictions, columns: ScoredQuestions) -> list[str]:
    """Write the evaluator's files; the last of the returned paths is for the report."""
    assert settings.output
    stem = stem_of(predictions.path)
    written = [write_leaderboard(settings.output, stem, predictions)]
    if columns.question_ids:
        for metric in columns.values:
            written += write_evaluation(settings.output, stem, columns, metric) if metric in MODES else []
    return [str(path) for path in (*written, settings.output / f"{stem}_score.json")]


def _counts(predictions: Predictions, annotations: Annotations, columns: ScoredQuestions) -> dict[str, Any]:
    """The numbers of questions in the files and of those that were scored."""
    statuses = Counter(prediction.status for prediction in predictions.by_id.values())
    known = len(columns.question_ids) + len(columns.without_answers)
    return {
        "n_questions": known + len(columns.without_annotation) + len(columns.without_prediction),
        "n_predictions": len(predictions.by_id),
        "n_annotations": known + len(columns.without_prediction),
        "n_scored": len(columns.question_ids),
        "n_without_annotation": len(columns.without_annotation),
        "n_without_prediction": len(columns.without_prediction),
        "n_without_answers": len(columns.without_answers),
        "n_without_image": statuses["bad_image"],
        "n_failed": sum(number for status, number in statuses.items() if status not in ANSWERED),
        "n_repeated_predictions": len(predictions.repeated),
        "n_repeated_annotations": len(annotations.repeated),
        "n_without_answer_id": columns.without_answer_id,
        "answers_per_question": dict(sorted(columns.answer_counts.items())),
        "status_counts": dict(statuses.most_common()),
    }


def _unanswered(predictions: Predictions, annotations: Annotations, number: int) -> DataError:
    return DataError(
        f"{annotations.path} has no answers, so {count(number, 'prediction')} can't be scored",
        hint=EXPLANATIONS_HINT.format(predictions.path)
        if predictions.explained
        else 'annotations have "answers": [{"answer", "answer_id"}]; for a test split give its question file',
    )


def _notes(predictions: Predictions, annotations: Annotations, columns: ScoredQuestions) -> Iterator[str]:
    """One sentence per problem; none if both files are complete."""
    yield from note_ids(columns.without_annotation, columns.without_prediction, "annotation", "annotated question")
    if columns.without_answers:
        yield f"{count_and_first(columns.without_answers, 'question')} without any answer to compare with, not scored"
    yield from note_repeats(predictions.repeated, len(predictions.differing))
    if annotations.repeated:
        yield f"{count_and_first(annotations.repeated, 'question')} with several annotations: the last one counts"
    if len(predictions.id_kinds | annotations.id_kinds) > 1:
        yield 'ids are numbers in one place and text in another: 42 and "42" are taken for one question'
    yield from _on_answers(columns)
    blank = "right only where annotators left theirs blank"
    yield from note_statuses(columns.statuses, lambda status: blank if status == "empty" else "scored 0")
    if predictions.explained:
        yield f"only answers are scored here; {EXPLANATIONS_HINT.format(predictions.path)} for these"
    yield from note_file_faults(predictions)
    if columns.sentences:
        long = count(columns.sentences, "prediction")
        yield f"{long} of more than {LONG_WORDS} words, where VQA accuracy wants a short answer"
    yield from (f"{name}: {_REMARKS[name]}" for name in columns.values if name in _REMARKS and columns.question_ids)


def _on_answers(columns: ScoredQuestions) -> Iterator[str]:
    counts = columns.answer_counts
    single = counts[1]
    few = sum(n for size, n in counts.items() if 1 < size < FEWEST_FOR_FULL_MARKS)
    fewer = sum(n for size, n in counts.items() if size < _USUAL)
    more = sum(n for size, n in counts.items() if size > _USUAL)
    if single:
        yield f"{count(single, 'question')} with a single answer: VQA accuracy is 0 whatever the prediction"
    if few:
        yield f"{count(few, 'question')} with two or three answers, where VQA accuracy can't reach 100 %"
    if fewer or more:
        yield f"{count(fewer, 'question')} with fewer than ten answers, {more:,} with more"
    if columns.without_answer_id:
        yield (
            f"{count(columns.without_answer_id, 'question')} with answers without answer_id: by the official modes "
            "equal answers then leave each other out, and ten equal ones score 0, as in VQA's own evaluator"
        )
    if columns.with_blank_answers:
        yield f"{count(columns.with_blank_answers, 'question')} with some blank answers, which count as answers"
