"""Four VQA-X questions of our own in a data root, and predictions for them in every form."""

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.tasks.explain.samples import put, vqax
from vqa_client.answers.explained import ExplanationReport, score_explanation_files
from vqa_client.records import RecordLog
from vqa_client.settings.score import ScoreExplanationsSettings
from vqa_client.types import Record

REFERENCES = {
    "11": vqax("kettle", "kettle", "kettle", "kettle", "pot", "pot", "pot", "pan", "pan", "pan", number=1),
    "12": vqax(*["yes"] * 10, number=1, question="Is it hot?", explanation=["it steams"]),
    "13": vqax(*["2"] * 10, number=2, question="How many lids?", explanation=["a lid stands on each of two pots"]),
    "14": vqax(*["red"] * 10, number=2, question="Which colour?", explanation=["the wall is red brick"]),
}
SAID = {
    "11": ("pot", "there is a lid with a knob"),
    "12": ("Yes.", "it\nsteams"),
    "13": ("three", 'a lid, "round", on each of two pots'),
    "14": ("red", "the wall is red brick"),
}
"""Half right (0.6 by VQA accuracy), right, wrong, right."""
PUBLISHED = (
    "image_id",
    "question",
    "gt_answer",
    "generated_answer",
    "gt_explanation",
    "generated_explanation",
    "correct",
)


def data_root(root: Path) -> Path:
    return put(root, "vqax", "val", REFERENCES)


def score(predictions: Path, **settings: Any) -> ExplanationReport:
    return score_explanation_files(ScoreExplanationsSettings(predictions=predictions, **settings))


def write_log(path: Path, said: Mapping[str, tuple[str, str]], *more: Record) -> Path:
    with RecordLog(path) as log:
        for key, (answer, explanation) in said.items():
            log.append(Record(question_id=key, status="ok", answer=answer, rationale=explanation))
        for record in more:
            log.append(record)
    return path


def write_published(path: Path, said: Mapping[str, tuple[str, str]]) -> Path:
    """The published script's table: only its own columns, without ids."""
    rows = []
    for key, (answer, explanation) in said.items():
        reference = REFERENCES[key]
        golds = ("", answer, reference["explanation"][0], explanation, "0")
        rows.append((reference["image_id"], reference["question"], *golds))
    return write_csv(path, PUBLISHED, rows)


def write_csv(path: Path, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def write_captions(path: Path, captions: Mapping[str, str]) -> Path:
    path.write_text(json.dumps([{"image_id": int(key), "caption": text} for key, text in captions.items()]))
    return path


def write_annotations(path: Path, captions: Mapping[str, Iterable[str]]) -> Path:
    rows = [{"image_id": int(key), "caption": each, "id": 0} for key, texts in captions.items() for each in texts]
    path.write_text(json.dumps({"info": {}, "images": [], "licenses": [], "type": "captions", "annotations": rows}))
    return path


def full(said: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {key: f"{answer} because {explanation}" for key, (answer, explanation) in said.items()}
