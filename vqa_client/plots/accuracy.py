"""Accuracy by corruption and level: against the level, what is lost of the clean one, and which questions lose most."""

from math import nan
from typing import TYPE_CHECKING, Any

from vqa_client.plots.style import WIDTH_IN, Look, NothingToDraw, figure, legend_below, look, model_lines, shown, titled
from vqa_client.scoring.corrupted_scores import Curves, Evaluation, Figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ACROSS = 4
PANEL_IN = 1.85
CLEAN_LINE = (0, (1, 1.6))
MOST_BANDS = 4
SPREAD = 0.5
"""How far the first and the last of many models are apart at one level."""
COLOURS = "YlOrBr"
ROW_IN = 0.205
TITLE_CHARACTERS = 26
ROWS_FOR_BAR = 5
"""With fewer rows a colour bar has no room, and the cells say their numbers."""
FEW_MODELS = 4
"""So many models get two panels a row; more get four on a wider figure."""
WHITE_FROM = 0.7
"""Share of the colour scale from which white letters are read more easily."""
MOST_TYPES = 20
"""How many types of questions are shown; the evaluation's JSON has all."""


def accuracy_by_level(found: Evaluation) -> "Figure":
    """Each model's accuracy with its 95 % interval, and its clean accuracy as a dotted line.

    Intervals are bands, and lines beside each other where there are so many models that bands would hide each other.
    """
    from matplotlib.lines import Line2D

    names = found.corruptions
    if not names:
        raise NothingToDraw("no corruption was run")
    across = min(MOST_ACROSS, len(names))
    down = -(-len(names) // across)
    width_in = WIDTH_IN if across > 1 else WIDTH_IN / 2
    drawn = figure(width_in, PANEL_IN * max(down, 1.6) + 0.45 + 0.2 * (len(found.models) // 3))
    panels = drawn.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for place, panel in enumerate(panels.flat):
        if place < len(names):
            _level_panel(panel, found, names[place])
            panel.tick_params(labelbottom=place + across >= len(names))
            panel.set_xlabel("level" if place >= across * (down - 1) else "")
        else:
            panel.set_visible(False)
    drawn.supylabel("accuracy in %", fontsize=8.5)
    handles, named = model_lines(found.models)
    dotted = Line2D([], [], color="#555555", linestyle=CLEAN_LINE, linewidth=0.9)
    legend_below(drawn, [*handles, dotted], [*named, "clean (level 0)"])
    return drawn


def _level_panel(panel: Any, found: Evaluation, name: str) -> None:
    panel.set_title(titled(name))
    panel.set_xticks(range(found.n_levels))
    count = len(found.models)
    for number, curves in enumerate(found.models.values()):
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
    """Accuracy and its bounds in per cent; not a number, which leaves a gap, where a level was not run."""
    if of is None or of.accuracy is None or of.interval is None:
        return nan, nan, nan
    return 100 * of.accuracy, 100 * of.interval.low, 100 * of.interval.high


def relative_drop(found: Evaluation) -> "Figure":
    """A heat map for each model, each cell with its number in per cent."""
    rows = found.corruptions
    tables = {model: _drops(curves, rows, found.n_levels) for model, curves in found.models.items()}
    values = [value for table in tables.values() for row in table for value in row if value == value]
    if not values:
        raise NothingToDraw("no model has an accuracy above 0 on clean images and a level above 0")
    across = min(len(tables), 2 if len(tables) <= FEW_MODELS else 4)
    down = -(-len(tables) // across)
    width_in = WIDTH_IN * {1: 0.65, 2: 1.0}.get(across, 1.5)
    drawn = figure(width_in, down * (ROW_IN * len(rows) + 0.55) + 0.45)
    panels = drawn.subplots(down, across, sharey=True, squeeze=False)
    for panel in panels.flat[len(tables) :]:
        panel.set_visible(False)
    top = max(*values, 1.0)
    for panel, (model, table) in zip(panels.flat, tables.items(), strict=False):
        image = _heat_map(panel, table, top)
        panel.set_title(shown(model, TITLE_CHARACTERS))
        panel.set_yticks(range(len(rows)), [titled(name) for name in rows])
    drawn.suptitle("accuracy lost, in % of the clean accuracy", fontsize=8.5)
    if down * len(rows) >= ROWS_FOR_BAR:
        bar = drawn.colorbar(image, ax=list(panels.flat), shrink=0.7, pad=0.02, aspect=30)
        bar.outline.set_visible(False)
    return drawn


def _drops(curves: Curves, rows: list[str], n_levels: int) -> list[list[float]]:
    """Per cent lost at each level from 1 on; not a number where there is none."""
    clean = curves.clean.accuracy if curves.clean else None
    table = []
    for name in rows:
        accuracies = curves.accuracies(name, n_levels)[1:] if name in curves.levels else [None] * (n_levels - 1)
        table.append([100 * (1 - one / clean) if clean and one is not None else float("nan") for one in accuracies])
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


def question_types(found: Evaluation) -> "Figure":
    """The types that surely lose most: points of accuracy over all corrupted images less clean, with 95 % intervals.

    They are ranked by the interval's end next to 0, so that a type of few questions, which may look bad by chance,
    doesn't come first.
    """
    ranked = _ranked(found)
    if not ranked:
        raise NothingToDraw("the questions have no types, or clean and corrupted images no question in common")
    step = max(0.21, 0.075 * len(found.models) + 0.06)
    drawn = figure(WIDTH_IN, step * len(ranked) + 1.0 + 0.2 * (len(found.models) // 3))
    panel = drawn.subplots()
    handles = [_points(panel, found, ranked, number) for number in range(len(found.models))]
    panel.axvline(0, color="#444444", linewidth=0.8)
    panel.set_yticks(range(len(ranked)), [f"{shown(name)} ({_questions(found, name):,})" for name in ranked])
    panel.set_ylim(len(ranked) - 0.45, -0.55)
    panel.set_xlabel("points of accuracy, mean over all corrupted images less clean")
    panel.grid(axis="y", visible=False)
    for row in range(1, len(ranked), 2):
        panel.axhspan(row - 0.5, row + 0.5, color="#F4F4F4", zorder=0, linewidth=0)
    legend_below(drawn, handles, [shown(model) for model in found.models])
    return drawn


def _ranked(found: Evaluation) -> list[str]:
    ends: dict[str, list[float]] = {}
    for curves in found.models.values():
        for name, figures in curves.types.items():
            ends.setdefault(name, []).append(figures.difference.high)
    return sorted(ends, key=lambda name: (sum(ends[name]) / len(ends[name]), name))[:MOST_TYPES]


def _questions(found: Evaluation, name: str) -> int:
    return max(curves.types[name].questions for curves in found.models.values() if name in curves.types)


def _points(panel: Any, found: Evaluation, ranked: list[str], number: int) -> Any:
    style, curves = look(number), list(found.models.values())[number]
    offset = 0.8 * ((number + 0.5) / len(found.models) - 0.5)
    there = [(row + offset, curves.types[name].difference) for row, name in enumerate(ranked) if name in curves.types]
    rows, values = [row for row, _ in there], [100 * less.value for _, less in there]
    ends = [
        [100 * (less.value - less.low) for _, less in there],
        [100 * (less.high - less.value) for _, less in there],
    ]
    return panel.errorbar(
        values, rows, xerr=ends, color=style.colour, marker=style.marker, linestyle="", elinewidth=1, markersize=3.8
    )
