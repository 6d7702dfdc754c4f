"""Annotations: VQA's annotation or question file, the explanation sets' form (a record by id), a JSON list or JSONL."""

import os
from collections import Counter

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from vqa_client.answers.rows import Id, decoded, json_rows, json_text, key_of, lines, opening
from vqa_client.errors import UNDECODABLE, DataError
from vqa_client.not_json import fault
from vqa_client.scoring.vqa_accuracy import HumanAnswer

_FORM_HINT = 'expected {"annotations": [{"question_id", "answers": [{"answer", "answer_id"}], ...}]} or a record by id'

_LABELLED = ("train", "val")
"""How the splits begin whose answers are published."""


class Annotation(Struct, frozen=True, kw_only=True, gc=False):
    """What is known of one question; `answers` are decoded when they are needed, to keep 200,000 questions small."""

    question_id: Id = ""
    image_id: Id | None = None
    question_type: str | None = None
    answer_type: str | None = None
    multiple_choice_answer: str | None = None
    answers: msgspec.Raw | UnsetType = UNSET


class Annotations(Struct, frozen=True, kw_only=True):
    """The questions of one file by id as text; of several with one id the last counts, as in VQA's own loader.

    `unlabelled` says that it is a question file, of a split whose answers nobody has.
    """

    path: str
    by_id: dict[str, Annotation]
    repeated: dict[str, int]
    id_kinds: set[type[Id]]
    unlabelled: bool = False

    def answers(self, annotation: Annotation) -> list[HumanAnswer | str]:
        """The answers to one question, none where the file has none; raises DataError that names the question."""
        if isinstance(annotation.answers, UnsetType):
            return []
        try:
            found = _answers.decode(annotation.answers)
        except UNDECODABLE as error:
            raise DataError(f"{self.path}: question {annotation.question_id!r}, answers: {error}") from None
        return [found] if isinstance(found, str) else found


class _File(Struct, frozen=True):
    annotations: list[Annotation] | UnsetType = UNSET
    questions: list[Annotation] | UnsetType = UNSET
    data_subtype: str | None = None


_answers = msgspec.json.Decoder(list[HumanAnswer | str] | str)


def read_annotations(path: str | os.PathLike[str]) -> Annotations:
    """Read a file of any of the forms; raises DataError that names what is wrong."""
    name = os.fspath(path)
    text = json_text(name)
    if opening(text) == b"[":
        return _collected(name, decoded(name, text, list[Annotation]))
    try:
        file = msgspec.json.decode(text, type=_File)
    except UNDECODABLE as error:
        if not _begins_with_row(name):
            raise DataError(f"{name}: {fault(error, text)}", hint=_FORM_HINT) from None
        return _collected(name, [row for _, row in json_rows(name, Annotation, [])])
    if not isinstance(file.annotations, UnsetType):
        return _collected(name, file.annotations)
    if not isinstance(file.questions, UnsetType):
        labelled = (file.data_subtype or "").startswith(_LABELLED)
        return replace(_collected(name, file.questions), unlabelled=not labelled)
    by_id = decoded(name, text, dict[str, Annotation])
    rows = [replace(row, question_id=key) if row.question_id == "" else row for key, row in by_id.items()]
    found = _collected(name, rows)
    return replace(found, id_kinds=found.id_kinds - {str})  # the names in an object can't be numbers


def _begins_with_row(name: str) -> bool:
    """Whether a file that is not one object has one per line, and is not an object that is broken."""
    try:
        msgspec.json.decode(next(lines(name), (0, b""))[1], type=Annotation)
    except UNDECODABLE:
        return False
    return True


def _collected(name: str, rows: list[Annotation]) -> Annotations:
    if not rows:
        raise DataError(f"{name} contains no question", hint=_FORM_HINT)
    for number, row in enumerate(rows):
        if row.question_id == "":
            raise DataError(f"{name}, item {number} has no question_id", hint=_FORM_HINT)
    counts = Counter(key_of(row.question_id) for row in rows)
    return Annotations(
        path=name,
        by_id={key_of(row.question_id): row for row in rows},
        repeated={key: number for key, number in counts.items() if number > 1},
        id_kinds={type(row.question_id) for row in rows},
    )
