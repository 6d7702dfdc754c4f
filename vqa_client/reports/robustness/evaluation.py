"""The robustness of finished runs: the result files of each, and the files of their evaluation."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from msgspec import Struct
from msgspec.structs import asdict

from vqa_client.files import encode, replacing, write_json
from vqa_client.images.corruptions.table import CORRUPTIONS
from vqa_client.reports.log_reader import LOG_ENDING
from vqa_client.reports.names import safe_name
from vqa_client.reports.run import Pairs, Run
from vqa_client.scoring.corrupted_scores import Curves, Evaluation, Figures
from vqa_client.scoring.robustness import METRICS, class_of, known_name
from vqa_client.tables.delimited import write_rows
from vqa_client.types import ANSWERED, Question, Record
from vqa_client.version import __version__

DATASET = "VQA2.0"
ORIGINAL = "Original"


class _ResultFile:
    """The result file of one variant while it is written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._total = self._correct = self._answered = 0
        file.write(b'{"dataset":' + encode(DATASET) + b',"data":[')

    def add(self, question: Question, record: Record) -> None:
        self._file.write((b",\n" if self._total else b"\n") + encode(_row(question, record)))
        self._total += 1
        self._correct += record.score >= 1.0
        self._answered += record.status in ANSWERED

    def end(self) -> None:
        figures = {"accuracy": round(self._correct / self._total, 5), "totalAnswered": self._answered}
        self._file.write(b"\n]," + encode(figures)[1:] + b"\n")


def write_results(folder: Path, run: Run, pairs: Pairs) -> list[Path]:
    """Write the files of all variants in one walk and give their paths; raises OutputError if one can't be written."""
    files: dict[str, _ResultFile] = {}
    paths: list[Path] = []
    with ExitStack() as open_files:
        for question, record in pairs():
            file = files.get(record.variant)
            if file is None:
                paths.append(result_path(folder, run.model, record.variant))
                file = files[record.variant] = _ResultFile(open_files.enter_context(replacing(paths[-1])))
            file.add(question, record)
        for file in files.values():
            file.end()
    return paths


def result_path(folder: Path, model: str, variant: str) -> Path:
    """The path of a variant's result file."""
    corruption, _, level = variant.partition("/")
    known = CORRUPTIONS.get(corruption)
    name = ORIGINAL if not level else known.folder_at(int(level)) if known else f"{safe_name(corruption)}_L{level}"
    return folder / name / f"{safe_name(model.rsplit('/', 1)[-1])}_{name}.json"


def _row(question: Question, record: Record) -> dict[str, Any]:
    asked = question.extra
    return {
        "correct": record.score >= 1.0,
        "imageID": asked.get("image_id", question.cluster),
        "questionID": asked.get("question_id", question.id),
        "question": question.text,
        "questionType": record.groups.get("question_type"),
        "answer": asked.get("multiple_choice_answer") or next(iter(question.references), None),
        "predicted": _predicted(record),
    }


def _predicted(record: Record) -> str | None:
    if record.status not in ANSWERED:
        return None
    return record.answer if record.answer is not None else record.output or ""


def variants_in(folder: Path) -> Iterator[tuple[Path, str, str, int]]:
    """The result files below a folder, with the model, corruption ("" for clean) and level from their names."""
    for path in sorted(folder.rglob("*.json")):
        name = path.parent.name
        model = path.stem.removesuffix(f"_{name}")
        if model != path.stem and (variant := _variant_of(name)):
            yield path, model, *variant


def _variant_of(folder: str) -> tuple[str, int] | None:
    """The corruption and level in a folder's name, in any usual spelling, such as "Splatter_L2"."""
    if folder.lower() in ("original", "clean"):
        return "", 0
    name, _, level = folder.rpartition("_L")
    if known_name(name) in CORRUPTIONS and level.isdecimal():
        return (known_name(name), int(level)) if int(level) else ("", 0)
    return (known_name(folder), 1) if known_name(folder) in CORRUPTIONS else None


class FoundRun(Struct, frozen=True, kw_only=True):
    """A model's curves and their source: a record log, or a folder of result files.

    `facts` are what runs must have in common to be compared, as far as known.
    """

    model: str
    path: Path
    facts: dict[str, Any]
    curves: Curves
    questions: frozenset[str]
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """A name that differs from that of another run of the same model."""
        return self.path.name.removesuffix(LOG_ENDING)


JSON_NAME = "robustness_evaluation.json"
CSV_NAME = "robustness_evaluation.csv"
LEVELS_NAME = "robustness_levels.csv"
UNIT = "accuracies, errors, intervals and differences are shares in [0, 1]; a difference is less clean"
_LEVEL_HEAD = (
    *("model", "class", "corruption", "level", "total", "answered", "accuracy", "low", "high"),
    *("difference", "difference_low", "difference_high", "higher", "lower", "p"),
)


def write_evaluation(
    folder: Path, evaluation: Evaluation, runs: Sequence[FoundRun], notes: Sequence[str], *, csv_safe: bool = False
) -> tuple[Path, ...]:
    """Write the three files and give their paths; raises OutputError if one can't be written.

    With `csv_safe` no cell of the CSV files is a formula.
    """
    json_path, corruptions_path, levels_path = folder / JSON_NAME, folder / CSV_NAME, folder / LEVELS_NAME
    write_json(json_path, content(evaluation, runs, notes))
    write_rows(corruptions_path, _corruption_rows(evaluation), csv_safe=csv_safe)
    write_rows(levels_path, _level_rows(evaluation), csv_safe=csv_safe)
    return json_path, corruptions_path, levels_path


def content(evaluation: Evaluation, runs: Sequence[FoundRun], notes: Sequence[str]) -> dict[str, Any]:
    """The content of the JSON."""
    vre = evaluation.vre
    return {
        "vqa_client": __version__,
        "unit": UNIT,
        "sort_levels": evaluation.sort_levels,
        "weights": vre.weights,
        "runs": [
            {"model": run.model, "path": str(run.path), "questions": len(run.questions)} | run.facts for run in runs
        ],
        "pool": {
            "models": list(evaluation.models),
            "corruptions": evaluation.corruptions,
            "levels": list(range(evaluation.n_levels)),
            "metrics": vre.pool,
        },
        "vre": {
            "per_model": vre.per_model,
            "per_corruption": {name: vre.per_corruption[name] for name in evaluation.corruptions},
            "per_class": vre.per_class,
            "per_model_by_weighting": evaluation.weightings,
            "used_weights": vre.used_weights,
        },
        "relative_drop": {
            "per_model": {model: evaluation.drop_of_model(model) for model in evaluation.models},
            "per_corruption": {name: evaluation.drop_of_corruption(name) for name in evaluation.corruptions},
        },
        "models": {model: _model(evaluation, model) for model in evaluation.models},
        "reasons": vre.reasons,
        "notes": list(notes),
    }


def _model(evaluation: Evaluation, model: str) -> dict[str, Any]:
    curves = evaluation.models[model]
    return {
        "clean": curves.clean,
        "corruptions": {
            name: {
                "class": class_of(name),
                "metrics": evaluation.vre.metrics[model][name],
                "relative_drop": curves.relative_drop(name),
                "levels": {str(level): figures for level, figures in levels.items()},
            }
            for name, levels in curves.levels.items()
        },
        "classes": {
            name: {"metrics": values, "scaled": evaluation.scaled_by_class[model][name]}
            for name, values in evaluation.by_class[model].items()
        },
        "question_types": {name: asdict(figures) for name, figures in curves.types.items()},
    }


def _corruption_rows(evaluation: Evaluation) -> Iterator[list[Any]]:
    levels = range(evaluation.n_levels)
    yield ["model", "class", "corruption", *(f"accuracy_{level}" for level in levels), *METRICS, "relative_drop"]
    for model, curves in evaluation.models.items():
        for name in curves.levels:
            accuracies = curves.accuracies(name, evaluation.n_levels)
            metrics = evaluation.vre.metrics[model][name]
            yield [model, class_of(name), name, *accuracies, *metrics.values(), curves.relative_drop(name)]


def _level_rows(evaluation: Evaluation) -> Iterator[list[Any]]:
    yield list(_LEVEL_HEAD)
    for model, curves in evaluation.models.items():
        for corruption, level, figures in curves.variants:
            names = (class_of(corruption), corruption) if corruption else ("", "clean")
            yield [model, *names, level, *_level_cells(figures)]


def _level_cells(of: Figures) -> list[Any]:
    bounds = (of.interval.low, of.interval.high) if of.interval else (None, None)
    less = of.difference
    return [
        *(of.total, of.answered, of.accuracy, *bounds),
        *((less.value, less.low, less.high, less.higher, less.lower, less.p) if less else (None,) * 6),
    ]
