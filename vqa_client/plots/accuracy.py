"""Accuracy against level, a panel for each corruption."""

from math import nan
from typing import TYPE_CHECKING, Any

from vqa_client.plots.style import WIDTH_IN, Look, NothingToDraw, figure, legend_below, look, model_lines, titled
from vqa_client.scoring.corrupted_scores import Curves, Figures
from vqa_client.scoring.robustness_pool import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ACROSS = 4
PANEL_IN = 1.85
CLEAN_LINE = (0, (1, 1.6))
MOST_BANDS = 4
SPREAD = 0.5
"""How far the first and the last of many models are apart at one level."""


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
            _panel(panel, found, names[place])
            panel.tick_params(labelbottom=place + across >= len(names))
            panel.set_xlabel("level" if place >= across * (down - 1) else "")
        else:
            panel.set_visible(False)
    drawn.supylabel("accuracy in %", fontsize=8.5)
    handles, named = model_lines(found.models)
    dotted = Line2D([], [], color="#555555", linestyle=CLEAN_LINE, linewidth=0.9)
    legend_below(drawn, [*handles, dotted], [*named, "clean (level 0)"])
    return drawn


def _panel(panel: Any, found: Evaluation, name: str) -> None:
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
