"""Predictions and references of the same questions: by id, or by what the published table says of a question."""

import os
from collections import Counter, defaultdict
from collections.abc import Mapping

from msgspec import Struct

from vqa_client.scorefiles.explanations.predictions import PLACES, Predictions, Said
from vqa_client.scorefiles.explanations.references import References
from vqa_client.types import Question

Place = tuple[str, ...]


class Matched(Struct, frozen=True, kw_only=True):
    """The pairs in the order of the references; of several predictions for one question the last counts.

    `strangers` are predictions without a reference, `missing` references without a prediction; `repeated` maps an id
    to how many predictions it has, `differing` of how many the predictions differ.
    """

    pairs: list[tuple[Question, Said]]
    strangers: list[str]
    missing: list[str]
    repeated: dict[str, int]
    differing: int


def match(predictions: Predictions, references: References) -> Matched:
    """Match every prediction with its question."""
    places = _ByPlace(references.by_id)
    found: dict[str, Said] = {}
    times: Counter[str] = Counter()
    strangers, differing = [], set()
    for said in predictions.rows:
        key = said.id or places.take(said.places)
        if key not in references.by_id:
            strangers.append(said.id or " / ".join(said.places.values()))
            continue
        before = found.get(key, said)
        if (before.answer, before.explanation) != (said.answer, said.explanation):
            differing.add(key)
        found[key] = said
        times[key] += 1
    return Matched(
        pairs=[(question, found[key]) for key, question in references.by_id.items() if key in found],
        strangers=strangers,
        missing=[key for key in references.by_id if key not in found],
        repeated={key: number for key, number in times.items() if number > 1},
        differing=len(differing),
    )


class _ByPlace:
    """Questions by image and text; where several have the same, they are given out in the order of the file."""

    def __init__(self, questions: Mapping[str, Question]) -> None:
        self._questions = questions
        self._waiting: dict[Place, dict[Place, list[str]]] = {}

    def take(self, places: Mapping[str, str]) -> str:
        """The id of the next question with these cells, the last one again where none is left; "" for no such."""
        columns = tuple(places)
        ids = self._of(columns).get(_place(places, columns), [])
        return ids.pop(0) if len(ids) > 1 else "".join(ids)

    def _of(self, columns: Place) -> dict[Place, list[str]]:
        if columns not in self._waiting:
            self._waiting[columns] = _indexed(self._questions, columns)
        return self._waiting[columns]


def _indexed(questions: Mapping[str, Question], columns: Place) -> dict[Place, list[str]]:
    ids: dict[Place, list[str]] = defaultdict(list)
    for key, question in questions.items():
        ids[_place({"question": question.text} | question.extra.get("columns", {}), columns)].append(key)
    return dict(ids)


def _place(cells: Mapping[str, str], columns: Place) -> Place:
    return tuple(_plain(cells.get(column, "")) for column in columns if column in PLACES)


def _plain(cell: str) -> str:
    """An image without its folder, a number without noughts before it, a text without blanks around it."""
    words = " ".join(cell.split())
    name = os.path.basename(words) if " " not in words else words
    return name.lstrip("0") or "0" if name.isascii() and name.isdecimal() else name
