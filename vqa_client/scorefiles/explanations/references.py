"""What explanations are compared with: an NLE file, COCO caption annotations, or captions by id."""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from vqa_client.errors import UNDECODABLE, DataError, UsageError
from vqa_client.scorefiles.explanations.captions import Form, form_of, taken_apart
from vqa_client.scorefiles.explanations.source import Source
from vqa_client.scorefiles.rows import Id, decoded, json_text, key_of
from vqa_client.scoring.explained_answer.normalise import majority
from vqa_client.tasks.explain import read_questions
from vqa_client.types import Question

_NO_CAPTIONS = "annotations of explanations have image_id and caption; an NLE file has explanation"


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


def read_references(source: Source) -> References:
    """Read a file of any of the forms; raises DataError that names what is wrong, UsageError for an unknown task."""
    captions = _captions(source.path)
    if captions is not None:
        return _from_captions(source.path, captions)
    if source.task is None:
        hint = "give --task: vqax, actx, esnlive or vcr"
        raise UsageError(f"nothing says of which benchmark {source.path} is", hint=hint)
    questions, unusable = read_questions(source.task, source.path, split=source.split, vcr_mode=source.vcr_mode)
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
        raise DataError(f"{path} holds no caption", hint=_NO_CAPTIONS)
    questions = {key: _question(key, tuple(answers[key]), tuple(each)) for key, each in explanations.items()}
    return References(path=str(path), by_id=questions, captions=form)


def _question(key: str, answers: tuple[str, ...], explanations: tuple[str, ...]) -> Question:
    most = majority(answers)
    gold: dict[str, Any] = {"gold": most.answer} if most else {}
    return Question(
        id=key, text="", references=answers, rationales=tuple(filter(None, explanations)), cluster=key, extra=gold
    )
