"""The scores of answers against annotations in columns, some bytes a question and metric, and what they add up to."""

from array import array
from collections import Counter
from collections.abc import Sequence
from math import fsum
from typing import Final, TypeVar

from msgspec import Struct, field

from vqa_client.answers.rows import Id
from vqa_client.scoring.averages import Mean, mean_of
from vqa_client.scoring.vqa_accuracy import Gap, gap_between, is_sentence, unanimous
from vqa_client.types import Question, Record, Status

Item = TypeVar("Item")
NORMALISED: Final = "normalised"
OFFICIAL: Final = "official"


class Columns(Struct, kw_only=True):
    """The scored questions in the order of the predictions, an item of each list for each.

    `values` holds the scores by metric, `unanimous` whether all annotators gave one answer, `clusters` the image.
    `answer_counts` says how many questions have how many answers; `without_answer_id` and `with_blank_answers` count
    questions, `sentences` predictions that are not a short answer. The last three name what could not be scored.
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
        """Take a question of annotations with the record of its answer; a failed one scores 0 by every metric."""
        annotation, given = question.row, question.references
        for name, column in self.values.items():
            column.append(record.parts.get(name, 0.0))
        self.without_answer_id += None in question.extra["annotators"]
        self.with_blank_answers += not all(map(str.strip, given))
        self.unanimous.append(unanimous(question.extra["compared"]))
        self.sentences += is_sentence(record.answer or "")
        self.answer_counts[len(given)] += 1
        self.statuses[record.status] += 1
        self.question_ids.append(annotation.question_id)
        self.clusters.append(question.cluster)
        self.answer_types.append(annotation.answer_type)
        self.question_types.append(annotation.question_type)


def indices_by_type(types: Sequence[str | None]) -> dict[str, list[int]]:
    """Where each type stands in a column, in order of appearance; None is not a type."""
    members: dict[str, list[int]] = {}
    for index, name in enumerate(types):
        if name is not None:
            members.setdefault(name, []).append(index)
    return members


def picked(column: Sequence[Item], indices: Sequence[int]) -> list[Item]:
    """The items of a column at these places."""
    return [column[index] for index in indices]


class Summary(Struct, frozen=True, kw_only=True):
    """The accuracies of all scored questions and of each type, by metric.

    `if_missing_were_wrong` is over all annotated questions, one without a prediction counting as 0.
    """

    overall: dict[str, Mean]
    if_missing_were_wrong: dict[str, float | None]
    per_answer_type: dict[str, dict[str, Mean]]
    per_question_type: dict[str, dict[str, Mean]]
    gap: Gap | None


def summarise(scored: Columns) -> Summary:
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


def _means_by_type(scored: Columns, types: Sequence[str | None]) -> dict[str, dict[str, Mean]]:
    """The types with most questions first."""
    return {
        name: {
            metric: mean_of(picked(column, indices), picked(scored.clusters, indices))
            for metric, column in scored.values.items()
        }
        for name, indices in sorted(indices_by_type(types).items(), key=lambda found: (-len(found[1]), found[0]))
    }
