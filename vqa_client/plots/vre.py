"""The visual robustness error of models and corruptions."""

from typing import TYPE_CHECKING, Any

from vqa_client.plots.style import WIDTH_IN, Look, NothingToDraw, figure, legend_below, look, shown, titled
from vqa_client.scoring.robustness import class_of
from vqa_client.scoring.robustness_pool import Evaluation, classes_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {
    "equal": "equal",
    "first_drop": "first\ndrop",
    "range_of_error": "range",
    "error_rate": "slope",
    "average_error": "mean\nerror",
    "average_difference": "mean\ndifference",
}
FEW_BARS = 4
"""So many models have their numbers above their bars."""
_NO_VRE = "no metric has two different values in the pool"


def vre_by_weighting(found: Evaluation) -> "Figure":
    """Bars of each model with all weights alike, and with 0.6 on one metric and 0.1 on each other."""
    if all(value is None for row in found.weightings.values() for value in row.values()):
        raise NothingToDraw(_NO_VRE)
    drawn = figure(WIDTH_IN, 3.1 + 0.2 * (len(found.models) // 3))
    panel = drawn.subplots()
    width = 0.82 / len(found.models)
    bars = []
    for number, model in enumerate(found.models):
        style, values = look(number), [row[model] for row in found.weightings.values()]
        places = [place - 0.41 + width * (number + 0.5) for place in range(len(values))]
        heights = [value or 0.0 for value in values]
        bars.append(panel.bar(places, heights, width * 0.94, **_filling(style)))
        if len(found.models) <= FEW_BARS:
            panel.bar_label(bars[-1], [_number(value) for value in values], fontsize=7, padding=1.5)
    panel.set_xticks(range(len(found.weightings)), [TITLES[name] for name in found.weightings])
    panel.set_xlabel("weight 0.6 on the metric named, 0.1 on each other; or all equal")
    panel.set_ylabel("VRE (lower is more robust)")
    panel.margins(y=0.1)
    panel.set_ylim(bottom=0)
    panel.grid(axis="x", visible=False)
    legend_below(drawn, bars, [shown(model) for model in found.models])
    return drawn


def vre_by_corruption(found: Evaluation) -> "Figure":
    """Bars of each corruption, over all models, the worst first; told apart by class."""
    values = {name: value for name, value in found.vre.per_corruption.items() if value is not None}
    if not values:
        raise NothingToDraw(_NO_VRE)
    ranked = sorted(values, key=lambda name: values[name])
    drawn = figure(WIDTH_IN * 0.8, 0.22 * len(ranked) + 1.3)
    panel = drawn.subplots()
    classes = classes_of(found.corruptions)
    for row, name in enumerate(ranked):
        bar = panel.barh(row, values[name], 0.74, **_filling(look(classes.index(class_of(name)))))
        panel.bar_label(bar, [f"{values[name]:.3f}"], fontsize=7.5, padding=2)
    panel.set_yticks(range(len(ranked)), [titled(name) for name in ranked])
    panel.set_ylim(-0.6, len(ranked) - 0.4)
    panel.margins(x=0.09)
    panel.set_xlabel("VRE over all models (lower does less harm)")
    panel.grid(axis="y", visible=False)
    legend_below(drawn, *_class_legend(classes))
    return drawn


def vre_against_accuracy(found: Evaluation) -> "Figure":
    """A point for each model; the line through it is the 95 % interval of its clean accuracy."""
    there = [
        (number, model, clean.accuracy, clean.interval, value)
        for number, (model, curves) in enumerate(found.models.items())
        if (clean := curves.clean) and clean.accuracy is not None
        if (value := found.vre.per_model[model]) is not None
    ]
    if not there:
        raise NothingToDraw("no model has both a clean accuracy and a VRE")
    drawn = figure(WIDTH_IN * 0.7, 3.5 + 0.2 * (len(there) // 2))
    panel = drawn.subplots()
    handles = []
    for number, _, accuracy, bounds, value in there:
        style = look(number)
        if bounds:
            panel.plot([100 * bounds.low, 100 * bounds.high], [value, value], color=style.colour, linewidth=1)
        handles += panel.plot([100 * accuracy], [value], color=style.colour, marker=style.marker, markersize=7, ls="")
    panel.set_xlabel("accuracy on clean images in %")
    panel.set_ylabel("VRE (lower is more robust)")
    panel.margins(0.12)
    legend_below(drawn, handles, [shown(model) for _, model, _, _, _ in there])
    return drawn


def _class_legend(classes: list[str]) -> tuple[list[Any], list[str]]:
    from matplotlib.patches import Patch

    return [Patch(**_filling(look(number))) for number in range(len(classes))], classes


def _filling(style: Look) -> dict[str, Any]:
    return {"facecolor": "white" if style.hatch else style.colour, "edgecolor": style.colour, "hatch": style.hatch}


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
