"""What models scored on the same questions, clean and at each level of each corruption, and how robust that is.

Each model is judged by what the whole pool of them spans.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import fsum
from sys import intern

from msgspec import Struct

from vqa_client.scoring.paired import Difference, difference
from vqa_client.scoring.robustness import CLASSES, METRICS, Values, Vre, class_of, scaled, vre
from vqa_client.scoring.statistics import Interval, mean_of
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
        return [figure.accuracy if (figure := figures.get(level)) else None for level in range(last + 1)]

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
        numbers = sorted(outcomes)
        mean = mean_of([outcomes[number][0] for number in numbers], [self._clusters[each] or each for each in numbers])
        statuses = Counter(status for _, status in outcomes.values())
        return Figures(
            total=len(outcomes),
            answered=sum(n for status, n in statuses.items() if status in ANSWERED),
            accuracy=mean.value,
            interval=mean.interval,
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
                of_type = pairs.setdefault(type_, [])
                of_type.append((fsum(scores) / len(scores), score, self._clusters[number]))
        return {type_: _type_figures(of_type) for type_, of_type in sorted(pairs.items())}


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


EQUAL = "equal"
WEIGHTINGS: dict[str, dict[str, float]] = {
    EQUAL: dict.fromkeys(METRICS, 0.2),
    **{one: {metric: 0.6 if metric == one else 0.1 for metric in METRICS} for one in METRICS},
}
"""The published variations: all alike, and most on one metric, by which the variation is named."""


class Evaluation(Struct, frozen=True, kw_only=True):
    """All that the pool comes to; where `sort_levels`, metrics are of rising errors, as the published ones.

    `by_class` is model -> class -> metric, the mean over the class's corruptions that have it; `scaled_by_class` the
    same of metrics in [0, 1] of the pool. `weightings` is weighting -> model -> VRE.
    """

    models: dict[str, Curves]
    sort_levels: bool
    vre: Vre
    by_class: dict[str, dict[str, Values]]
    scaled_by_class: dict[str, dict[str, Values]]
    weightings: dict[str, Values]

    @property
    def corruptions(self) -> list[str]:
        """All that any model was shown, in the order of their classes."""
        return in_order(name for curves in self.models.values() for name in curves.levels)

    @property
    def n_levels(self) -> int:
        """How many levels the longest series has, level 0 among them."""
        rows = (row for curves in self.models.values() for row in curves.levels.values())
        return 1 + max((level for row in rows for level in row), default=0)

    def drop_of_model(self, model: str) -> float | None:
        """What share of its clean accuracy a model loses, on the mean over its corruptions that have all levels."""
        curves = self.models[model]
        return _mean_of_known([curves.relative_drop(name) for name in curves.levels])

    def drop_of_corruption(self, name: str) -> float | None:
        """What share of the models' mean clean accuracy is lost, on the mean of all levels, 0 among them.

        Models that lack a level are left out.
        """
        rows = [curves.accuracies(name) for curves in self.models.values() if name in curves.levels]
        whole = [there for row in rows if (there := [value for value in row if value is not None]) and None not in row]
        clean = fsum(row[0] for row in whole)
        return 1 - fsum(fsum(row) / len(row) for row in whole) / clean if clean else None


def evaluate(
    models: Mapping[str, Curves],
    *,
    weights: Mapping[str, float] | Sequence[float] | None = None,
    sort_levels: bool = False,
) -> Evaluation:
    """Judge the models; raises UsageError for weights that can't be used."""
    errors = {model: {name: curves.errors(name) for name in curves.levels} for model, curves in models.items()}
    joint = vre(errors, weights=weights, sort_levels=sort_levels)
    varied = {
        name: vre(errors, weights=weighting, sort_levels=sort_levels).per_model
        for name, weighting in WEIGHTINGS.items()
    }
    return Evaluation(
        models=dict(models),
        sort_levels=sort_levels,
        vre=joint,
        by_class=_by_class(joint, lambda metric, value: value),
        scaled_by_class=_by_class(joint, lambda metric, value: scaled(value, joint.pool[metric])),
        weightings=varied,
    )


def classes_of(corruptions: Sequence[str]) -> list[str]:
    """The classes of some corruptions, each once, in the published order."""
    met = {class_of(name) for name in corruptions}
    return [*(name for name in CLASSES if name in met), *sorted(met - CLASSES.keys())]


def _by_class(errors: Vre, scale: Callable[[str, float | None], float | None]) -> dict[str, dict[str, Values]]:
    """The means over the corruptions of each class, of each model's metrics once they are scaled."""
    return {
        model: {
            name: {
                metric: _mean_of_known(
                    [
                        scale(metric, values[metric])
                        for corruption, values in row.items()
                        if class_of(corruption) == name
                    ]
                )
                for metric in METRICS
            }
            for name in classes_of(list(row))
        }
        for model, row in errors.metrics.items()
    }


def _mean_of_known(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return fsum(there) / len(there) if there else None
