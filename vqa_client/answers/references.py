"""What explanations are compared with, as settings or the files' names say: an NLE file, or COCO captions."""

import os
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from vqa_client.answers.rows import Form, Id, decoded, form_of, json_text, key_of, taken_apart
from vqa_client.benchmark import Metric
from vqa_client.errors import UNDECODABLE, DataError, UsageError
from vqa_client.scoring.short_answers import majority
from vqa_client.settings.score import ScoreExplanationsSettings
from vqa_client.tasks.explain import (
    EXPLAIN_TASKS,
    FREE,
    dataset_of,
    find_file,
    read_questions,
)
from vqa_client.types import Question

_NO_CAPTIONS = "annotations of explanations have image_id and caption; an NLE file has explanation"
_OURS = re.compile(rf"({'|'.join(EXPLAIN_TASKS)})_(train|val|test)_eval((?:-[a-z0-9]+)*)[._]")
_MODE = re.compile(r"-(q2ar|q2a|qa2r)\b")


class References(Struct, frozen=True, kw_only=True):
    """The questions of one file by id; `unusable` names by reason those that can't be scored.

    `captions` is the form of a COCO file's, None for an NLE file, whose benchmark has `metrics`. `task` is None where
    nothing says which benchmark it is, and `note` what a reader should know of the file that was chosen.
    """

    path: str
    by_id: dict[str, Question]
    unusable: dict[str, list[str]] = {}
    captions: Form | None = None
    metrics: tuple[Metric, ...] = ()
    task: str | None = None
    note: str = ""

    @property
    def has_answers(self) -> bool:
        """Whether it says which answers are right."""
        return self.captions != "exp"


class _Annotation(Struct, frozen=True):
    image_id: Id
    caption: str | UnsetType = UNSET


def read_references(settings: ScoreExplanationsSettings) -> References:
    """Find the references and read them, whatever their form.

    Raises UsageError where nothing says which they are, or of which benchmark; DataError where the file isn't there, or
    names what is wrong in it.
    """
    named = _OURS.match(settings.predictions.name)
    own_name = settings.references.name.lower() if settings.references else ""
    by_file = next((task for task in EXPLAIN_TASKS if own_name.startswith(f"{task}_")), None)
    task = settings.task or by_file or (named[1] if named else None)
    split = settings.split or (named[2] if named else None)
    mode = _MODE.search(named[3]) if named and task == "vcr" else None
    dataset = dataset_of(task, settings.vcr_mode or (mode[1] if mode else FREE)) if task else None
    note = ""
    if settings.references:
        path, split = settings.references, split or "val"
    elif dataset and split:
        path = find_file(dataset, split, settings.data_root)
        split, note = dataset.split_read(split), dataset.said_of_split(split)
    else:
        raise UsageError(
            f"nothing says what {settings.predictions} is compared with",
            hint="give --task and --split with --data, or a file with --references",
        )
    captions = _captions(path)
    if captions is not None:
        return replace(_from_captions(path, captions), task=task, note=note)
    if dataset is None:
        hint = "give --task: vqax, actx, esnlive or vcr"
        raise UsageError(f"the benchmark of {path} is unknown", hint=hint)
    questions, unusable = read_questions(dataset, path, split=split)
    by_id = {question.id: question for question in questions}
    return References(path=str(path), by_id=by_id, unusable=unusable, metrics=dataset.metrics, task=task, note=note)


def _captions(path: Path) -> dict[str, list[str]] | None:
    """The captions by id; None where the file holds records."""
    text = json_text(path)
    try:
        records = msgspec.json.decode(text, type=dict[str, Raw])
    except UNDECODABLE:  # a list or JSONL; what else is wrong, the reader of records says
        return None
    found: dict[str, list[str]] = {}
    if "annotations" in records:
        for row in decoded(path, memoryview(records["annotations"]), list[_Annotation]):
            if isinstance(row.caption, UnsetType):
                raise DataError(f"{path}: an annotation of {row.image_id!r} has no caption", hint=_NO_CAPTIONS)
            found.setdefault(key_of(row.image_id), []).append(row.caption)
        return found
    first = bytes(next(iter(records.values()), Raw(b"")))[:1]
    if first not in (b"[", b'"'):
        return None
    by_id = decoded(path, text, dict[str, list[str] | str])
    return {key: [texts] if isinstance(texts, str) else texts for key, texts in by_id.items()}


def _from_captions(path: Path, captions: dict[str, list[str]]) -> References:
    form = form_of(path, [text for texts in captions.values() for text in texts])
    if not any(captions.values()):
        raise DataError(f"{path} contains no caption", hint=_NO_CAPTIONS)
    questions = [
        _question(key, [taken_apart(text, form) for text in texts]) for key, texts in captions.items() if texts
    ]
    return References(path=str(path), by_id={question.id: question for question in questions}, captions=form)


def _question(key: str, captions: list[tuple[str, str]]) -> Question:
    answers = tuple(answer for answer, _ in captions)
    explanations = tuple(explanation for _, explanation in captions if explanation)
    most = majority(answers)
    extra = {"gold": most.answer} if most else {}
    return Question(id=key, text="", references=answers, rationales=explanations, cluster=key, extra=extra)


class Places:
    """Questions by image and text; where several have the same, they are given out in the order of the file."""

    def __init__(self, questions: Mapping[str, Question]) -> None:
        self._questions = questions
        self._waiting: dict[tuple[str, ...], dict[tuple[str, ...], list[str]]] = {}

    def take(self, cells: Mapping[str, str]) -> str:
        """The id of the next question with these cells, the last one again where none is left; "" for no such."""
        columns = tuple(cells)
        if columns not in self._waiting:
            waiting = self._waiting[columns] = defaultdict[tuple[str, ...], list[str]](list)
            for key, question in self._questions.items():
                known = {"question": question.text} | question.extra.get("columns", {})
                waiting[tuple(_plain(known.get(column, "")) for column in columns)].append(key)
        ids = self._waiting[columns].get(tuple(map(_plain, cells.values())), [])
        return ids.pop(0) if len(ids) > 1 else "".join(ids)


def _plain(cell: str) -> str:
    """An image without its folder, a number without noughts before it, a text without blanks around it."""
    words = " ".join(cell.split())
    name = os.path.basename(words) if " " not in words else words
    return name.lstrip("0") or "0" if name.isascii() and name.isdecimal() else name
