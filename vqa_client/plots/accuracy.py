"""Figures of robustness: accuracy by corruption and level, the five metrics by class, and visual robustness error."""

from math import cos, nan, pi, sin
from typing import TYPE_CHECKING, Any

from vqa_client.plots.style import (
    WIDTH_IN,
    Look,
    NothingToDraw,
    figure,
    legend_below,
    look,
    model_lines,
    panels,
    shown,
    titled,
)
from vqa_client.scoring.corrupted_scores import Curves, Evaluation, Figures, classes_of
from vqa_client.scoring.robustness import METRICS, class_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ACROSS = 4
PANEL_IN = 1.85
CLEAN_LINE = (0, (1, 1.6))
MOST_BANDS = 4
SPREAD = 0.5
"""The distance between the first and the last of many models at one level."""
COLOURS = "YlOrBr"
ROW_IN = 0.205
TITLE_CHARACTERS = 26
ROWS_FOR_BAR = 5
"""With fewer rows a colour bar doesn't fit; the cells have numbers anyway."""
FEW_MODELS = 4
"""Up to this many models get two panels per row; more get four on a wider figure."""
WHITE_FROM = 0.7
"""From this share of the colour scale, white letters are easier to read."""
MOST_TYPES = 20
"""How many types of questions are shown; the evaluation's JSON has all."""


def accuracy_by_level(evaluation: Evaluation) -> "Figure":
    """Each model's accuracy with its 95 % interval, and its clean accuracy as a dotted line.

    Intervals are bands; with many models they are lines side by side, since bands would hide each other.
    """
    from matplotlib.lines import Line2D

    names = evaluation.corruptions
    if not names:
        raise NothingToDraw("no corruption was run")
    across = min(MOST_ACROSS, len(names))
    down = -(-len(names) // across)
    width_in = WIDTH_IN if across > 1 else WIDTH_IN / 2
    chart = figure(width_in, PANEL_IN * max(down, 1.6) + 0.45 + 0.2 * (len(evaluation.models) // 3))
    for place, panel in enumerate(panels(chart, len(names), across, sharex=True, sharey=True)):
        _level_panel(panel, evaluation, names[place])
        panel.tick_params(labelbottom=place + across >= len(names))
        panel.set_xlabel("level" if place >= across * (down - 1) else "")
    chart.supylabel("accuracy in %", fontsize=8.5)
    handles, models = model_lines(evaluation.models)
    dotted = Line2D([], [], color="#555555", linestyle=CLEAN_LINE, linewidth=0.9)
    legend_below(chart, [*handles, dotted], [*models, "clean (level 0)"])
    return chart


def _level_panel(panel: Any, evaluation: Evaluation, name: str) -> None:
    panel.set_title(titled(name))
    panel.set_xticks(range(evaluation.n_levels))
    count = len(evaluation.models)
    for number, curves in enumerate(evaluation.models.values()):
        if name in curves.levels:
            aside = None if count <= MOST_BANDS else SPREAD * ((number + 0.5) / count - 0.5)
            _curve(panel, curves, name, look(number), aside)


def _curve(panel: Any, curves: Curves, name: str, style: Look, aside: float | None) -> None:
    figures = {0: curves.clean, **curves.levels[name]}
    points = [_point(figures.get(level)) for level in range(max(figures) + 1)]
    if curves.clean and curves.clean.accuracy is not None:
        panel.axhline(100 * curves.clean.accuracy, color=style.colour, linestyle=CLEAN_LINE, linewidth=0.9)
    accuracies, lows, highs = zip(*points, strict=True)
    levels = [level + (aside or 0) for level in range(len(points))]
    if aside is None:
        panel.fill_between(levels, lows, highs, color=style.colour, alpha=0.13, linewidth=0)
    else:
        panel.vlines(levels, lows, highs, color=style.colour, linewidth=0.7, alpha=0.7)
    panel.plot(levels, accuracies, color=style.colour, marker=style.marker, linestyle=style.line)


def _point(of: Figures | None) -> tuple[float, float, float]:
    """Accuracy and its bounds in per cent; NaN, which leaves a gap, if a level was not run."""
    if of is None or of.accuracy is None or of.interval is None:
        return nan, nan, nan
    return 100 * of.accuracy, 100 * of.interval.low, 100 * of.interval.high


def relative_drop(evaluation: Evaluation) -> "Figure":
    """A heat map for each model, with a number in per cent in each cell."""
    rows = evaluation.corruptions
    tables = {model: _drops(curves, rows, evaluation.n_levels) for model, curves in evaluation.models.items()}
    values = [value for table in tables.values() for row in table for value in row if value == value]
    if not values:
        raise NothingToDraw("no model has an accuracy above 0 on clean images and a level above 0")
    across = min(len(tables), 2 if len(tables) <= FEW_MODELS else 4)
    down = -(-len(tables) // across)
    width_in = WIDTH_IN * {1: 0.65, 2: 1.0}.get(across, 1.5)
    chart = figure(width_in, down * (ROW_IN * len(rows) + 0.55) + 0.45)
    top = max(*values, 1.0)
    for panel, (model, table) in zip(panels(chart, len(tables), across, sharey=True), tables.items(), strict=True):
        image = _heat_map(panel, table, top)
        panel.set_title(shown(model, TITLE_CHARACTERS))
        panel.set_yticks(range(len(rows)), [titled(name) for name in rows])
    chart.suptitle("accuracy lost, in % of the clean accuracy", fontsize=8.5)
    if down * len(rows) >= ROWS_FOR_BAR:
        bar = chart.colorbar(image, ax=chart.axes, shrink=0.7, pad=0.02, aspect=30)
        bar.outline.set_visible(False)
    return chart


def _drops(curves: Curves, rows: list[str], n_levels: int) -> list[list[float]]:
    """Per cent lost at each level from 1; NaN if unknown."""
    clean = curves.clean.accuracy if curves.clean else None
    table = []
    for name in rows:
        row = curves.accuracies(name, n_levels)[1:] if name in curves.levels else [None] * (n_levels - 1)
        table.append([100 * (1 - share / clean) if clean and share is not None else nan for share in row])
    return table


def _heat_map(panel: Any, table: list[list[float]], top: float) -> Any:
    image = panel.imshow(table, cmap=COLOURS, vmin=0, vmax=top, aspect="auto")
    panel.set_xticks(range(len(table[0])), [f"{level}" for level in range(1, len(table[0]) + 1)])
    panel.set_xlabel("level")
    panel.grid(False)
    panel.spines[:].set_visible(False)
    panel.tick_params(length=0)
    for row, values in enumerate(table):
        for column, value in enumerate(values):
            colour = "white" if value > WHITE_FROM * top else "black"
            panel.text(column, row, _cell(value), ha="center", va="center", color=colour, fontsize=7.5)
    return image


def _cell(value: float) -> str:
    text = "" if value != value else f"{value:.1f}".replace("-", "−")
    return "0.0" if text == "−0.0" else text


def question_types(evaluation: Evaluation) -> "Figure":
    """The question types that lose most: points of accuracy over all corrupted images less clean, with 95 % intervals.

    They are ranked by the interval's end next to 0, so that a type with few questions, which may look bad by chance,
    doesn't come first.
    """
    ranked = _ranked(evaluation)
    if not ranked:
        raise NothingToDraw("the questions have no types, or clean and corrupted images no question in common")
    step = max(0.21, 0.075 * len(evaluation.models) + 0.06)
    chart = figure(WIDTH_IN, step * len(ranked) + 1.0 + 0.2 * (len(evaluation.models) // 3))
    panel = chart.subplots()
    handles = [_points(panel, evaluation, ranked, number) for number in range(len(evaluation.models))]
    panel.axvline(0, color="#444444", linewidth=0.8)
    panel.set_yticks(range(len(ranked)), [f"{shown(name)} ({_questions(evaluation, name):,})" for name in ranked])
    panel.set_ylim(len(ranked) - 0.45, -0.55)
    panel.set_xlabel("points of accuracy, mean over all corrupted images less clean")
    panel.grid(axis="y", visible=False)
    for row in range(1, len(ranked), 2):
        panel.axhspan(row - 0.5, row + 0.5, color="#F4F4F4", zorder=0, linewidth=0)
    legend_below(chart, handles, [shown(model) for model in evaluation.models])
    return chart


def _ranked(evaluation: Evaluation) -> list[str]:
    ends: dict[str, list[float]] = {}
    for curves in evaluation.models.values():
        for name, figures in curves.types.items():
            ends.setdefault(name, []).append(figures.difference.high)
    return sorted(ends, key=lambda name: (sum(ends[name]) / len(ends[name]), name))[:MOST_TYPES]


def _questions(evaluation: Evaluation, name: str) -> int:
    return max(curves.types[name].questions for curves in evaluation.models.values() if name in curves.types)


def _points(panel: Any, evaluation: Evaluation, ranked: list[str], number: int) -> Any:
    style, curves = look(number), list(evaluation.models.values())[number]
    offset = 0.8 * ((number + 0.5) / len(evaluation.models) - 0.5)
    known = [(row + offset, curves.types[name].difference) for row, name in enumerate(ranked) if name in curves.types]
    rows, values = [row for row, _ in known], [100 * less.value for _, less in known]
    ends = [[100 * (less.value - less.low) for _, less in known], [100 * (less.high - less.value) for _, less in known]]
    return panel.errorbar(
        values, rows, xerr=ends, color=style.colour, marker=style.marker, linestyle="", elinewidth=1, markersize=3.8
    )


TITLES = {
    "equal": "equal",
    "first_drop": "first\ndrop",
    "range_of_error": "range",
    "error_rate": "slope",
    "average_error": "mean\nerror",
    "average_difference": "mean\ndifference",
}
VRE_ACROSS = 3
LABEL_RADIUS = 1.07
LEVEL = 0.35
"""A label within this share of the radius from an axis is centred on it."""
FEW_BARS = 4
"""Up to this many models have their numbers above their bars."""
_NO_VRE = "no metric has two different values in the pool"


def metrics_by_class(evaluation: Evaluation) -> "Figure":
    """A panel for each class of corruptions; 0, the centre, is the pool's best value of a metric and 1 its worst."""
    names = classes_of(evaluation.corruptions)
    values = [value for row in evaluation.scaled_by_class.values() for of in row.values() for value in of.values()]
    if all(value is None for value in values):
        raise NothingToDraw(_NO_VRE)
    across = min(VRE_ACROSS, len(names))
    down = -(-len(names) // across)
    chart = figure(max(WIDTH_IN * across / VRE_ACROSS, 3.4), 2.45 * down + 0.35 + 0.2 * (len(evaluation.models) // 3))
    polar = panels(chart, len(names), across, subplot_kw={"projection": "polar"})
    for panel, name in zip(polar, names, strict=True):
        _metrics_panel(panel, evaluation, name)
    legend_below(chart, *model_lines(evaluation.models))
    return chart


def _metrics_panel(panel: Any, evaluation: Evaluation, name: str) -> None:
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
    for number, row in enumerate(evaluation.scaled_by_class.values()):
        if name in row:
            _polygon(panel, angles, [row[name][metric] for metric in METRICS], number)


def _polygon(panel: Any, angles: list[float], values: list[float | None], number: int) -> None:
    style = look(number)
    known = [(angle, value) for angle, value in zip(angles, values, strict=True) if value is not None]
    if known:
        around, out = zip(*known, known[0], strict=True)
        panel.plot(
            around, out, color=style.colour, marker=style.marker, linestyle=style.line, markersize=3.6, clip_on=False
        )
        panel.fill(around, out, color=style.colour, alpha=0.06)


def vre_by_weighting(evaluation: Evaluation) -> "Figure":
    """Bars of each model with equal weights, and with 0.6 on one metric and 0.1 on each other."""
    if all(value is None for row in evaluation.weightings.values() for value in row.values()):
        raise NothingToDraw(_NO_VRE)
    chart = figure(WIDTH_IN, 3.1 + 0.2 * (len(evaluation.models) // 3))
    panel = chart.subplots()
    width = 0.82 / len(evaluation.models)
    bars = []
    for number, model in enumerate(evaluation.models):
        style, values = look(number), [row[model] for row in evaluation.weightings.values()]
        places = [place - 0.41 + width * (number + 0.5) for place in range(len(values))]
        heights = [value or 0.0 for value in values]
        bars.append(panel.bar(places, heights, width * 0.94, **_filling(style)))
        if len(evaluation.models) <= FEW_BARS:
            panel.bar_label(bars[-1], [_number(value) for value in values], fontsize=7, padding=1.5)
    panel.set_xticks(range(len(evaluation.weightings)), [TITLES[name] for name in evaluation.weightings])
    panel.set_xlabel("weight 0.6 on the metric named, 0.1 on each other; or all equal")
    panel.set_ylabel("VRE (lower is more robust)")
    panel.margins(y=0.1)
    panel.set_ylim(bottom=0)
    panel.grid(axis="x", visible=False)
    legend_below(chart, bars, [shown(model) for model in evaluation.models])
    return chart


def vre_by_corruption(evaluation: Evaluation) -> "Figure":
    """A bar for each corruption over all models, the worst first, coloured by class."""
    from matplotlib.patches import Patch

    values = {name: value for name, value in evaluation.vre.per_corruption.items() if value is not None}
    if not values:
        raise NothingToDraw(_NO_VRE)
    ranked = sorted(values, key=lambda name: values[name])
    chart = figure(WIDTH_IN * 0.8, 0.22 * len(ranked) + 1.3)
    panel = chart.subplots()
    classes = classes_of(evaluation.corruptions)
    for row, name in enumerate(ranked):
        bar = panel.barh(row, values[name], 0.74, **_filling(look(classes.index(class_of(name)))))
        panel.bar_label(bar, [f"{values[name]:.3f}"], fontsize=7.5, padding=2)
    panel.set_yticks(range(len(ranked)), [titled(name) for name in ranked])
    panel.set_ylim(-0.6, len(ranked) - 0.4)
    panel.margins(x=0.09)
    panel.set_xlabel("VRE over all models (lower does less harm)")
    panel.grid(axis="y", visible=False)
    legend_below(chart, [Patch(**_filling(look(number))) for number in range(len(classes))], classes)
    return chart


def vre_against_accuracy(evaluation: Evaluation) -> "Figure":
    """A point for each model; the line through it is the 95 % interval of its clean accuracy."""
    known = [
        (number, model, clean.accuracy, clean.interval, value)
        for number, (model, curves) in enumerate(evaluation.models.items())
        if (clean := curves.clean) and clean.accuracy is not None
        if (value := evaluation.vre.per_model[model]) is not None
    ]
    if not known:
        raise NothingToDraw("no model has both a clean accuracy and a VRE")
    chart = figure(WIDTH_IN * 0.7, 3.5 + 0.2 * (len(known) // 2))
    panel = chart.subplots()
    handles = []
    for number, _, accuracy, bounds, value in known:
        style = look(number)
        if bounds:
            panel.plot([100 * bounds.low, 100 * bounds.high], [value, value], color=style.colour, linewidth=1)
        handles += panel.plot([100 * accuracy], [value], color=style.colour, marker=style.marker, markersize=7, ls="")
    panel.set_xlabel("accuracy on clean images in %")
    panel.set_ylabel("VRE (lower is more robust)")
    panel.margins(0.12)
    legend_below(chart, handles, [shown(model) for _, model, _, _, _ in known])
    return chart


def _filling(style: Look) -> dict[str, Any]:
    return {"facecolor": "white" if style.hatch else style.colour, "edgecolor": style.colour, "hatch": style.hatch}


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
