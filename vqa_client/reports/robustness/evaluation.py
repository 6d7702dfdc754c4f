"""The evaluation of several robustness runs: one JSON with everything, and two CSV files for spreadsheets.

All accuracies, intervals, differences and metrics are shares in [0, 1] or made of such.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from vqa_client.files import write_json
from vqa_client.reports.csv_rows import harmless, write_rows
from vqa_client.reports.robustness.results import FoundRun
from vqa_client.scoring.corrupted_scores import Figures
from vqa_client.scoring.corruption_classes import class_of
from vqa_client.scoring.robustness import METRICS
from vqa_client.scoring.robustness_pool import Evaluation
from vqa_client.version import __version__

JSON_NAME = "robustness_evaluation.json"
CSV_NAME = "robustness_evaluation.csv"
LEVELS_NAME = "robustness_levels.csv"
UNIT = "accuracies, errors, intervals and differences are shares in [0, 1]; a difference is less clean"
_LEVEL_HEAD = (
    *("model", "class", "corruption", "level", "total", "answered", "accuracy", "low", "high"),
    *("difference", "difference_low", "difference_high", "higher", "lower", "p"),
)


def write_evaluation(
    folder: Path, found: Evaluation, runs: Sequence[FoundRun], notes: Sequence[str], *, csv_safe: bool = False
) -> tuple[Path, ...]:
    """Write the three files and name them; raises OutputError where one can't be written.

    With `csv_safe` no cell of the CSV files is a formula.
    """
    paths = folder / JSON_NAME, folder / CSV_NAME, folder / LEVELS_NAME
    write_json(paths[0], content(found, runs, notes))
    for path, rows in zip(paths[1:], (_cell_rows(found), chain([_LEVEL_HEAD], _level_rows(found))), strict=True):
        write_rows(path, map(harmless, rows) if csv_safe else rows)
    return paths


def content(found: Evaluation, runs: Sequence[FoundRun], notes: Sequence[str]) -> dict[str, Any]:
    """Give all that the JSON holds."""
    vre = found.vre
    return {
        "vqa_client": __version__,
        "unit": UNIT,
        "sort_levels": found.sort_levels,
        "weights": vre.weights,
        "runs": [
            {"model": run.model, "path": str(run.path), "questions": len(run.questions)} | run.facts for run in runs
        ],
        "pool": {
            "models": list(found.models),
            "corruptions": found.corruptions,
            "levels": list(range(found.n_levels)),
            "metrics": vre.pool,
        },
        "vre": {
            "per_model": vre.per_model,
            "per_corruption": {name: vre.per_corruption[name] for name in found.corruptions},
            "per_class": vre.per_class,
            "per_model_by_weighting": found.weightings,
            "used_weights": vre.used_weights,
        },
        "relative_drop": {
            "per_model": {model: found.drop_of_model(model) for model in found.models},
            "per_corruption": {name: found.drop_of_corruption(name) for name in found.corruptions},
        },
        "models": {model: _model(found, model) for model in found.models},
        "reasons": vre.reasons,
        "notes": list(notes),
    }


def _model(found: Evaluation, model: str) -> dict[str, Any]:
    curves = found.models[model]
    return {
        "clean": curves.clean,
        "corruptions": {
            name: {
                "class": class_of(name),
                "metrics": found.vre.metrics[model][name],
                "relative_drop": curves.relative_drop(name),
                "levels": {str(level): figures for level, figures in levels.items()},
            }
            for name, levels in curves.levels.items()
        },
        "classes": {
            name: {"metrics": values, "scaled": found.scaled_by_class[model][name]}
            for name, values in found.by_class[model].items()
        },
        "question_types": {name: asdict(figures) for name, figures in curves.types.items()},
    }


def _cell_rows(found: Evaluation) -> Iterator[list[Any]]:
    levels = range(found.n_levels)
    yield ["model", "class", "corruption", *(f"accuracy_{level}" for level in levels), *METRICS, "relative_drop"]
    for model, curves in found.models.items():
        for name in curves.levels:
            accuracies = curves.accuracies(name, found.n_levels)
            metrics = found.vre.metrics[model][name]
            yield [model, class_of(name), name, *accuracies, *metrics.values(), curves.relative_drop(name)]


def _level_rows(found: Evaluation) -> Iterator[list[Any]]:
    for model, curves in found.models.items():
        for corruption, level, figures in curves.variants:
            yield [model, *_named(corruption), level, *_figures(figures)]


def _named(corruption: str) -> tuple[str, str]:
    return (class_of(corruption), corruption) if corruption else ("", "clean")


def _figures(of: Figures) -> list[Any]:
    bounds = (of.interval.low, of.interval.high) if of.interval else (None, None)
    less = of.difference
    return [
        *(of.total, of.answered, of.accuracy, *bounds),
        *((less.value, less.low, less.high, less.higher, less.lower, less.p) if less else (None,) * 6),
    ]
