"""Every matched question scored by every metric in columns, some bytes a question and metric, and their sums."""

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from math import fsum
from typing import Final, TypeVar

from msgspec import Struct

from vqa_client.scorefiles.annotations import Annotation, Annotations
from vqa_client.scorefiles.predictions import Prediction, Predictions
from vqa_client.scorefiles.rows import Id
from vqa_client.scoring import vqa2
from vqa_client.scoring.averages import Mean
from vqa_client.scoring.statistics import interval
from vqa_client.scoring.vqa_accuracy import (
    MODES,
    Answers,
    Gap,
    HumanAnswer,
    Mode,
    contains_answer,
    gap_between,
    is_sentence,
    majority,
    question_accuracy,
    texts,
    told_apart,
    unanimous,
)
from vqa_client.types import Status

Item = TypeVar("Item")
NORMALISED: Final = "normalised"
OFFICIAL: Final = "official"


Metric = Callable[[str, Answers, str], float]


def _in_mode(mode: Mode) -> Metric:
    return lambda prediction, answers, gold: question_accuracy(prediction, answers, mode)


def _against_gold(score: Callable[[str, str], float]) -> Metric:
    return lambda prediction, answers, gold: float(score(gold, prediction))


METRICS: Final[dict[str, Metric]] = {
    **{mode: _in_mode(mode) for mode in MODES},
    "simple": _against_gold(vqa2.simple_correct),
    "simple-words": _against_gold(vqa2.simple_correct_by_words),
    "enhanced": _against_gold(vqa2.enhanced_score),
    "enhanced-words": _against_gold(vqa2.enhanced_score_by_words),
    "contains": lambda prediction, answers, gold: float(contains_answer(prediction, answers)),
}
OF_THE_ANSWER: Final = frozenset({"normalised", "contains"})
"""These take a record's answer; published scores take all that its model said."""
AGAINST_GOLD: Final = frozenset({"simple", "simple-words", "enhanced", "enhanced-words"})
"""These compare with the annotation's `multiple_choice_answer`, or with the majority where there is none."""

_NON_STANDARD: Final = "a non-standard ladder of partial credit, for comparison with published numbers only"
REMARKS: Final = {
    "contains": "an annotator's answer is in the prediction as whole words; a diagnostic, not an accuracy",
    "simple": "the gold answer is a part of the prediction, inside words too",
    "enhanced": _NON_STANDARD,
    "enhanced-words": _NON_STANDARD,
}
"""What a reader has to know of a metric that is not VQA accuracy."""


class Scored(Struct, kw_only=True):
    """The scored questions in the order of the predictions, an item of each list for each; filled by `score_all`.

    `values` holds the scores by metric, `unanimous` whether all annotators gave one answer, `clusters` the image.
    `answer_counts` says how many questions have how many answers; `without_answer_id` and `with_blank_answers` count
    questions, `sentences` predictions that are no short answer. The last three name what could not be scored.
    """

    values: dict[str, "array[float]"]
    question_ids: list[Id] = []
    unanimous: bytearray
    clusters: list[str] = []
    answer_types: list[str | None] = []
    question_types: list[str | None] = []
    statuses: Counter[Status]
    answer_counts: Counter[int]
    without_answer_id: int = 0
    with_blank_answers: int = 0
    sentences: int = 0
    without_annotation: list[str] = []
    without_prediction: list[str] = []
    without_answers: list[str] = []


def score_all(predictions: Predictions, annotations: Annotations, metrics: Sequence[str]) -> Scored:
    """Score what both files know; a missing, unparsed or failed answer is 0 by every metric, a blank one compared."""
    scored = Scored(
        values={name: array("d") for name in metrics},
        unanimous=bytearray(),
        statuses=Counter(),
        answer_counts=Counter(),
        without_annotation=[key for key in predictions.by_id if key not in annotations.by_id],
        without_prediction=[key for key in annotations.by_id if key not in predictions.by_id],
    )
    for key, prediction in predictions.by_id.items():
        annotation = annotations.by_id.get(key)
        if annotation is not None:
            _score(scored, key, prediction, annotation, annotations.answers(annotation))
    return scored


def indices_by_type(types: Sequence[str | None]) -> dict[str, list[int]]:
    """Where each type stands in a column, in order of appearance; None is no type."""
    members: dict[str, list[int]] = {}
    for index, name in enumerate(types):
        if name is not None:
            members.setdefault(name, []).append(index)
    return members


def picked(column: Sequence[Item], indices: Sequence[int]) -> list[Item]:
    """The items of a column at these places."""
    return [column[index] for index in indices]


def _score(
    scored: Scored, key: str, prediction: Prediction, annotation: Annotation, answers: list[HumanAnswer | str]
) -> None:
    given = texts(answers)
    if not given:
        scored.without_answers.append(key)
        return
    gold = annotation.multiple_choice_answer or ""
    if not gold and not AGAINST_GOLD.isdisjoint(scored.values):
        gold = majority(answers)
    ids = [answer.answer_id for answer in answers if isinstance(answer, HumanAnswer)]
    compared = told_apart(answers)
    for name, column in scored.values.items():
        said = prediction.text if name in OF_THE_ANSWER else prediction.said or prediction.text
        column.append(0.0 if said is None else METRICS[name](said, compared, gold))
    scored.with_blank_answers += any(not text or text.isspace() for text in given)
    scored.without_answer_id += None in ids
    scored.unanimous.append(unanimous(given))
    scored.sentences += is_sentence(prediction.text or "")
    scored.answer_counts[len(answers)] += 1
    scored.statuses[prediction.status] += 1
    scored.question_ids.append(annotation.question_id)
    scored.clusters.append(_cluster(key, prediction, annotation))
    scored.answer_types.append(annotation.answer_type)
    scored.question_types.append(annotation.question_type)


def _cluster(key: str, prediction: Prediction, annotation: Annotation) -> str:
    """The image where it is known, else the question alone."""
    if annotation.image_id is not None:
        return f"image {annotation.image_id}"
    return prediction.cluster or f"question {key}"


class Summary(Struct, frozen=True, kw_only=True):
    """The accuracies of all scored questions and of each type, by metric.

    `if_missing_were_wrong` is over all annotated questions, one without a prediction counting as 0.
    """

    overall: dict[str, Mean]
    if_missing_were_wrong: dict[str, float | None]
    per_answer_type: dict[str, dict[str, Mean]]
    per_question_type: dict[str, dict[str, Mean]]
    gap: Gap | None


def summarise(scored: Scored) -> Summary:
    """Add the columns up."""
    n = len(scored.question_ids)
    annotated = n + len(scored.without_prediction)
    both = NORMALISED in scored.values and OFFICIAL in scored.values
    return Summary(
        overall={name: mean_of(column, scored.clusters) for name, column in scored.values.items()},
        if_missing_were_wrong={name: fsum(column) / annotated if n else None for name, column in scored.values.items()},
        per_answer_type=_means_by_type(scored, scored.answer_types),
        per_question_type=_means_by_type(scored, scored.question_types),
        gap=gap_between(scored.values[NORMALISED], scored.values[OFFICIAL], scored.unanimous) if both else None,
    )


def _means_by_type(scored: Scored, types: Sequence[str | None]) -> dict[str, dict[str, Mean]]:
    """The types with most questions first."""
    return {
        name: {
            metric: mean_of(picked(column, indices), picked(scored.clusters, indices))
            for metric, column in scored.values.items()
        }
        for name, indices in sorted(indices_by_type(types).items(), key=lambda found: (-len(found[1]), found[0]))
    }


def mean_of(values: Sequence[float], clusters: Sequence[str]) -> Mean:
    """The mean of the values and its interval; `clusters` names the image of each."""
    sums: dict[str, tuple[float, int]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        total, number = sums.get(cluster, (0.0, 0))
        sums[cluster] = (total + value, number + 1)
    n = len(values)
    return Mean(n=n, value=fsum(values) / n if n else None, interval=interval(sums.values()))
