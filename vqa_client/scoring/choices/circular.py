"""Choices in other orders: circular evaluation, and position bias.

A question counts as right when it is right with its choices in every rotation. Source: Liu et al., MMBench: Is Your
Multi-modal Model an All-around Player? (2023), CircularEval.

`PositionBias.deviation` is the standard deviation of the positions' recalls, RStd in Zheng et al., Large Language
Models Are Not Robust Multiple Choice Selectors (2024): 0 for a model without a preference. The share of a position
among chosen answers is compared with its share among right answers, which need not be distributed evenly.
"""

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from statistics import pstdev
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.scoring.repeats import majority
from vqa_client.scoring.statistics import Averaging, Mean
from vqa_client.types import Question

ROTATION, SHUFFLED = "rotation", "shuffled"
ChoiceOrder = tuple[str, ...]
"""The original labels of the choices, in the order shown."""

_LETTER = r"\(?(?-i:[A-H])\)?"
_OTHERS = re.compile(
    r"\b(?:all|none|any|both|neither|either|each|some|one|two|three) of (?:the |these |those )?"
    r"(?:above|below|preceding|previous|following|other (?:options|choices|answers|statements))"
    rf"|\b(?:options?|choices?|answers?|alternatives?) {_LETTER}(?!\w)"
    rf"|^\W*(?:both |neither |either |only |all of )?{_LETTER}(?:, ?{_LETTER})*,? (?:and|or|nor|&) {_LETTER}\W*$",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"^[ \t]*\(?([A-Z])[.):] +(\S.*)$", re.MULTILINE)


def rotation(by: int) -> str:
    """Name the variant whose choices are rotated `by` places; 0 keeps their order."""
    return f"{ROTATION}/{by}"


def shuffled(seed: int) -> str:
    """Name the variant whose choices are in a random order."""
    return f"{SHUFFLED}/{seed}"


def order_of(variant: str, labels: Sequence[str], question_id: str) -> ChoiceOrder | None:
    """The order in which a variant shows the choices; None if its name isn't that of an order.

    A random order depends only on the seed and the question's id; all orders are equally likely.
    """
    kind, slash, number = variant.rpartition("/")
    ordered = sorted(labels)
    if not slash or not number.lstrip("-").isdecimal():
        return None
    if kind == ROTATION:
        by = int(number) % max(1, len(ordered))
        return (*ordered[by:], *ordered[:by])
    if kind == SHUFFLED:
        return tuple(sorted(ordered, key=lambda label: _draw(f"{number} {question_id} {label}")))
    return None


def as_shown(question: Question) -> Question:
    """The question with its choices in the order of its variant; unchanged if that isn't an order."""
    order = order_of(question.variant, tuple(question.choices), question.id)
    if order is None or not question.choices:
        return question
    labels = sorted(question.choices)
    label_of = dict(zip(order, labels, strict=True))
    return replace(
        question,
        choices={label: question.choices[filed] for filed, label in label_of.items()},
        references=tuple(label_of.get(reference, reference) for reference in question.references),
    )


def names_others(choices: dict[str, str]) -> bool:
    """Whether a choice refers to others by label or position, such as "all of the above"."""
    return any(_OTHERS.search(" ".join(text.split())) for text in choices.values())


def _draw(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def choices_in(prompt: str) -> dict[str, str]:
    """The choices of the last list in a prompt, one per line from A on, such as "A. red" or "(A) red"."""
    choices: dict[str, str] = {}
    for line in _CHOICE.finditer(prompt):
        label, text = line[1], line[2].strip()
        if label == "A":
            choices = {}
        if label == chr(ord("A") + len(choices)):
            choices[label] = text
    return choices if len(choices) > 1 else {}


class Position(Struct, frozen=True, kw_only=True):
    """One position: how often the right answer was there, how often it was chosen then, and how often in all.

    Shares are of all questions, `chosen_share` of those with an answer; None without any.
    """

    recall: Mean
    right: int
    right_share: float | None
    chosen: int
    chosen_share: float | None


class PositionBias(Struct, frozen=True, kw_only=True):
    """Positions by label; `deviation` is None unless two positions had right answers."""

    positions: dict[str, Position]
    deviation: float | None


class Positions:
    """Counts which positions were right and which were chosen."""

    def __init__(self) -> None:
        self._recalls: dict[str, Averaging] = {}
        self._right: Counter[str] = Counter()
        self._chosen: Counter[str] = Counter()

    def add(
        self, labels: tuple[str, ...], right: str | None, chosen: str | None, score: float, cluster: str = ""
    ) -> None:
        """Add a question: its labels, the right one (None if unknown), and the chosen one (None without an answer)."""
        for label in labels:
            self._recalls.setdefault(label, Averaging())
        if right is not None:
            self._right[right] += 1
            self._recalls.setdefault(right, Averaging()).add(score, cluster)
        if chosen is not None:
            self._chosen[chosen] += 1

    def bias(self) -> PositionBias:
        recalls = {label: averaging.average() for label, averaging in sorted(self._recalls.items())}
        known = [of.value for of in recalls.values() if of.value is not None]
        return PositionBias(
            positions={
                label: Position(
                    recall=recall,
                    right=self._right[label],
                    right_share=_share(self._right, label),
                    chosen=self._chosen[label],
                    chosen_share=_share(self._chosen, label),
                )
                for label, recall in recalls.items()
            },
            deviation=pstdev(known) if len(known) > 1 else None,
        )


def _share(of: "Counter[str]", label: str) -> float | None:
    total = of.total()
    return of[label] / total if total else None


FIGURES: Final = {
    "circular": "right in all rotations",
    "mean": "mean of all rotations",
    "once": "right in at least one",
    "majority": "majority of texts",
    "same_text": "always the same text",
    "same_letter": "always the same letter",
}
"""The figures of rotations and what they mean: always the same text is as it should be, the same letter is not."""


class CircularFigures(Struct, frozen=True, kw_only=True):
    """The FIGURES are over the `questions` with all their rotations; the others are `unfinished`.

    `rotations` is the largest number of rotations of a question.
    """

    rotations: int
    questions: int
    unfinished: int
    circular: Mean
    mean: Mean
    once: Mean
    majority: Mean
    same_text: Mean
    same_letter: Mean
    bias: PositionBias

    @property
    def means(self) -> dict[str, Mean]:
        """The means by their names, as JSON has them."""
        return {name: getattr(self, name) for name in FIGURES}

    @property
    def named(self) -> dict[str, Mean]:
        """The means by what they mean."""
        return {FIGURES[name]: mean for name, mean in self.means.items()}


class CircularScores:
    """Sums up questions with their rotations."""

    def __init__(self) -> None:
        self._rotations = self._unfinished = 0
        self._means = {name: Averaging() for name in FIGURES}

    def add(
        self,
        scores: Sequence[float],
        letters: Sequence[str | None],
        texts: Sequence[str | None],
        rotations: int,
        cluster: str = "",
    ) -> None:
        """Add one question's rotations: scores, and the chosen letters and texts, None without an answer.

        `scores` is empty if the right answer is unknown. A question without all of its `rotations` is unfinished.
        """
        self._rotations = max(self._rotations, rotations)
        if len(letters) < rotations:
            self._unfinished += 1
            return
        values = {"same_text": _always_one(texts), "same_letter": _always_one(letters)}
        if scores:
            values["circular"] = float(all(score >= 1.0 for score in scores))
            values["once"] = float(any(score >= 1.0 for score in scores))
            values["mean"] = sum(scores) / len(scores)
            values["majority"] = majority(scores, texts)
        for name, value in values.items():
            self._means[name].add(value, cluster)

    def figures(self, bias: PositionBias) -> CircularFigures:
        means = {name: averaging.average() for name, averaging in self._means.items()}
        return CircularFigures(
            rotations=self._rotations, questions=means["same_text"].n, unfinished=self._unfinished, **means, bias=bias
        )


def _always_one(chosen: Sequence[str | None]) -> float:
    return float(len(set(chosen)) == 1 and chosen[0] is not None)
