"""The five metrics of each class of corruptions, as polygons."""

from math import cos, pi, sin
from typing import TYPE_CHECKING, Any

from vqa_client.plots.style import WIDTH_IN, NothingToDraw, figure, legend_below, look, shown
from vqa_client.scoring.robustness import METRICS
from vqa_client.scoring.robustness_pool import Evaluation, classes_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {
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


def metrics_by_class(found: Evaluation) -> "Figure":
    """A panel for each class; 0, the centre, is the pool's best value of a metric and 1 its worst."""
    names = classes_of(found.corruptions)
    values = [value for row in found.scaled_by_class.values() for of in row.values() for value in of.values()]
    if all(value is None for value in values):
        raise NothingToDraw("no metric has two different values in the pool")
    across = min(MOST_ACROSS, len(names))
    down = -(-len(names) // across)
    drawn = figure(max(WIDTH_IN * across / MOST_ACROSS, 3.4), 2.45 * down + 0.35 + 0.2 * (len(found.models) // 3))
    panels = drawn.subplots(down, across, subplot_kw={"projection": "polar"}, squeeze=False)
    for panel in panels.flat[len(names) :]:
        panel.set_visible(False)
    for panel, name in zip(panels.flat, names, strict=False):
        _panel(panel, found, name)
    legend_below(drawn, *_legend(found))
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
        panel.text(angle, LABEL_RADIUS, LABELS[metric], ha=side, va=height, fontsize=7.5)
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


def _legend(found: Evaluation) -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D

    styles = [look(number) for number in range(len(found.models))]
    handles = [Line2D([], [], color=one.colour, marker=one.marker, linestyle=one.line) for one in styles]
    return handles, [shown(model) for model in found.models]
