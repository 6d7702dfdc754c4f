"""The scores of models on the same questions, clean and at each level of each corruption, and how robust they are.

Metrics are scaled by the range that the whole pool of models spans.
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
"""The variant without a corruption."""
_ORDER = [name for names in CLASSES.values() for name in names]


class Figures(Struct, frozen=True, kw_only=True):
    """One variant: accuracy in [0, 1] over all its questions, where a failed question counts as wrong.

    `difference` is this variant minus the clean one, over the questions that both have; None for the clean variant.
    """

    total: int
    answered: int
    accuracy: float | None
    interval: Interval | None
    statuses: dict[Status, int]
    difference: Difference | None = None


class TypeFigures(Struct, frozen=True, kw_only=True):
    """The questions of one type: mean accuracy over all corrupted variants; `difference` is corrupted minus clean."""

    questions: int
    clean: float
    corrupted: float
    difference: Difference


class Curves(Struct, frozen=True, kw_only=True):
    """One model: `levels` is corruption -> level from 1 -> figures; level 0 is `clean`, None if it was not run."""

    clean: Figures | None
    levels: dict[str, dict[int, Figures]]
    types: dict[str, TypeFigures]

    def accuracies(self, corruption: str, n_levels: int = 0) -> list[float | None]:
        """Accuracies from level 0 on, at least `n_levels` of them; None for a level that was not run."""
        figures = {0: self.clean, **self.levels[corruption]}
        last = max(n_levels - 1, *figures)
        return [figure.accuracy if (figure := figures.get(level)) else None for level in range(last + 1)]

    def errors(self, corruption: str) -> list[float | None]:
        """Error rates from level 0 on, None for a level that was not run."""
        return [None if accuracy is None else 1 - accuracy for accuracy in self.accuracies(corruption)]

    def relative_drop(self, corruption: str) -> float | None:
        """The share of the clean accuracy that the mean over all levels loses; as published, level 0 is one of them.

        None if a level is missing or no question is right at level 0.
        """
        accuracies = self.accuracies(corruption)
        known = [accuracy for accuracy in accuracies if accuracy is not None]
        if len(known) < len(accuracies) or not known[0]:
            return None
        return 1 - fsum(known) / len(known) / known[0]

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
    """Collects the scores of one run in any order; of several scores of a question in a variant the last counts."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._clusters: list[str] = []
        self._types: list[str] = []
        self._outcomes: dict[tuple[str, int], dict[int, tuple[float, Status]]] = {}

    def add(
        self, question: str, corruption: str, level: int, *, score: float, status: Status, cluster: str, type_: str
    ) -> None:
        """Add a question in a variant: its score in [0, 1], its image or document as `cluster`, and its type if any."""
        number = self._numbers.setdefault(question, len(self._numbers))
        if number == len(self._clusters):
            self._clusters.append(cluster)
            self._types.append(intern(type_))
        self._outcomes.setdefault((corruption, level), {})[number] = (score, intern(status))  # type: ignore[assignment]

    @property
    def questions(self) -> set[str]:
        """The ids of all questions, in any variant."""
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
        mean = mean_of(
            [outcomes[number][0] for number in numbers], [self._clusters[number] or number for number in numbers]
        )
        statuses = Counter(status for _, status in outcomes.values())
        clean = self._outcomes.get(CLEAN, {})
        pairs = (
            (score, clean[number][0], self._clusters[number])
            for number, (score, _) in outcomes.items()
            if number in clean
        )
        return Figures(
            total=len(outcomes),
            answered=sum(n for status, n in statuses.items() if status in ANSWERED),
            accuracy=mean.value,
            interval=mean.interval,
            statuses=dict(sorted(statuses.items())),
            difference=None if variant == CLEAN else difference(pairs),
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
    from_clean = difference(pairs)
    assert from_clean is not None
    return TypeFigures(
        questions=len(pairs),
        corrupted=fsum(corrupted for corrupted, _, _ in pairs) / len(pairs),
        clean=fsum(clean for _, clean, _ in pairs) / len(pairs),
        difference=from_clean,
    )


EQUAL = "equal"
WEIGHTINGS: dict[str, dict[str, float]] = {
    EQUAL: dict.fromkeys(METRICS, 0.2),
    **{preferred: {metric: 0.6 if metric == preferred else 0.1 for metric in METRICS} for preferred in METRICS},
}
"""The published variations: equal weights, and 0.6 for one metric, which gives the variation its name."""


class Evaluation(Struct, frozen=True, kw_only=True):
    """The results of the whole pool; with `sort_levels`, metrics are of errors in rising order, as published.

    `by_class` is model -> class -> metric, the mean over the corruptions of the class that have the metric;
    `scaled_by_class` is the same for metrics scaled to [0, 1] in the pool. `weightings` is weighting -> model -> VRE.
    """

    models: dict[str, Curves]
    sort_levels: bool
    vre: Vre
    by_class: dict[str, dict[str, Values]]
    scaled_by_class: dict[str, dict[str, Values]]
    weightings: dict[str, Values]

    @property
    def corruptions(self) -> list[str]:
        """All corruptions of any model, in the order of their classes."""
        return in_order(name for curves in self.models.values() for name in curves.levels)

    @property
    def n_levels(self) -> int:
        """The number of levels of the longest series, with level 0."""
        rows = (row for curves in self.models.values() for row in curves.levels.values())
        return 1 + max((level for row in rows for level in row), default=0)

    def drop_of_model(self, model: str) -> float | None:
        """The share of its clean accuracy that a model loses: the mean over its corruptions that have all levels."""
        curves = self.models[model]
        return _mean_of_known([curves.relative_drop(name) for name in curves.levels])

    def drop_of_corruption(self, name: str) -> float | None:
        """The share of the models' mean clean accuracy that the mean over all levels loses, level 0 being one of them.

        Models without some level are left out.
        """
        rows = [curves.accuracies(name) for curves in self.models.values() if name in curves.levels]
        whole = [known for row in rows if (known := [value for value in row if value is not None]) and None not in row]
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
    """The classes of these corruptions, each once, in the published order."""
    classes = set(map(class_of, corruptions))
    return [*(name for name in CLASSES if name in classes), *sorted(classes - CLASSES.keys())]


def _by_class(errors: Vre, scale: Callable[[str, float | None], float | None]) -> dict[str, dict[str, Values]]:
    """For each model and class the means of the scaled metrics over the corruptions of the class."""
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
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known else None
