"""What explanations are compared with, as settings or the files' names say: an NLE file, or COCO captions."""

import os
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from vqa_client.answers.captions import Form, form_of, taken_apart
from vqa_client.answers.rows import Id, decoded, json_text, key_of
from vqa_client.errors import UNDECODABLE, DataError, UsageError
from vqa_client.scoring.explained_answer.normalise import majority
from vqa_client.settings.score_explanations import ScoreExplanationsSettings
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


class Source(Struct, frozen=True, kw_only=True):
    """The file of references and how it is to be read; `task` is None where no name tells."""

    path: Path
    task: str | None
    split: str
    vcr_mode: str
    note: str = ""


class References(Struct, frozen=True, kw_only=True):
    """The questions of one file by id; `unusable` names by reason those that can't be scored.

    `captions` is the form of a COCO file's, None for an NLE file.
    """

    path: str
    by_id: dict[str, Question]
    unusable: dict[str, list[str]] = {}
    captions: Form | None = None

    @property
    def has_answers(self) -> bool:
        """Whether it says which answers are right."""
        return self.captions != "exp"


class _Annotation(Struct, frozen=True):
    image_id: Id
    caption: str | UnsetType = UNSET


class _Coco(Struct, frozen=True):
    annotations: list[_Annotation] | UnsetType = UNSET


def source_of(settings: ScoreExplanationsSettings) -> Source:
    """Find the references; raises UsageError where nothing says which, DataError where the file isn't there."""
    named = _OURS.match(settings.predictions.name)
    conditions = named[3] if named else ""
    task = settings.task or _task_by_file(settings.references) or (named[1] if named else None)
    split = settings.split or (named[2] if named else None)
    mode = _MODE.search(conditions)
    vcr_mode = settings.vcr_mode or (mode[1] if mode and task == "vcr" else FREE)
    dataset = dataset_of(task, vcr_mode) if task else None  # an impossible pair is told before any file is read
    if settings.references:
        return Source(path=settings.references, task=task, split=split or "val", vcr_mode=vcr_mode)
    if not dataset or not split:
        raise UsageError(
            f"nothing says what {settings.predictions} is compared with",
            hint="give --task and --split with --data, or a file with --references",
        )
    path = find_file(dataset, split, settings.data_root)
    return Source(
        path=path, task=task, split=dataset.split_read(split), vcr_mode=vcr_mode, note=dataset.said_of_split(split)
    )


def _task_by_file(path: Path | None) -> str | None:
    """The benchmark whose files begin like this one: vqaX_, actX_, esnlive_, vcr_."""
    name = path.name.lower() if path else ""
    return next((task for task in EXPLAIN_TASKS if name.startswith(f"{task}_")), None)


def read_references(source: Source) -> References:
    """Read a file of any of the forms; raises DataError that names what is wrong, UsageError for an unknown task."""
    captions = _captions(source.path)
    if captions is not None:
        return _from_captions(source.path, captions)
    if source.task is None:
        hint = "give --task: vqax, actx, esnlive or vcr"
        raise UsageError(f"the benchmark is unknown {source.path} is", hint=hint)
    questions, unusable = read_questions(dataset_of(source.task, source.vcr_mode), source.path, split=source.split)
    return References(path=str(source.path), by_id={question.id: question for question in questions}, unusable=unusable)


def _captions(path: Path) -> list[tuple[str, str]] | None:
    """Every caption with its id; None where the file holds records."""
    text = json_text(path)
    try:
        records = msgspec.json.decode(text, type=dict[str, Raw])
    except UNDECODABLE:  # a list or JSONL; what else is wrong, the reader of records says
        return None
    if "annotations" in records:
        return [_caption(path, row) for row in _annotations(path, text)]
    first = bytes(next(iter(records.values()), Raw(b"")))[:1]
    if first not in (b"[", b'"'):
        return None
    by_id = decoded(path, text, dict[str, list[str] | str])
    return [(key, each) for key, texts in by_id.items() for each in ([texts] if isinstance(texts, str) else texts)]


def _annotations(path: Path, text: memoryview) -> list[_Annotation]:
    found = decoded(path, text, _Coco).annotations
    return [] if isinstance(found, UnsetType) else found


def _caption(path: Path, row: _Annotation) -> tuple[str, str]:
    if isinstance(row.caption, UnsetType):
        raise DataError(f"{path}: an annotation of {row.image_id!r} has no caption", hint=_NO_CAPTIONS)
    return key_of(row.image_id), row.caption


def _from_captions(path: Path, captions: list[tuple[str, str]]) -> References:
    form = form_of(path, [text for _, text in captions])
    answers: dict[str, list[str]] = {}
    explanations: dict[str, list[str]] = {}
    for key, text in captions:
        answer, explanation = taken_apart(text, form)
        answers.setdefault(key, []).append(answer)
        explanations.setdefault(key, []).append(explanation)
    if not explanations:
        raise DataError(f"{path} contains no caption", hint=_NO_CAPTIONS)
    questions = {key: _question(key, tuple(answers[key]), tuple(each)) for key, each in explanations.items()}
    return References(path=str(path), by_id=questions, captions=form)


def _question(key: str, answers: tuple[str, ...], explanations: tuple[str, ...]) -> Question:
    most = majority(answers)
    gold: dict[str, Any] = {"gold": most.answer} if most else {}
    return Question(
        id=key, text="", references=answers, rationales=tuple(filter(None, explanations)), cluster=key, extra=gold
    )


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
