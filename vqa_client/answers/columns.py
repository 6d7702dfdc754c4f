"""The scores of answers against annotations in columns of a few bytes per question and metric, and their summary.

Also writes the files of VQA's own evaluator, and the result file for its server.
"""

import re
from array import array
from collections import Counter
from collections.abc import Sequence
from math import fsum
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec import Struct, field

from vqa_client.answers.predictions import Predictions
from vqa_client.answers.rows import Id
from vqa_client.files import write_json
from vqa_client.scoring.statistics import Mean, mean_of
from vqa_client.scoring.vqa_accuracy import Gap, gap_between, is_sentence, mean_percent, percent_by_type, unanimous
from vqa_client.scoring.vqa_normalise import normalised, on_one_line
from vqa_client.types import Question, Record, Status

Item = TypeVar("Item")
NORMALISED: Final = "normalised"
OFFICIAL: Final = "official"


class ScoredQuestions(Struct, kw_only=True):
    """The scored questions in the order of the predictions: each list has one item per question.

    `values` are the scores by metric, `unanimous` is 1 if all annotators gave one answer, `clusters` are the images.
    `answer_counts` is number of answers -> number of questions; `without_answer_id` and `with_blank_answers` count
    questions, `sentences` counts predictions that are not a short answer. The last three are ids that can't be scored.
    """

    values: dict[str, "array[float]"]
    question_ids: list[Id] = []
    unanimous: bytearray = bytearray()
    clusters: list[str] = []
    answer_types: list[str | None] = []
    question_types: list[str | None] = []
    statuses: Counter[Status] = field(default_factory=Counter)
    answer_counts: Counter[int] = field(default_factory=Counter)
    without_answer_id: int = 0
    with_blank_answers: int = 0
    sentences: int = 0
    without_annotation: list[str]
    without_prediction: list[str]
    without_answers: list[str] = []

    def add(self, question: Question, record: Record) -> None:
        """Add an annotated question with the record of its answer; a failed question scores 0 by every metric."""
        annotation, references = question.row, question.references
        for name, column in self.values.items():
            column.append(record.parts.get(name, 0.0))
        self.without_answer_id += None in question.extra["annotators"]
        self.with_blank_answers += not all(map(str.strip, references))
        self.unanimous.append(unanimous(question.extra["compared"]))
        self.sentences += is_sentence(record.answer or "")
        self.answer_counts[len(references)] += 1
        self.statuses[record.status] += 1
        self.question_ids.append(annotation.question_id)
        self.clusters.append(question.cluster)
        self.answer_types.append(annotation.answer_type)
        self.question_types.append(annotation.question_type)


def indices_by_type(types: Sequence[str | None]) -> dict[str, list[int]]:
    """The indices of each type in a column, in order of appearance; None is not a type."""
    members: dict[str, list[int]] = {}
    for index, name in enumerate(types):
        if name is not None:
            members.setdefault(name, []).append(index)
    return members


def items_at(column: Sequence[Item], indices: Sequence[int]) -> list[Item]:
    """The items of a column at these indices."""
    return [column[index] for index in indices]


class AnswersSummary(Struct, frozen=True, kw_only=True):
    """The accuracies of all scored questions and of each type, by metric.

    `if_missing_were_wrong` is over all annotated questions, and those without a prediction count as 0.
    """

    overall: dict[str, Mean]
    if_missing_were_wrong: dict[str, float | None]
    per_answer_type: dict[str, dict[str, Mean]]
    per_question_type: dict[str, dict[str, Mean]]
    gap: Gap | None


def summarise(scored: ScoredQuestions) -> AnswersSummary:
    """Compute the accuracies."""
    n = len(scored.question_ids)
    annotated = n + len(scored.without_prediction)
    both = NORMALISED in scored.values and OFFICIAL in scored.values
    return AnswersSummary(
        overall={name: mean_of(column, scored.clusters) for name, column in scored.values.items()},
        if_missing_were_wrong={name: fsum(column) / annotated if n else None for name, column in scored.values.items()},
        per_answer_type=_means_by_type(scored, scored.answer_types),
        per_question_type=_means_by_type(scored, scored.question_types),
        gap=gap_between(scored.values[NORMALISED], scored.values[OFFICIAL], scored.unanimous) if both else None,
    )


def _means_by_type(scored: ScoredQuestions, types: Sequence[str | None]) -> dict[str, dict[str, Mean]]:
    """The means by type and metric, types with the most questions first."""
    return {
        name: {
            metric: mean_of(items_at(column, indices), items_at(scored.clusters, indices))
            for metric, column in scored.values.items()
        }
        for name, indices in sorted(indices_by_type(types).items(), key=lambda item: (-len(item[1]), item[0]))
    }


DECIMALS: Final = 2
_NUMBER: Final = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)


def write_evaluation(folder: Path, stem: str, scored: ScoredQuestions, metric: str) -> list[Path]:
    """Write accuracy, evalQA, evalQuesType and evalAnsType by one metric, in per cent with two decimals.

    The files of the metric "official" have the names of VQA's evaluator; other names also contain the metric.
    """
    values = scored.values[metric]
    rounded = [round(100 * value, DECIMALS) for value in values]
    contents: dict[str, Any] = {
        "accuracy": {
            "overall": mean_percent(values) if values else None,
            "perQuestionType": percent_by_type(values, scored.question_types),
            "perAnswerType": percent_by_type(values, scored.answer_types),
        },
        "evalQA": _by_id(scored.question_ids, rounded),
        "evalQuesType": _by_type_and_id(scored, scored.question_types, rounded),
        "evalAnsType": _by_type_and_id(scored, scored.answer_types, rounded),
    }
    within = "" if metric == OFFICIAL else f"_{metric}"
    paths = {kind: folder / f"{stem}{within}_{kind}.json" for kind in contents}
    for kind, path in paths.items():
        write_json(path, contents[kind])
    return list(paths.values())


def write_leaderboard(folder: Path, stem: str, predictions: Predictions) -> Path:
    """Write the result file for VQA's server: each prediction once, ids as numbers.

    Answers are normalised, as the server doesn't normalise if all annotators agree: "Yes." would be wrong.
    """
    rows = [
        {
            "question_id": int(key) if _NUMBER.fullmatch(key) else key,
            "answer": normalised(on_one_line(prediction.text or "")),
        }
        for key, prediction in predictions.by_id.items()
    ]
    path = folder / f"{stem}_leaderboard.json"
    write_json(path, rows)
    return path


def _by_type_and_id(
    scored: ScoredQuestions, types: Sequence[str | None], rounded: Sequence[float]
) -> dict[str, dict[str, float]]:
    return {
        name: _by_id(items_at(scored.question_ids, indices), items_at(rounded, indices))
        for name, indices in indices_by_type(types).items()
    }


def _by_id(question_ids: Sequence[Id], rounded: Sequence[float]) -> dict[str, float]:
    return {str(key): value for key, value in zip(question_ids, rounded, strict=True)}
