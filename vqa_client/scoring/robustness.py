"""How errors grow with the level of a corruption: five metrics, and the visual robustness error (VRE) from them.

An error rate is 1 - accuracy, at level 0 (the clean image) and at each level of a corruption. The formulas are those of
the VQA Visual Robustness Benchmark (Ishmam et al., 2024); its plots sort the errors first (`sort_levels`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, isfinite

from msgspec import Struct

from vqa_client.errors import UsageError

CLASSES: dict[str, tuple[str, ...]] = {
    "Noise": ("shot_noise", "gaussian_noise", "impulse_noise", "speckle_noise"),
    "Blur": ("defocus_blur", "zoom_blur"),
    "Weather": ("snow",),
    "Image Attribute": ("brightness", "contrast", "saturation"),
    "Physical": ("elastic", "spatter"),
    "Digital": ("pixelate", "jpeg_compression"),
}
UNCLASSED = "Other"

_SHORT = {"bright": "brightness", "saturate": "saturation", "splatter": "spatter", "elastic_transform": "elastic"}
_ENDINGS = ("", "_noise", "_blur", "_compression")
_CLASS_OF = {name: title for title, names in CLASSES.items() for name in names}


def known_name(corruption: str) -> str:
    """Our name of a corruption in any usual spelling ("Shot", "Shot-noise", "JPEG"); else its snake case."""
    plain = "_".join(corruption.lower().replace("-", " ").replace("_", " ").split())
    plain = _SHORT.get(plain, plain)
    return next((plain + ending for ending in _ENDINGS if plain + ending in _CLASS_OF), plain)


def class_of(corruption: str) -> str:
    """The class of a corruption in any usual spelling; "Other" for an unknown one."""
    return _CLASS_OF.get(known_name(corruption), UNCLASSED)


Errors = Sequence[float | None]
"""Error rates in [0, 1], level 0 first; None for a level that was not run."""
Values = dict[str, float | None]


class Undefined(Exception):
    """Why a metric has no value."""


def first_drop(errors: Sequence[float]) -> float:
    """Increase of the error from level 0 to level 1, relative to level 0."""
    clean, first = _enough_levels(errors, 2)
    return (first - clean) / _not_zero(clean, "no error at level 0")


def range_of_error(errors: Sequence[float]) -> float:
    """Largest minus smallest error, relative to the smallest."""
    least = min(_enough_levels(errors, 1))
    return (max(errors) - least) / _not_zero(least, "the smallest error is 0")


def error_rate(errors: Sequence[float]) -> float:
    """Slope of the least-squares line of the error over the levels, with level 0."""
    levels = range(len(_enough_levels(errors, 2)))
    middle, mean = (len(errors) - 1) / 2, average_error(errors)
    rises = fsum((level - middle) * (error - mean) for level, error in zip(levels, errors, strict=True))
    return rises / fsum((level - middle) ** 2 for level in levels)


def average_error(errors: Sequence[float]) -> float:
    """Mean error over all levels, with level 0."""
    return fsum(_enough_levels(errors, 1)) / len(errors)


def average_difference(errors: Sequence[float]) -> float:
    """Mean increase of the error over level 0, over the levels above it."""
    clean, *above = _enough_levels(errors, 2)
    return fsum(error - clean for error in above) / len(above)


METRICS: dict[str, Callable[[Sequence[float]], float]] = {
    "first_drop": first_drop,
    "range_of_error": range_of_error,
    "error_rate": error_rate,
    "average_error": average_error,
    "average_difference": average_difference,
}


class Vre(Struct, frozen=True, kw_only=True):
    """The five metrics of every cell, and the VRE of each corruption, class and model; a value of None has a reason.

    `metrics` is model -> corruption -> metric; `pool` gives for each metric the minimum and maximum that scale it, and
    the number of cells that have it: VREs of different pools can't be compared. `weights` add up to 1; `used_weights`
    lists those that were renormalised because a metric has no value. Keys of `reasons` are "metric",
    "model/corruption/metric" or "per_model/NAME".
    """

    metrics: dict[str, dict[str, Values]]
    per_corruption: Values
    per_class: Values
    per_model: Values
    pool: dict[str, dict[str, float | int | None]]
    weights: dict[str, float]
    used_weights: dict[str, dict[str, float]]
    reasons: dict[str, str]


def vre(
    errors: Mapping[str, Mapping[str, Errors]],
    *,
    weights: Mapping[str, float] | Sequence[float] | None = None,
    sort_levels: bool = False,
) -> Vre:
    """Evaluate `errors`, model -> corruption -> error rates; weights are by name, or in the order of METRICS.

    Each metric is scaled to [0, 1] by the pool's own minimum and maximum over all models and corruptions. The VRE of a
    model is the weighted sum of the metrics' means over its corruptions, that of a corruption over models, that of a
    class over its cells. `sort_levels` puts each series in rising order first, as the published figures do. Raises
    UsageError for weights that can't be used and for errors outside [0, 1].
    """
    shares = _shares(weights)
    reasons: dict[str, str] = {}
    n_levels = max((len(series) for row in errors.values() for series in row.values()), default=0)
    cells: dict[tuple[str, str], Values] = {}
    for model, row in errors.items():
        for corruption, series in row.items():
            cell = f"{model}/{corruption}"
            cells[model, corruption], missing = metrics_of(series, n_levels, sort_levels=sort_levels, name=cell)
            reasons |= {f"{cell}/{metric}": reason for metric, reason in missing.items()}
    pool = {metric: _pool([cell[metric] for cell in cells.values()]) for metric in METRICS}
    in_pool = {key: {metric: scaled(cell[metric], pool[metric]) for metric in METRICS} for key, cell in cells.items()}
    constant = [metric for metric in METRICS if pool[metric]["min"] == pool[metric]["max"]]
    reasons |= dict.fromkeys(constant, "the pool contains no two different values")
    used: dict[str, dict[str, float]] = {}

    def over(kind: str, group_of: Callable[[str, str], str]) -> Values:
        groups: dict[str, list[Values]] = {}
        for (model, corruption), values in in_pool.items():
            groups.setdefault(group_of(model, corruption), []).append(values)
        return {name: _weighted(values, shares, f"{kind}/{name}", used, reasons) for name, values in groups.items()}

    return Vre(
        metrics={model: {corruption: cells[model, corruption] for corruption in row} for model, row in errors.items()},
        per_corruption=over("per_corruption", lambda model, corruption: corruption),
        per_class=over("per_class", lambda model, corruption: class_of(corruption)),
        per_model=over("per_model", lambda model, corruption: model),
        pool=pool,
        weights=shares,
        used_weights=used,
        reasons=reasons,
    )


def metrics_of(
    errors: Errors, n_levels: int = 0, *, sort_levels: bool = False, name: str = "errors"
) -> tuple[Values, dict[str, str]]:
    """The five metrics of one series, of at least `n_levels`, and the reason for each metric that is None."""
    series: list[float | None] = [*errors, *[None] * (n_levels - len(errors))]
    for error in series:
        if error is not None and not (isfinite(error) and 0 <= error <= 1):
            raise UsageError(f"{name}: {error!r} is not an error rate", hint="give shares in [0, 1], not per cent")
    if sort_levels and None not in series:
        series.sort(key=lambda error: error or 0.0)
    values: Values = {}
    reasons: dict[str, str] = {}
    for metric, formula in METRICS.items():
        try:
            values[metric] = formula(_levels_run(series, 2 if formula is first_drop else len(series)))
        except Undefined as reason:
            values[metric] = None
            reasons[metric] = str(reason)
    return values, reasons


def _levels_run(series: Sequence[float | None], needed: int) -> list[float]:
    missing = [str(level) for level, error in enumerate(series[:needed]) if error is None]
    if missing:
        levels = f"level {missing[0]} was" if len(missing) == 1 else f"levels {', '.join(missing)} were"
        raise Undefined(f"{levels} not run")
    return [error for error in series[:needed] if error is not None]


def _enough_levels(errors: Sequence[float], least: int) -> Sequence[float]:
    if len(errors) < least:
        raise Undefined("no level was run" if least == 1 else "a level above 0 is needed")
    return errors


def _not_zero(value: float, reason: str) -> float:
    if value == 0:
        raise Undefined(reason)
    return value


def _shares(weights: Mapping[str, float] | Sequence[float] | None) -> dict[str, float]:
    raw = dict.fromkeys(METRICS, 1 / len(METRICS)) if weights is None else _weights_by_metric(weights)
    total = fsum(raw.values())
    if any(not isfinite(weight) or weight < 0 for weight in raw.values()) or total == 0:
        raise UsageError(f"weights {list(raw.values())} can't be used", hint="give five of at least 0, not all 0")
    return {metric: weight / total for metric, weight in raw.items()}


def _weights_by_metric(weights: Mapping[str, float] | Sequence[float]) -> dict[str, float]:
    hint = f"the metrics are {', '.join(METRICS)}"
    if isinstance(weights, Mapping):
        if unknown := sorted(weights.keys() - METRICS.keys()):
            raise UsageError(f"weights for unknown metrics: {', '.join(unknown)}", hint=hint)
        return {metric: weights.get(metric, 0.0) for metric in METRICS}
    if len(weights) != len(METRICS):
        raise UsageError(f"{len(weights)} weights are given; {len(METRICS)} are needed", hint=hint)
    return dict(zip(METRICS, weights, strict=True))


def _pool(values: Iterable[float | None]) -> dict[str, float | int | None]:
    known = [value for value in values if value is not None]
    return {"min": min(known, default=None), "max": max(known, default=None), "n": len(known)}


def scaled(value: float | None, pool: Mapping[str, float | int | None]) -> float | None:
    """A metric scaled to [0, 1] by the range of its pool; None if the pool has no range."""
    least, most = pool["min"], pool["max"]
    if value is None or least is None or most is None or least == most:
        return None
    return (value - least) / (most - least)


def _weighted(
    cells: Sequence[Values],
    shares: Mapping[str, float],
    name: str,
    used: dict[str, dict[str, float]],
    reasons: dict[str, str],
) -> float | None:
    """The weighted mean of the metrics' means over `cells`, over the metrics that have one."""
    means: dict[str, float] = {}
    for metric in METRICS:
        known = [value for cell in cells if (value := cell[metric]) is not None]
        if known and shares[metric]:
            means[metric] = fsum(known) / len(known)
    total = fsum(shares[metric] for metric in means)
    if not total:
        reasons[name] = "no metric with a weight has a value that differs in the pool"
        return None
    if len(means) < sum(share > 0 for share in shares.values()):
        used[name] = {metric: shares[metric] / total for metric in means}
    return fsum(shares[metric] / total * mean for metric, mean in means.items())
