"""Which questions suffer most."""

from typing import TYPE_CHECKING, Any

from vqa_client.plots.style import WIDTH_IN, NothingToDraw, figure, legend_below, look, shown
from vqa_client.scoring.robustness_pool import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 20
"""How many types are shown; the evaluation's JSON has all."""


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
    return sorted(ends, key=lambda name: (sum(ends[name]) / len(ends[name]), name))[:MOST]


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
