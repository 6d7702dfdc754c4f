"""Predictions as others and we write them: an official result file, JSONL, CSV, a vqa2 report or a run's record log."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from vqa_client.errors import UNDECODABLE, DataError, UsageError
from vqa_client.not_json import fault
from vqa_client.scorefiles.rows import (
    Id,
    csv_rows,
    is_csv,
    is_log,
    json_rows,
    json_text,
    key_of,
    lines,
    opening,
)
from vqa_client.scoring.reply import reply_from
from vqa_client.types import Completion, Status

ID_NAMES: Final = ("question_id", "questionId", "id")
ANSWER_NAMES: Final = ("answer", "prediction", "model_answer")
_FORM_HINT = f"each row needs an id ({', '.join(ID_NAMES)}) and an answer ({', '.join(ANSWER_NAMES)})"

WHOLE_REPLY: Final = "whole_reply"
"""The rule of a record whose answer is all that was said, without what that was wrapped in."""
EXPLANATIONS_HINT: Final = "it contains explanations: use `vqa-client score-explanations -p {}`"


class Prediction(Struct, frozen=True, kw_only=True, gc=False):
    """What was answered to one question; `text` is None where nothing was, or a run has another status.

    A status other than "ok" is a record's own, or "empty" for an answer without any character but blanks. `said` is all
    that a record's model said, which the official evaluator is given; None where that is the text. `reply` is the whole
    reply that a record keeps.
    """

    question_id: Id
    text: str | None
    status: Status = "ok"
    cluster: str = ""
    said: str | None = None
    reply: Completion | None = None


class Predictions(Struct, frozen=True, kw_only=True):
    """The predictions of one file by id as text; of several for one id the last counts.

    `repeated` maps an id to how many answers it has, `differing` counts those ids whose answers are not all the same.
    `not_text` counts answers that are numbers or truth values, `unreadable` lines of a record log that end too soon.
    The two kinds of ids are those that whoever wrote it chose: a record log's and a table's are always text.
    `explained` says that answers come with explanations, as an explain run's do.
    """

    path: str
    by_id: dict[str, Prediction]
    repeated: dict[str, int]
    differing: int
    not_text: int
    unreadable: int
    numeric_ids: bool
    text_ids: bool
    explained: bool = False


class _Row(Struct, frozen=True):
    question_id: Id | UnsetType = UNSET
    questionId: Id | UnsetType = UNSET  # noqa: N815  (as GQA's files spell it)
    id: Id | UnsetType = UNSET
    answer: str | int | float | bool | UnsetType | None = UNSET
    prediction: str | int | float | bool | UnsetType | None = UNSET
    model_answer: str | int | float | bool | UnsetType | None = UNSET
    status: Status | UnsetType = UNSET
    variant: str = ""
    cluster: str = ""
    rationale: Any = None
    rule: str = ""
    output: str | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    first_token: dict[str, float] | None = None


class _Model(Struct, frozen=True):
    question_results: list[_Row] = []


class _Report(Struct, frozen=True):
    results: dict[str, _Model]


def read_predictions(path: str | os.PathLike[str], variant: str | None = None) -> Predictions:
    """Read a file of any of the forms; raises DataError that names the row at fault.

    `variant` picks one of a record log's, or a model of a report; several of these without a pick are a UsageError.
    """
    name = os.fspath(path)
    unreadable: list[int] = []
    rows = _from_csv(name) if is_csv(name) else _from_json(name, unreadable)
    picked = list(_of_variant(name, rows, variant))
    if not picked:
        raise DataError(f"{name} contains no prediction", hint=_FORM_HINT)
    return _collected(name, picked, len(unreadable))


def strangers(predictions: Predictions, known: str, path: str) -> DataError:
    """The error of a file none of whose questions is among those of another."""
    predicted = next(iter(predictions.by_id))
    return DataError(
        f"no question of {predictions.path} is in {path}: the first ids are {predicted!r} and {known!r}",
        hint=EXPLANATIONS_HINT.format(predictions.path) if predictions.explained else "are they of the same split?",
    )


def _from_csv(name: str) -> Iterator[tuple[str, _Row]]:
    for number, row in enumerate(csv_rows(name), start=2):
        if row.keys().isdisjoint(ID_NAMES) or row.keys().isdisjoint(ANSWER_NAMES):
            hint = EXPLANATIONS_HINT.format(name) if "generated_explanation" in row else _FORM_HINT
            raise DataError(f"{name} has the columns {', '.join(row)}", hint=hint)
        known = {key: row[key] for key in (*ID_NAMES, *ANSWER_NAMES) if key in row}
        yield f", row {number}", msgspec.convert(known, _Row)


def _from_json(name: str, unreadable: list[int]) -> Iterator[tuple[str, _Row]]:
    text = json_text(name)
    report = _report(name, text) if opening(text) == b"{" else None
    if report is not None:
        for model, result in report.results.items():
            for number, row in enumerate(result.question_results):
                yield f", {model}, item {number}", msgspec.structs.replace(row, variant=model)
        return
    yield from json_rows(name, _Row, unreadable)


def _report(name: str, text: memoryview) -> _Report | None:
    """A report of vqa2, ours or published; None for lines of JSON. Raises DataError for an object that is broken."""
    try:
        return msgspec.json.decode(text, type=_Report)
    except UNDECODABLE as error:
        if not is_log(name) and next(lines(name), (0, b""))[1].strip() == b"{":
            raise DataError(f"{name}: {fault(error, text)}", hint=_FORM_HINT) from None
        return None


def _of_variant(name: str, rows: Iterable[tuple[str, _Row]], variant: str | None) -> Iterator[tuple[str, _Row]]:
    found: dict[str, None] = {}
    for where, row in rows:
        found[row.variant] = None
        if variant is None and len(found) > 1:
            first, second = found
            raise UsageError(
                f"{name} contains several variants, among them {first!r} and {second!r}",
                hint="--variant NAME scores one of them",
            )
        if variant is None or row.variant == variant:
            yield where, row
    if variant is not None and variant not in found:
        raise UsageError(f"{name} contains no variant {variant!r}", hint=f"it contains {', '.join(map(repr, found))}")


def _collected(name: str, rows: list[tuple[str, _Row]], unreadable: int) -> Predictions:
    by_id: dict[str, Prediction] = {}
    counts: Counter[str] = Counter()
    kinds: set[type[Any]] = set()
    differing: set[str] = set()
    not_text = 0
    for where, row in rows:
        answer = _first(row, ANSWER_NAMES)
        prediction = _prediction(name + where, row, answer)
        key = key_of(prediction.question_id)
        if key in by_id and by_id[key].text != prediction.text:
            differing.add(key)
        by_id[key] = prediction
        counts[key] += 1
        kinds.add(type(prediction.question_id))
        not_text += not isinstance(answer, str | None)
    return Predictions(
        path=name,
        by_id=by_id,
        repeated={key: number for key, number in counts.items() if number > 1},
        differing=len(differing),
        not_text=not_text,
        unreadable=unreadable,
        numeric_ids=int in kinds,
        text_ids=str in kinds and not is_csv(name) and not is_log(name),
        explained=any(row.rationale for _, row in rows),
    )


def _first(row: _Row, names: tuple[str, ...]) -> Any:
    return next((value for name in names if (value := getattr(row, name)) is not UNSET), UNSET)


def _prediction(where: str, row: _Row, answer: Any) -> Prediction:
    question_id = _first(row, ID_NAMES)
    if question_id is UNSET or answer is UNSET or question_id == "":
        missing = "an answer" if answer is UNSET else "an id"
        raise DataError(f"{where} has not {missing}", hint=_FORM_HINT)
    status: Status = "ok" if isinstance(row.status, UnsetType) else row.status
    text = None if answer is None or status != "ok" else _as_text(answer)
    if status == "ok" and not (text or "").strip():
        status = "empty"
    reply = None if row.output is None else _reply(row)
    said = reply_from(reply).visible if reply and status == "ok" and row.rule == WHOLE_REPLY else text
    return Prediction(
        question_id=question_id,
        text=text,
        status=status,
        cluster=row.cluster,
        said=None if said == text else said,
        reply=reply,
    )


def _reply(row: _Row) -> Completion:
    return Completion(
        text=row.output or "",
        reasoning=row.reasoning,
        finish_reason=row.finish_reason,
        first_token=row.first_token,
    )


def _as_text(answer: str | int | float | bool) -> str:
    return answer if isinstance(answer, str) else str(answer)
