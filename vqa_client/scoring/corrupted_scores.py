"""What one model scored on the same questions, clean and at each level of each corruption."""

from collections import Counter
from collections.abc import Iterable, Iterator
from math import fsum
from sys import intern

from msgspec import Struct

from vqa_client.scoring.paired import Difference, difference
from vqa_client.scoring.robustness import CLASSES
from vqa_client.scoring.statistics import Interval, interval
from vqa_client.types import ANSWERED, Status

CLEAN = ("", 0)
"""The variant that is no corruption."""
_ORDER = [name for names in CLASSES.values() for name in names]


class Figures(Struct, frozen=True, kw_only=True):
    """One variant: accuracy in [0, 1] over all its questions, a failed one as wrong.

    `difference` is less clean, over the questions that both have; None for the clean variant itself.
    """

    total: int
    answered: int
    accuracy: float | None
    interval: Interval | None
    statuses: dict[Status, int]
    difference: Difference | None = None


class TypeFigures(Struct, frozen=True, kw_only=True):
    """The questions of one type: mean accuracy over all corrupted variants, less clean in `difference`."""

    questions: int
    clean: float
    corrupted: float
    difference: Difference


class Curves(Struct, frozen=True, kw_only=True):
    """One model: `levels` is corruption -> level from 1 -> figures; level 0 is `clean`, None where it was not run."""

    clean: Figures | None
    levels: dict[str, dict[int, Figures]]
    types: dict[str, TypeFigures]

    def accuracies(self, corruption: str, n_levels: int = 0) -> list[float | None]:
        """Accuracy from level 0 on, None where a level was not run; at least `n_levels` of them."""
        figures = {0: self.clean, **self.levels[corruption]}
        last = max(n_levels - 1, *figures)
        return [found.accuracy if (found := figures.get(level)) else None for level in range(last + 1)]

    def errors(self, corruption: str) -> list[float | None]:
        """The same as error rates."""
        return [None if accuracy is None else 1 - accuracy for accuracy in self.accuracies(corruption)]

    def relative_drop(self, corruption: str) -> float | None:
        """What share of the clean accuracy is lost on the mean of all levels, 0 among them, as published.

        None where a level is missing or no question is right at level 0.
        """
        accuracies = self.accuracies(corruption)
        there = [accuracy for accuracy in accuracies if accuracy is not None]
        if len(there) < len(accuracies) or not there[0]:
            return None
        return 1 - fsum(there) / len(there) / there[0]

    @property
    def variants(self) -> Iterator[tuple[str, int, Figures]]:
        """Every variant's corruption, level and figures, the clean one first."""
        if self.clean:
            yield *CLEAN, self.clean
        for corruption, levels in self.levels.items():
            for level, figures in levels.items():
                yield corruption, level, figures

    @property
    def n_failed(self) -> int:
        """How many questions, in all variants, have no reply."""
        return sum(figures.total - figures.answered for _, _, figures in self.variants)


class CorruptedScores:
    """Collects the scores of one run in any order; what is added last of a question in a variant counts."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._clusters: list[str] = []
        self._types: list[str] = []
        self._outcomes: dict[tuple[str, int], dict[int, tuple[float, Status]]] = {}

    def add(
        self, question: str, corruption: str, level: int, *, score: float, status: Status, cluster: str, type_: str = ""
    ) -> None:
        """Take one question in one variant: its score in [0, 1], its image or document, its type where it has one."""
        number = self._numbers.setdefault(question, len(self._numbers))
        if number == len(self._clusters):
            self._clusters.append(cluster)
            self._types.append(intern(type_))
        self._outcomes.setdefault((corruption, level), {})[number] = (score, intern(status))  # type: ignore[assignment]

    @property
    def questions(self) -> set[str]:
        """The ids that were met, in any variant."""
        return set(self._numbers)

    def curves(self) -> Curves:
        names = {corruption for corruption, _ in self._outcomes} - {CLEAN[0]}
        return Curves(
            clean=self._figures(CLEAN) if CLEAN in self._outcomes else None,
            levels={
                name: {level: self._figures((name, level)) for of, level in sorted(self._outcomes) if of == name}
                for name in in_order(names)
            },
            types=self._by_type(),
        )

    def _figures(self, variant: tuple[str, int]) -> Figures:
        outcomes = self._outcomes[variant]
        sums: dict[str | int, tuple[float, int]] = {}
        for number, (score, _) in sorted(outcomes.items()):
            cluster = self._clusters[number] or number
            total, n = sums.get(cluster, (0.0, 0))
            sums[cluster] = (total + score, n + 1)
        statuses = Counter(status for _, status in outcomes.values())
        return Figures(
            total=len(outcomes),
            answered=sum(n for status, n in statuses.items() if status in ANSWERED),
            accuracy=_mean(score for score, _ in outcomes.values()),
            interval=interval(sorted(sums.values())),
            statuses=dict(sorted(statuses.items())),
            difference=None if variant == CLEAN else self._less_clean(outcomes),
        )

    def _less_clean(self, outcomes: dict[int, tuple[float, Status]]) -> Difference | None:
        clean = self._outcomes.get(CLEAN, {})
        return difference(
            (score, clean[number][0], self._clusters[number])
            for number, (score, _) in outcomes.items()
            if number in clean
        )

    def _by_type(self) -> dict[str, TypeFigures]:
        corrupted: dict[int, list[float]] = {}
        for variant, outcomes in self._outcomes.items():
            if variant != CLEAN:
                for number, (score, _) in outcomes.items():
                    corrupted.setdefault(number, []).append(score)
        pairs: dict[str, list[tuple[float, float, str]]] = {}
        for number, (score, _) in self._outcomes.get(CLEAN, {}).items():
            if (type_ := self._types[number]) and (scores := corrupted.get(number)):
                held = pairs.setdefault(type_, [])
                held.append((fsum(scores) / len(scores), score, self._clusters[number]))
        return {type_: _type_figures(held) for type_, held in sorted(pairs.items())}


def in_order(corruptions: Iterable[str]) -> list[str]:
    """Put corruptions in the order of their classes, unknown ones last."""
    return sorted(set(corruptions), key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))


def _type_figures(pairs: list[tuple[float, float, str]]) -> TypeFigures:
    less = difference(pairs)
    assert less is not None
    return TypeFigures(
        questions=len(pairs),
        corrupted=fsum(corrupted for corrupted, _, _ in pairs) / len(pairs),
        clean=fsum(clean for _, clean, _ in pairs) / len(pairs),
        difference=less,
    )


def _mean(values: Iterable[float]) -> float | None:
    held = list(values)
    return fsum(held) / len(held) if held else None
