"""A run that asks each question in several forms: what judge and rule make of each form, and of all together."""

from collections.abc import Callable, Sequence
from math import fsum
from typing import Final

from vqa_client.reports.judged import Form
from vqa_client.reports.logged_run import CLEAN
from vqa_client.reports.varied import BLIND, SEEN
from vqa_client.scoring.averages import Averaging
from vqa_client.scoring.choices.circular import ROTATION
from vqa_client.scoring.paired import difference
from vqa_client.types import Question

REPEAT: Final = "repeat"
_NAMES: Final = {REPEAT: "repeats", ROTATION: "rotations"}
_TOGETHER: Final[dict[str, Callable[[Sequence[float]], float]]] = {
    "right in all": lambda scores: float(min(scores) >= 1),
    "mean of all": lambda scores: fsum(scores) / len(scores),
    "right in at least one of all": lambda scores: float(max(scores) >= 1),
}
_WORDS: Final = {SEEN: "with images", BLIND: "without images"}
Means = tuple[Averaging, Averaging]
"""By the judge and by the rule."""


def same_question(variants: Sequence[str]) -> str:
    """Which kind of variants these are where each is the same question once more: "repeat" or "rotation", else ""."""
    kinds = {variant.partition("/")[0] for variant in variants}
    return kinds.pop() if len(variants) > 1 and len(kinds) == 1 and kinds <= _NAMES.keys() else ""


class FormScores:
    """Adds up one judge's scores; has no figures for a run that asks in one form."""

    def __init__(self, variants: Sequence[str]) -> None:
        self._same = same_question(variants)
        self._count = len(variants)
        self._first = next((name for name in (CLEAN, SEEN) if name in variants), "")
        several = sorted(variants, key=lambda name: name != self._first) if self._count > 1 else []
        self._each: dict[str, Means] = {name: (Averaging(), Averaging()) for name in several}
        self._together: dict[str, Means] = {name: (Averaging(), Averaging()) for name in _TOGETHER}
        self._gaps: dict[str, list[tuple[float, float, str]]] = {}

    def add(self, question: Question, scores: Sequence[tuple[str, float, float]], cluster: str) -> None:
        """Take a question's scores by judge and rule, with their variants; those that are undecided are not in them."""
        first = next((by_judge for variant, by_judge, _ in scores if variant == self._first), None)
        for variant, by_judge, by_rule in scores if self._each else ():
            _add(self._each[variant], by_judge, by_rule, cluster)
            if first is not None and variant != self._first:
                self._gaps.setdefault(variant, []).append((by_judge, first, cluster))
        if self._same and len(scores) == (len(question.choices) if self._same == ROTATION else self._count):
            _, judge, rule = zip(*scores, strict=True)
            for name, of in _TOGETHER.items():
                _add(self._together[name], of(judge), of(rule), cluster)

    def figures(self) -> tuple[Form, ...]:
        """What all forms come to together where they are one question, then each form."""
        together = self._together.items() if self._same else ()
        named = {f"{name} {_NAMES[self._same]}": means for name, means in together}
        named |= {_WORDS.get(name, name): means for name, means in self._each.items() if self._same != REPEAT}
        gaps = {_WORDS.get(name, name): difference(pairs) for name, pairs in self._gaps.items()}
        return tuple(
            Form(name=name, judge=judge.average(), rule=rule.average(), gap=gaps.get(name))
            for name, (judge, rule) in named.items()
        )


def _add(means: Means, by_judge: float, by_rule: float, cluster: str) -> None:
    for mean, value in zip(means, (by_judge, by_rule), strict=True):
        mean.add(value, cluster)
