"""The share of its clean accuracy that a model loses, by corruption and level."""

from typing import TYPE_CHECKING, Any

from vqa_client.plots.style import WIDTH_IN, NothingToDraw, figure, shown, titled
from vqa_client.scoring.corrupted_scores import Curves
from vqa_client.scoring.robustness_pool import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = "YlOrBr"
ROW_IN = 0.205
TITLE_CHARACTERS = 26
ROWS_FOR_BAR = 5
"""With fewer rows a colour bar has no room, and the cells say their numbers."""
FEW_MODELS = 4
"""So many models get two panels a row; more get four on a wider figure."""
WHITE_FROM = 0.7
"""Share of the colour scale from which white letters are read more easily."""


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
        image = _panel(panel, table, top)
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


def _panel(panel: Any, table: list[list[float]], top: float) -> Any:
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
