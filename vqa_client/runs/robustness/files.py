"""Result files in the documented form, one for each corruption and level, read for an evaluation."""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vqa_client.errors import UNDECODABLE, DataError
from vqa_client.reports.robustness.results import FoundRun, variants_in
from vqa_client.scoring.corrupted_scores import CorruptedScores


class _Row(Struct, rename="camel"):
    correct: bool
    question_id: Any = msgspec.field(name="questionID")
    image_id: Any = msgspec.field(name="imageID", default="")
    question_type: str | None = None
    predicted: Any = ""


class _Results(Struct):
    data: list[_Row]
    dataset: str = ""


_results = msgspec.json.Decoder(_Results)


def read_result_files(folder: Path) -> list[FoundRun]:
    """Read all models' files below a folder; none is an empty list. Raises DataError for a file of another form.

    A question that is missing from a file counts in no figure: the published script leaves out those that failed.
    """
    scores: dict[str, CorruptedScores] = {}
    datasets: dict[str, str] = {}
    for path, model, corruption, level in variants_in(folder):
        results = _read(path)
        datasets[model] = results.dataset
        of_model = scores.setdefault(model, CorruptedScores())
        for row in results.data:
            of_model.add(
                str(row.question_id),
                corruption,
                level,
                score=float(row.correct),
                status="ok" if row.predicted is not None else "server_error",
                cluster=str(row.image_id),
                type_=row.question_type or "",
            )
    return [
        FoundRun(
            model=model,
            path=folder / model,
            report=None,
            facts={"dataset": datasets[model]},
            curves=of_model.curves(),
            questions=frozenset(of_model.questions),
            notes=(f"{model}: read from result files, which don't say by which profile and seed",),
        )
        for model, of_model in sorted(scores.items())
        if of_model.questions
    ]


def _read(path: Path) -> _Results:
    try:
        return _results.decode(path.read_bytes())
    except (OSError, *UNDECODABLE) as error:
        hint = "its form is {dataset, data: [{correct, imageID, questionID, ...}], accuracy, totalAnswered}"
        raise DataError(f"{path}: {error}", hint=hint) from None
