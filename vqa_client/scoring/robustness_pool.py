"""Several models under the same corruptions, each judged by what the whole pool of them spans."""

from collections.abc import Mapping, Sequence
from math import fsum

from msgspec import Struct

from vqa_client.scoring.corrupted_scores import Curves, in_order
from vqa_client.scoring.robustness import CLASSES, METRICS, Values, Vre, class_of, vre

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
        return _mean([curves.relative_drop(name) for name in curves.levels])

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
    found = vre(errors, weights=weights, sort_levels=sort_levels)
    varied = {
        name: vre(errors, weights=weighting, sort_levels=sort_levels).per_model
        for name, weighting in WEIGHTINGS.items()
    }
    scaled = {
        model: {
            name: {metric: _scaled(found, metric, value) for metric, value in values.items()}
            for name, values in row.items()
        }
        for model, row in found.metrics.items()
    }
    return Evaluation(
        models=dict(models),
        sort_levels=sort_levels,
        vre=found,
        by_class=_by_class(found.metrics),
        scaled_by_class=_by_class(scaled),
        weightings=varied,
    )


def classes_of(corruptions: Sequence[str]) -> list[str]:
    """The classes of some corruptions, each once, in the published order."""
    met = {class_of(name) for name in corruptions}
    return [*(name for name in CLASSES if name in met), *sorted(met - CLASSES.keys())]


def _scaled(found: Vre, metric: str, value: float | None) -> float | None:
    least, most = found.pool[metric]["min"], found.pool[metric]["max"]
    if value is None or least is None or most is None or least == most:
        return None
    return (value - least) / (most - least)


def _by_class(cells: Mapping[str, Mapping[str, Values]]) -> dict[str, dict[str, Values]]:
    return {
        model: {
            name: {
                metric: _mean([values[metric] for one, values in row.items() if class_of(one) == name])
                for metric in METRICS
            }
            for name in classes_of(list(row))
        }
        for model, row in cells.items()
    }


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return fsum(there) / len(there) if there else None
