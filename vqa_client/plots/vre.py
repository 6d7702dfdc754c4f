"""The five metrics of robustness by class of corruptions, and the visual robustness error that they make."""

from math import cos, pi, sin
from typing import TYPE_CHECKING, Any

from vqa_client.plots.style import WIDTH_IN, Look, NothingToDraw, figure, legend_below, look, model_lines, shown, titled
from vqa_client.scoring.corrupted_scores import Evaluation, classes_of
from vqa_client.scoring.robustness import METRICS, class_of

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
MOST_ACROSS = 3
LABEL_RADIUS = 1.07
LEVEL = 0.35
"""A label so near the middle, across or up, as a share of the radius, is centred there."""
FEW_BARS = 4
"""So many models have their numbers above their bars."""
_NO_VRE = "no metric has two different values in the pool"


def metrics_by_class(found: Evaluation) -> "Figure":
    """A panel for each class; 0, the centre, is the pool's best value of a metric and 1 its worst."""
    names = classes_of(found.corruptions)
    values = [value for row in found.scaled_by_class.values() for of in row.values() for value in of.values()]
    if all(value is None for value in values):
        raise NothingToDraw(_NO_VRE)
    across = min(MOST_ACROSS, len(names))
    down = -(-len(names) // across)
    drawn = figure(max(WIDTH_IN * across / MOST_ACROSS, 3.4), 2.45 * down + 0.35 + 0.2 * (len(found.models) // 3))
    panels = drawn.subplots(down, across, subplot_kw={"projection": "polar"}, squeeze=False)
    for panel in panels.flat[len(names) :]:
        panel.set_visible(False)
    for panel, name in zip(panels.flat, names, strict=False):
        _panel(panel, found, name)
    legend_below(drawn, *model_lines(found.models))
    return drawn


def _panel(panel: Any, found: Evaluation, name: str) -> None:
    angles = [2 * pi * place / len(METRICS) for place in range(len(METRICS))]
    panel.set_title(name, pad=26)
    panel.set_theta_offset(pi / 2)
    panel.set_theta_direction(-1)
    panel.set_ylim(0, 1)
    panel.set_yticks([0.25, 0.5, 0.75, 1], ["", "0.5", "", "1"], fontsize=7, color="#444444")
    panel.set_rlabel_position(36)
    panel.set_xticks(angles, [])
    for angle, metric in zip(angles, METRICS, strict=True):
        across, up = sin(angle), cos(angle)
        side = "center" if abs(across) < LEVEL else "left" if across > 0 else "right"
        height = "center" if abs(up) < LEVEL else "bottom" if up > 0 else "top"
        panel.text(angle, LABEL_RADIUS, TITLES[metric], ha=side, va=height, fontsize=7.5)
    panel.spines["polar"].set_color("#BBBBBB")
    for number, row in enumerate(found.scaled_by_class.values()):
        if name in row:
            _polygon(panel, angles, [row[name][metric] for metric in METRICS], number)


def _polygon(panel: Any, angles: list[float], values: list[float | None], number: int) -> None:
    style = look(number)
    there = [(angle, value) for angle, value in zip(angles, values, strict=True) if value is not None]
    if there:
        around, out = zip(*there, there[0], strict=True)
        panel.plot(
            around, out, color=style.colour, marker=style.marker, linestyle=style.line, markersize=3.6, clip_on=False
        )
        panel.fill(around, out, color=style.colour, alpha=0.06)


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
