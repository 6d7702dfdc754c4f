"""The files that VQA's own evaluator writes, and the result file that its server takes."""

import re
from collections.abc import Mapping, Sequence
from math import fsum
from pathlib import Path
from typing import Any, Final

from vqa_client.answers.columns import Columns, indices_by_type, picked
from vqa_client.answers.predictions import Predictions
from vqa_client.answers.rows import Id
from vqa_client.files import write_json
from vqa_client.scoring.vqa_normalise import normalised, on_one_line

DECIMALS: Final = 2
_NUMBER: Final = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)


def write_evaluation(folder: Path, stem: str, scored: Columns, metric: str) -> list[Path]:
    """Write accuracy, evalQA, evalQuesType and evalAnsType by one metric, in per cent with two decimals.

    The files of the metric "official" have the names that VQA's evaluator gives them, others have the metric's within.
    """
    values = scored.values[metric]
    rounded = [round(100 * value, DECIMALS) for value in values]
    of_question, of_answer = indices_by_type(scored.question_types), indices_by_type(scored.answer_types)
    contents: dict[str, Any] = {
        "accuracy": {
            "overall": _per_cent(values),
            "perQuestionType": {name: _per_cent(picked(values, where)) for name, where in of_question.items()},
            "perAnswerType": {name: _per_cent(picked(values, where)) for name, where in of_answer.items()},
        },
        "evalQA": _by_id(scored.question_ids, rounded),
        "evalQuesType": _by_type(scored, of_question, rounded),
        "evalAnsType": _by_type(scored, of_answer, rounded),
    }
    within = "" if metric == "official" else f"_{metric}"
    paths = {kind: folder / f"{stem}{within}_{kind}.json" for kind in contents}
    for kind, path in paths.items():
        write_json(path, contents[kind])
    return list(paths.values())


def write_leaderboard(folder: Path, stem: str, predictions: Predictions) -> Path:
    """Write the result file for VQA's server: all predictions once, ids as numbers.

    They are normalised: where all annotators agree the server compares without normalising, and "Yes." would be wrong.
    """
    rows = [
        {"question_id": _as_number(key), "answer": normalised(on_one_line(prediction.text or ""))}
        for key, prediction in predictions.by_id.items()
    ]
    path = folder / f"{stem}_leaderboard.json"
    write_json(path, rows)
    return path


def _by_type(scored: Columns, types: Mapping[str, list[int]], rounded: Sequence[float]) -> dict[str, dict[str, float]]:
    return {name: _by_id(picked(scored.question_ids, at), picked(rounded, at)) for name, at in types.items()}


def _by_id(question_ids: Sequence[Id], rounded: Sequence[float]) -> dict[str, float]:
    return {str(key): value for key, value in zip(question_ids, rounded, strict=True)}


def _per_cent(values: Sequence[float]) -> float | None:
    return round(100 * fsum(values) / len(values), DECIMALS) if values else None


def _as_number(key: str) -> Id:
    return int(key) if _NUMBER.fullmatch(key) else key
