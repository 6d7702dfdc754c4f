"""Robustness in a terminal: one run by corruption and level, and a pool of models by the five metrics and VRE."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from vqa_client.reports.names import count, interval_text, percent
from vqa_client.reports.report import Report
from vqa_client.reports.robustness.report import RobustnessSummary
from vqa_client.reports.sections import Section, bounds, points
from vqa_client.scoring.corrupted_scores import Curves, Evaluation, Figures
from vqa_client.scoring.robustness import class_of

DIFFERS = "*"
SHORT = {
    "first_drop": "first drop",
    "range_of_error": "range",
    "error_rate": "slope",
    "average_error": "mean error",
    "average_difference": "difference",
}
"""The five metrics as a table's columns."""
EXAMPLES = 3


def of_robustness(report: Report, summary: RobustnessSummary) -> Iterator[Section]:
    """A run's accuracies by corruption and level."""
    curves, clean = summary.curves, summary.curves.clean
    of_clean = "not run"
    if clean:
        of_clean = f"{percent(clean.accuracy)} ({interval_text(clean.interval)}) of {clean.total:,} questions"
    what = "accuracy in % by corruption and level; questions without a reply count as wrong"
    yield Section(notes=[what, f"clean: {of_clean}"])
    asked = sorted({level for levels in curves.levels.values() for level in levels})
    rows = [
        [name, *(_marked(levels.get(level)) for level in asked), *_worst(levels)]
        for name, levels in curves.levels.items()
    ]
    differs = f"{DIFFERS} differs from clean: the 95 % interval of the paired difference leaves out 0"
    columns = ["corruption", *map(str, asked), "worst drop", "at", "95 % interval"]
    yield Section(columns=columns, rows=rows, notes=[differs, *summary.notes])


def of_pool(found: Evaluation, notes: Sequence[str], paths: Sequence[Path]) -> Iterator[Section]:
    """A pool of models, judged together."""
    title = f"robustness · {count(len(found.models), 'model')} · {len(found.corruptions)} corruptions"
    shares = ", ".join(f"{SHORT[metric]} {weight:g}" for metric, weight in found.vre.weights.items())
    said = [f"VRE: 0 is the pool's best, 1 its worst; weights: {shares}"]
    said += ["levels are sorted by error, as in the published figures"] if found.sort_levels else []
    yield Section(title=title, notes=said)
    columns = ["model", "questions", "clean", "95 % interval", "relative drop %", "VRE"]
    yield Section(columns=columns, rows=[_model(found, model, curves) for model, curves in found.models.items()])
    columns = ["corruption", "class", "relative drop %", "VRE", "VRE of its class"]
    yield Section(columns=columns, rows=[_corruption(found, name) for name in found.corruptions])
    for model, curves in found.models.items():
        yield Section(notes=[f"{model}: the five metrics of its error rates"])
        yield Section(columns=["corruption", *SHORT.values(), "relative drop %"], rows=_metrics(found, model))
        if curves.clean:
            yield Section(notes=["points of accuracy less clean, 95 % intervals of the paired difference"])
            levels = range(1, found.n_levels)
            rows = [[name, *(_bounds(of.get(level)) for level in levels)] for name, of in curves.levels.items()]
            yield Section(columns=["corruption", *(f"level {level}" for level in levels)], rows=rows)
    yield Section(notes=[*_reasons(found), *notes, *map(str, paths)])


def _marked(figures: Figures | None) -> str:
    """An accuracy, and whether it differs from the clean one."""
    if figures is None:
        return "- "
    less = figures.difference
    return percent(figures.accuracy) + (DIFFERS if less and not less.low <= 0 <= less.high else " ")


def _worst(levels: Mapping[int, Figures]) -> tuple[str, str, str]:
    drops = [(less.value, level, less) for level, figures in levels.items() if (less := figures.difference)]
    if not drops:
        return "-", "-", "-"
    value, level, less = min(drops, key=lambda drop: drop[:2])
    return points(value), str(level), bounds(less)


def _model(found: Evaluation, model: str, curves: Curves) -> list[str]:
    clean = curves.clean
    return [
        model,
        f"{clean.total:,}" if clean else "-",
        percent(clean.accuracy if clean else None),
        interval_text(clean.interval if clean else None),
        percent(found.drop_of_model(model)),
        _number(found.vre.per_model[model]),
    ]


def _corruption(found: Evaluation, name: str) -> list[str]:
    class_ = class_of(name)
    drop, vre = percent(found.drop_of_corruption(name)), _number(found.vre.per_corruption[name])
    return [name, class_, drop, vre, _number(found.vre.per_class[class_])]


def _metrics(found: Evaluation, model: str) -> list[list[str]]:
    curves, of_model = found.models[model], found.vre.metrics[model]
    drops = {name: percent(curves.relative_drop(name)) for name in curves.levels}
    alone = [[name, *(_number(of_model[name][metric]) for metric in SHORT), drop] for name, drop in drops.items()]
    classes = found.by_class[model].items()
    return alone + [[f"class {name}", *(_number(of[metric]) for metric in SHORT), ""] for name, of in classes]


def _bounds(figures: Figures | None) -> str:
    return bounds(figures.difference) if figures and figures.difference else "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _reasons(found: Evaluation) -> Iterator[str]:
    """Why figures are missing, each reason once, and by which weights a VRE was made without them."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in found.vre.reasons.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        yield f"no value, {reason}: {_some(names)}"
    if used := found.vre.used_weights:
        yield f"weights made 1 in all without the missing metrics: {_some(list(used))}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - EXAMPLES
    return ", ".join(names[:EXAMPLES]) + (f" and {more} more" if more > 0 else "")
