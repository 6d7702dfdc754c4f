"""Result files of a robustness run in the documented form: one for each corruption and level, in a folder of its name.

`{folder}/{Transform_Lk}/{Model}_{Transform_Lk}.json`, the clean images' under "Original". `correct` is a full score by
this program's scoring, `accuracy` the share of all questions in the file, a failed one (`predicted` null) as wrong.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

from vqa_client.files import encode, replacing
from vqa_client.images.corruptions import CORRUPTIONS
from vqa_client.reports.names import safe_name
from vqa_client.reports.run import Pairs, Run
from vqa_client.scoring.corrupted_scores import Curves
from vqa_client.scoring.corruption_classes import known_name
from vqa_client.types import ANSWERED, Question, Record

DATASET = "VQA2.0"
ORIGINAL = "Original"


class _File:
    """One variant's file while it is written."""

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
    """Write the files of all variants on one walk, and name them; raises OutputError where one can't be written."""
    files: dict[str, _File] = {}
    paths: list[Path] = []
    with ExitStack() as open_files:
        for question, record in pairs():
            file = files.get(record.variant)
            if file is None:
                paths.append(result_path(folder, run.model, record.variant))
                file = files[record.variant] = _File(open_files.enter_context(replacing(paths[-1])))
            file.add(question, record)
        for file in files.values():
            file.end()
    return paths


def result_path(folder: Path, model: str, variant: str) -> Path:
    """Where a variant's file lies."""
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
        "answer": _gold(asked, question.references),
        "predicted": _predicted(record),
    }


def _gold(asked: Mapping[str, Any], references: tuple[str, ...]) -> str | None:
    return asked.get("multiple_choice_answer") or (references[0] if references else None)


def _predicted(record: Record) -> str | None:
    if record.status not in ANSWERED:
        return None
    return record.answer if record.answer is not None else record.output or ""


def variants_in(folder: Path) -> Iterator[tuple[Path, str, str, int]]:
    """Find such files below a folder, with the model, corruption ("" for clean) and level that their names say."""
    for path in sorted(folder.rglob("*.json")):
        name = path.parent.name
        model = path.stem.removesuffix(f"_{name}")
        if model != path.stem and (place := _place(name)):
            yield path, model, *place


def _place(folder: str) -> tuple[str, int] | None:
    """Read a folder's name in any usual spelling of the corruption, "Splatter_L2" too."""
    if folder.lower() in ("original", "clean"):
        return "", 0
    name, _, level = folder.rpartition("_L")
    if known_name(name) in CORRUPTIONS and level.isdecimal():
        return (known_name(name), int(level)) if int(level) else ("", 0)
    return (known_name(folder), 1) if known_name(folder) in CORRUPTIONS else None


class FoundRun(Struct, frozen=True, kw_only=True):
    """A model's curves and where they come from: a record log, or a folder of result files.

    `facts` are what runs must have in common to be compared, as far as they are known; `report` is the run's own
    JSON, None for result files.
    """

    model: str
    path: Path
    report: Path | None
    facts: dict[str, Any]
    curves: Curves
    questions: frozenset[str]
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What tells it from another run of the same model."""
        return self.path.name.removesuffix(".records.jsonl")
