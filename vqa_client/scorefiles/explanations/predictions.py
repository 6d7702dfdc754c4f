"""Explanations as others and we write them: a run's record log or table, the published table, COCO captions."""

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final, Literal

from msgspec import UNSET, Struct, UnsetType

from vqa_client.errors import DataError
from vqa_client.scorefiles.rows import Id, csv_rows, is_csv, json_rows, key_of
from vqa_client.scoring.explained_answer.published import PLACEHOLDERS, UNKNOWN
from vqa_client.types import STATUSES, Status

_IDS: Final = ("sample_id", "question_id", "image_id", "id")
_CSV_IDS: Final = ("sample_id", "question_id", "id")
_ANSWERS: Final = ("answer", "generated_answer", "generated_label")
_EXPLANATIONS: Final = ("rationale", "explanation", "generated_explanation")
PLACES: Final = ("image_id", "image_name", "question", "hypothesis")
"""The columns by which a row of the published table, which has no id, is known."""
_FORM_HINT: Final = (
    "each row needs an id (sample_id, question_id, image_id) or the published table's columns, and an explanation "
    "(rationale, explanation, generated_explanation) or a caption"
)
Form = Literal["full", "exp"]
"""Whether a caption reads "answer because explanation" or is an explanation alone."""
_NAMED = re.compile(r"(?<![a-z])(?P<form>full|exp)(?![a-z])")
_BECAUSE: Final = re.compile(r"\s+because\s+", re.IGNORECASE)
_MOST_WORDS: Final = 8
"""More words before "because" are part of an explanation."""


class Said(Struct, frozen=True, kw_only=True, gc=False):
    """What was said to one question, "" for nothing; `places` stands in for an `id` that isn't there."""

    id: str
    answer: str
    explanation: str
    status: Status = "ok"
    places: Mapping[str, str] = {}


class Predictions(Struct, frozen=True, kw_only=True):
    """The rows of one file; `captions` is the form of COCO captions, None for other files.

    `unreadable` counts lines of a record log that end too soon.
    """

    path: str
    rows: list[Said]
    captions: Form | None = None
    unreadable: int = 0

    @property
    def has_answers(self) -> bool:
        """Whether it holds answers, and not explanations alone."""
        return self.captions != "exp" and any(said.answer or said.status != "ok" for said in self.rows)


class _Row(Struct, frozen=True):
    sample_id: Id | UnsetType = UNSET
    question_id: Id | UnsetType = UNSET
    image_id: Id | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    answer: str | UnsetType | None = UNSET
    rationale: str | UnsetType | None = UNSET
    explanation: str | UnsetType | None = UNSET
    caption: str | UnsetType | None = UNSET
    status: Status | UnsetType = UNSET


def read_predictions(path: str | os.PathLike[str], captions: Form | None = None) -> Predictions:
    """Read a file of any of the forms; raises DataError that names the row at fault."""
    name = os.fspath(path)
    unreadable: list[int] = []
    if is_csv(name):
        found = Predictions(path=name, rows=[_from_cells(name, n, row) for n, row in enumerate(csv_rows(name), 2)])
    else:
        rows = list(json_rows(name, _Row, unreadable))
        texts = [row.caption or "" for _, row in rows if row.caption is not UNSET]
        form = (captions or form_of(name, texts)) if texts else None
        said = [_said(name + where, row, form) for where, row in rows]
        found = Predictions(path=name, rows=said, captions=form, unreadable=len(unreadable))
    if not found.rows:
        raise DataError(f"{name} contains no prediction", hint=_FORM_HINT)
    return found


def _from_cells(name: str, number: int, row: Mapping[str, str]) -> Said:
    answer = next((column for column in _ANSWERS if column in row), None)
    explanation = next((column for column in reversed(_EXPLANATIONS) if column in row), None)
    key = next((key_of(row[column]) for column in _CSV_IDS if row.get(column)), "")
    places = {} if key else {column: row[column] for column in PLACES if column in row}
    if answer is None or explanation is None or not (key or places):
        raise DataError(f"{name}, row {number}: the columns are {', '.join(row)}", hint=_FORM_HINT)
    status: Status = next((status for status in STATUSES if status == row.get("status")), "ok")
    return Said(id=key, answer=_meant(row[answer]), explanation=_meant(row[explanation]), status=status, places=places)


def _said(where: str, row: _Row, form: Form | None) -> Said:
    key = next((each for name in _IDS if (each := getattr(row, name)) not in (UNSET, "")), UNSET)
    status: Status = "ok" if isinstance(row.status, UnsetType) else row.status
    if form and row.caption is not UNSET:
        answer, explanation = taken_apart(row.caption or "", form)
    else:
        given = next((each for each in (row.rationale, row.explanation) if each is not UNSET), UNSET)
        if given is UNSET and row.status is UNSET:
            raise DataError(f"{where} has no explanation", hint=_FORM_HINT)
        answer, explanation = (each if isinstance(each, str) else "" for each in (row.answer, given))
    if key is UNSET:
        raise DataError(f"{where} has no id", hint=_FORM_HINT)
    return Said(id=key_of(key), answer=_meant(answer), explanation=_meant(explanation), status=status)


def _meant(text: str) -> str:
    """Nothing where the published script says in set words that there was nothing."""
    return "" if text.strip().lower() in (*PLACEHOLDERS, UNKNOWN) else text


def form_of(path: str | Path, captions: Collection[str]) -> Form:
    """The form that the file's name tells (NLX-GPT's and ours end in _full and _exp), else that of most captions."""
    named = _NAMED.findall(Path(path).name.lower())
    if named:
        return "full" if named[-1] == "full" else "exp"
    answered = sum(_begins_with_an_answer(caption) for caption in captions)
    return "full" if 2 * answered > len(captions) else "exp"


def taken_apart(caption: str, form: Form) -> tuple[str, str]:
    """The answer and the explanation, each "" where there is none; the first "because" parts them."""
    if form == "exp":
        return "", caption.strip()
    answer, *explanation = _BECAUSE.split(f" {caption} ", maxsplit=1)
    return answer.strip(), "".join(explanation).strip()


def _begins_with_an_answer(caption: str) -> bool:
    answer, explanation = taken_apart(caption, "full")
    return bool(explanation) and 0 < len(answer.split()) <= _MOST_WORDS
