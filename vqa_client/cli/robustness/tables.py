"""Robustness in a terminal: one run by corruption and level, and a pool of models by the five metrics and VRE."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from vqa_client.cli.tables import interval_text, new_console, new_table, printed, remarks
from vqa_client.cli.text import safe
from vqa_client.reports.names import percent
from vqa_client.reports.report import Report
from vqa_client.reports.robustness.report import RobustnessSummary
from vqa_client.scoring.corrupted_scores import Curves, Figures
from vqa_client.scoring.corruption_classes import class_of
from vqa_client.scoring.robustness_pool import Evaluation

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


def as_robustness_tables(reports: Sequence[Report]) -> str:
    """The text for a terminal of runs whose summaries are of corrupted images."""
    console = new_console()
    for report in reports:
        summary = cast(RobustnessSummary, report.summary)
        curves = summary.curves
        title = " · ".join(part for part in (report.task, report.variant, report.model) if part)
        console.print(safe(title) + (" (incomplete)" if report.incomplete else ""), style="bold", soft_wrap=True)
        console.print("accuracy in % by corruption and level; questions without a reply count as wrong")
        console.print(f"clean: {_clean(curves.clean)}", soft_wrap=True)
        console.print(_by_level(curves))
        console.print(f"{DIFFERS} differs from clean: the 95 % interval of the paired difference leaves out 0")
        for line in [*summary.notes, *remarks(replace(report, variant=report.variant or report.model))]:
            console.print(line, soft_wrap=True)
        console.print(f"{safe(report.variant or report.model)}: {safe(str(report.path))}", soft_wrap=True)
    return printed(console)


def as_evaluation_tables(found: Evaluation, notes: Sequence[str], paths: Sequence[Path]) -> str:
    """The text for a terminal of a pool of models."""
    console = new_console()
    models = f"{len(found.models)} model{'s' * (len(found.models) != 1)}"
    console.print(f"robustness · {models} · {len(found.corruptions)} corruptions", style="bold")
    shares = ", ".join(f"{SHORT[metric]} {weight:g}" for metric, weight in found.vre.weights.items())
    console.print(f"VRE: 0 is the pool's best, 1 its worst; weights: {shares}", soft_wrap=True)
    if found.sort_levels:
        console.print("levels are sorted by error, as in the published figures")
    console.print(_models(found))
    console.print(_corruptions(found))
    for model, curves in found.models.items():
        console.print(f"{safe(model)}: the five metrics of its error rates", soft_wrap=True)
        console.print(_metrics(found, model))
        if curves.clean:
            console.print("points of accuracy less clean, 95 % intervals of the paired difference")
            console.print(_differences(curves, found.n_levels))
    for line in [*_reasons(found), *notes, *map(str, paths)]:
        console.print(safe(line), soft_wrap=True)
    return printed(console)


def _clean(figures: Figures | None) -> str:
    if figures is None:
        return "not run"
    return f"{percent(figures.accuracy)} ({interval_text(figures.interval)}) of {figures.total:,} questions"


def _by_level(curves: Curves) -> Any:
    asked = sorted({level for levels in curves.levels.values() for level in levels})
    table = new_table("corruption", *map(str, asked), "worst drop", "at", "95 % interval")
    for name, levels in curves.levels.items():
        table.add_row(safe(name), *(_marked(levels.get(level)) for level in asked), *_worst(levels))
    return table


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
    return points(value), str(level), f"{points(less.low)} to {points(less.high)}"


def points(value: float) -> str:
    """A difference of accuracies in points of per cent."""
    return f"{100 * value:+.1f}"


def _models(found: Evaluation) -> Any:
    table = new_table("model", "questions", "clean", "95 % interval", "relative drop %", "VRE")
    for model, curves in found.models.items():
        clean = curves.clean
        table.add_row(
            safe(model),
            f"{clean.total:,}" if clean else "-",
            percent(clean.accuracy if clean else None),
            interval_text(clean.interval if clean else None),
            percent(found.drop_of_model(model)),
            _number(found.vre.per_model[model]),
        )
    return table


def _corruptions(found: Evaluation) -> Any:
    table = new_table("corruption", "class", "relative drop %", "VRE", "VRE of its class")
    for name in found.corruptions:
        class_ = class_of(name)
        drop, vre = percent(found.drop_of_corruption(name)), _number(found.vre.per_corruption[name])
        table.add_row(safe(name), class_, drop, vre, _number(found.vre.per_class[class_]))
    return table


def _metrics(found: Evaluation, model: str) -> Any:
    table = new_table("corruption", *SHORT.values(), "relative drop %")
    curves = found.models[model]
    for name in curves.levels:
        values = found.vre.metrics[model][name]
        table.add_row(safe(name), *(_number(values[m]) for m in SHORT), percent(curves.relative_drop(name)))
    table.add_section()
    for name, of_class in found.by_class[model].items():
        table.add_row(f"class {name}", *(_number(of_class[metric]) for metric in SHORT), "")
    return table


def _differences(curves: Curves, n_levels: int) -> Any:
    table = new_table("corruption", *(f"level {level}" for level in range(1, n_levels)))
    for name, levels in curves.levels.items():
        table.add_row(safe(name), *(_bounds(levels.get(level)) for level in range(1, n_levels)))
    return table


def _bounds(figures: Figures | None) -> str:
    less = figures.difference if figures else None
    return f"{points(less.low)} to {points(less.high)}" if less else "-"


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
