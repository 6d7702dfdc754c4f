"""Figures of a robustness evaluation as PNG and SVG, fit for print and for colour-blind readers."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from vqa_client.plots.accuracy import (
    accuracy_by_level,
    metrics_by_class,
    question_types,
    relative_drop,
    vre_against_accuracy,
    vre_by_corruption,
    vre_by_weighting,
)
from vqa_client.plots.contact_sheet import CONTACT_SHEET, contact_sheet
from vqa_client.plots.style import NothingToDraw, needs_extra, save, styled
from vqa_client.scoring.corrupted_scores import Evaluation

__all__ = ["CONTACT_SHEET", "FIGURES", "contact_sheet", "draw", "needs_extra"]


if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES: dict[str, Callable[[Evaluation], "Figure"]] = {
    "accuracy_by_level": accuracy_by_level,
    "relative_drop": relative_drop,
    "metrics_by_class": metrics_by_class,
    "vre_by_weighting": vre_by_weighting,
    "vre_by_corruption": vre_by_corruption,
    "vre_against_accuracy": vre_against_accuracy,
    "question_types": question_types,
}


def draw(evaluation: Evaluation, folder: Path) -> tuple[list[Path], list[str]]:
    """Draw all figures that have data; give the files, and why others are missing.

    Raises OutputError if a file can't be written, UsageError without matplotlib.
    """
    paths: list[Path] = []
    missing: list[str] = []
    with styled():
        for name, figure_of in FIGURES.items():
            try:
                paths += save(figure_of(evaluation), folder, name)
            except NothingToDraw as reason:
                missing.append(f"no {name}: {reason}")
    return paths, missing
