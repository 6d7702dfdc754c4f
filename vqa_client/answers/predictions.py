"""Read predictions: result files, JSONL, CSV, vqa2 reports, record logs, published tables, captions.

Also makes the records of these answers, and notes on answers that are missing, repeated or malformed.
"""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from vqa_client.answers.rows import (
    Id,
    PredictionForm,
    caption_form,
    csv_rows,
    first_character,
    is_csv,
    is_log,
    json_rows,
    json_text,
    key_of,
    lines,
    split_caption,
)
from vqa_client.errors import UNDECODABLE, DataError, UsageError
from vqa_client.not_json import fault
from vqa_client.reports.names import count, first_of
from vqa_client.runner import record_of_answer
from vqa_client.scoring.published.explained_answer import PLACEHOLDERS, UNKNOWN
from vqa_client.types import ANSWERED, STATUSES, Answer, Completion, Question, Record, Score, Status

_IDS: Final = ("question_id", "questionId", "id")
_ANSWERS: Final = ("answer", "prediction", "model_answer")
_FORM_HINT = f"each row needs an id ({', '.join(_IDS)}) and an answer ({', '.join(_ANSWERS)})"
_EXPLAINED_IDS: Final = ("sample_id", "question_id", "image_id", "id")
_EXPLAINED_ANSWERS: Final = ("answer", "generated_answer", "generated_label")
_EXPLANATIONS: Final = ("generated_explanation", "explanation", "rationale")
PLACES: Final = ("image_id", "image_name", "question", "hypothesis")
"""The columns that identify a row of the published table, which has no id."""
_EXPLAINED_HINT: Final = (
    "each row needs an id (sample_id, question_id, image_id) or the published table's columns, and an explanation "
    "(rationale, explanation, generated_explanation) or a caption"
)
EXPLANATIONS_HINT: Final = "it contains explanations: use `vqa-client score-explanations -p {}`"
_ENDINGS: Final = (".records.jsonl", ".jsonl", ".json", ".csv", ".tsv")
Find = Callable[[Mapping[str, str]], str]
"""Finds the id of the question with these cells of the published table, "" if there is none."""


class Prediction(Struct, frozen=True, kw_only=True, gc=False):
    """The answer to one question; `text` is None if there is none, or if a record's status isn't "ok".

    `status` is that of a record, "empty" for a blank answer, else "ok". In files of explanations, an empty `text` or
    `explanation` means that there is none. `reply` is the whole reply of a record, `rule` the rule that read it.
    """

    question_id: Id
    text: str | None
    explanation: str | None = None
    status: Status
    cluster: str = ""
    rule: str = ""
    reply: Completion | None = None


class Predictions(Struct, frozen=True, kw_only=True):
    """The predictions of one file by id as text; of several for one id the last counts.

    `repeated` is the number of answers of each id with several, `differing` the ids whose answers differ. `not_text`
    counts answers that are numbers or booleans, `unreadable` incomplete lines of a record log. `id_kinds` is empty for
    record logs and tables, whose ids are always text. `explained`: answers have explanations, as in explain's files;
    `captions` is the form of COCO captions.
    """

    path: str
    by_id: dict[str, Prediction]
    repeated: dict[str, int]
    differing: set[str]
    not_text: int
    unreadable: int
    id_kinds: set[type[Any]]
    explained: bool
    captions: PredictionForm | None = None

    @property
    def has_answers(self) -> bool:
        """Whether there are answers, and not only explanations."""
        return any(prediction.text or prediction.status != "ok" for prediction in self.by_id.values())


class _Row(Struct, frozen=True, gc=False):
    question_id: Id | UnsetType = UNSET
    questionId: Id | UnsetType = UNSET  # noqa: N815  (as GQA's files spell it)
    id: Id | UnsetType = UNSET
    sample_id: Id | UnsetType = UNSET
    image_id: Id | UnsetType | None = UNSET
    answer: str | int | float | bool | UnsetType | None = UNSET
    prediction: str | int | float | bool | UnsetType | None = UNSET
    model_answer: str | int | float | bool | UnsetType | None = UNSET
    rationale: Any = UNSET
    explanation: Any = UNSET
    caption: Any = UNSET
    status: Status | UnsetType = UNSET
    variant: str = ""
    folder: str = ""
    cluster: str = ""
    rule: str = ""
    output: str | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    first_token: dict[str, float] | None = None


Rows = Iterable[tuple[str, _Row]]
"""Rows, each after its place in the file, for messages."""


class _Model(Struct, frozen=True):
    question_results: list[_Row] = []


class _Report(Struct, frozen=True):
    results: dict[str, _Model]


def read_predictions(path: str | os.PathLike[str], variant: str | None = None) -> Predictions:
    """Read a file of any form that has answers; raises DataError with the malformed row.

    `variant` selects a variant of a record log, or a model of a report. Raises UsageError if there are several and
    `variant` is None.
    """
    name = os.fspath(path)
    unreadable: list[int] = []
    rows = _of_variant(name, _from_csv(name) if is_csv(name) else _from_json(name, unreadable), variant)
    return _collect(name, rows, _prediction_of, _FORM_HINT, unreadable)


def read_explained(path: str | os.PathLike[str], find: Find, captions: PredictionForm | None) -> Predictions:
    """Read a file of any form that has explanations; the form of captions is detected unless given."""
    name = os.fspath(path)
    unreadable: list[int] = []
    form: PredictionForm | None = None
    if is_csv(name):
        rows: Rows = _from_explained_csv(name, find)
    else:
        rows = list(json_rows(name, _Row, unreadable))
        texts = [row.caption or "" for _, row in rows if row.caption is not UNSET]
        form = (captions or caption_form(name, texts)) if texts else None
    predictions = _collect(name, rows, partial(_explained_prediction, form), _EXPLAINED_HINT, unreadable)
    return replace(predictions, captions=form, explained=False)


def stem_of(predictions: str) -> str:
    """The beginning of the names of output files: "x" for "x.json", "x_results.json", "x.csv", "x.records.jsonl"."""
    name = Path(predictions).name
    ending = next((ending for ending in _ENDINGS if name.lower().endswith(ending)), "")
    return name[: len(name) - len(ending)].removesuffix("_results") or name


def no_common_question(predictions: Predictions, known: str, path: str) -> DataError:
    """The error if the predictions and the other file have no question in common."""
    predicted = next(iter(predictions.by_id))
    return DataError(
        f"no question of {predictions.path} is in {path}: the first ids are {predicted!r} and {known!r}",
        hint=EXPLANATIONS_HINT.format(predictions.path) if predictions.explained else "are they of the same split?",
    )


def _from_csv(name: str) -> Iterator[tuple[str, _Row]]:
    for number, cells in enumerate(csv_rows(name), 1):
        if cells.keys().isdisjoint(_IDS) or cells.keys().isdisjoint(_ANSWERS):
            hint = EXPLANATIONS_HINT.format(name) if "generated_explanation" in cells else _FORM_HINT
            raise DataError(f"{name} has the columns {', '.join(cells)}", hint=hint)
        yield f", row {number}", _Row(**{key: cells[key] for key in (*_IDS, *_ANSWERS) if key in cells})  # type: ignore[arg-type]


def _from_explained_csv(name: str, find: Find) -> Iterator[tuple[str, _Row]]:
    for number, cells in enumerate(csv_rows(name), 1):
        answer, explanation = (
            next((cells[column] for column in columns if column in cells), None)
            for columns in (_EXPLAINED_ANSWERS, _EXPLANATIONS)
        )
        key = next((cells[column] for column in ("sample_id", "question_id", "id") if cells.get(column)), "")
        places: dict[str, str] = {column: cells[column] for column in PLACES if column in cells}
        if answer is None or explanation is None or not (key or places):
            raise DataError(f"{name}, row {number}: the columns are {', '.join(cells)}", hint=_EXPLAINED_HINT)
        status: Status = next((status for status in STATUSES if status == cells.get("status")), "ok")
        key = key or find(places) or " / ".join(places.values())
        yield f", row {number}", _Row(question_id=key, answer=answer, rationale=explanation, status=status)


def _from_json(name: str, unreadable: list[int]) -> Iterator[tuple[str, _Row]]:
    text = json_text(name)
    report = _report(name, text) if first_character(text) == b"{" else None
    if report is not None:
        for model, result in report.results.items():
            for number, row in enumerate(result.question_results, 1):
                yield f", {model}, item {number}", replace(row, variant=model)
        return
    yield from json_rows(name, _Row, unreadable)


def _report(name: str, text: memoryview) -> _Report | None:
    """A report of vqa2, ours or published; None for lines of JSON. Raises DataError for a broken object."""
    try:
        return msgspec.json.decode(text, type=_Report)
    except UNDECODABLE as error:
        if not is_log(name) and next(lines(name))[1].strip() == b"{":
            raise DataError(f"{name}: {fault(error, text)}", hint=_FORM_HINT) from None
        return None


def _of_variant(name: str, rows: Rows, variant: str | None) -> Iterator[tuple[str, _Row]]:
    names: dict[str, None] = {}
    for where, row in rows:
        form = row.variant or row.folder
        names[form] = None
        if variant is None and len(names) > 1:
            first, second = names
            raise UsageError(
                f"{name} contains several variants, among them {first!r} and {second!r}",
                hint="--variant NAME scores one of them",
            )
        if variant is None or form == variant:
            yield where, row
    if variant is not None and variant not in names:
        raise UsageError(f"{name} contains no variant {variant!r}", hint=f"it contains {', '.join(map(repr, names))}")


def _collect(
    name: str, rows: Rows, read: Callable[[str, _Row, Any], Prediction], hint: str, unreadable: list[int]
) -> Predictions:
    by_id: dict[str, Prediction] = {}
    times: Counter[str] = Counter()
    kinds: set[type[Any]] = set()
    differing: set[str] = set()
    not_text, explained = 0, False
    for where, row in rows:
        answer = _first_set(row, _ANSWERS)
        prediction = read(name + where, row, answer)
        key = key_of(prediction.question_id)
        before = by_id.get(key, prediction)
        if (before.text, before.explanation) != (prediction.text, prediction.explanation):
            differing.add(key)
        by_id[key] = prediction
        times[key] += 1
        kinds.add(type(prediction.question_id))
        not_text += isinstance(answer, int | float)
        explained = explained or bool(row.rationale)
    if not by_id:
        raise DataError(f"{name} contains no prediction", hint=hint)
    return Predictions(
        path=name,
        by_id=by_id,
        repeated={key: number for key, number in times.items() if number > 1},
        differing=differing,
        not_text=not_text,
        unreadable=len(unreadable),
        id_kinds=set() if is_csv(name) or is_log(name) else kinds,
        explained=explained,
    )


def _first_set(row: _Row, names: tuple[str, ...]) -> Any:
    return next((value for name in names if (value := getattr(row, name)) is not UNSET), UNSET)


def _prediction_of(where: str, row: _Row, answer: Any) -> Prediction:
    question_id = _first_set(row, _IDS)
    if question_id is UNSET or answer is UNSET or question_id == "":
        missing = "answer" if answer is UNSET else "id"
        raise DataError(f"{where} has no {missing}", hint=_FORM_HINT)
    status: Status = row.status or "ok"
    text = None if answer is None or status != "ok" else str(answer)
    if status == "ok" and not (text or "").strip():
        status = "empty"
    return Prediction(
        question_id=question_id,
        text=text,
        status=status,
        cluster=row.cluster,
        rule=row.rule,
        reply=None
        if row.output is None
        else Completion(
            text=row.output, reasoning=row.reasoning, finish_reason=row.finish_reason, first_token=row.first_token
        ),
    )


def _explained_prediction(form: PredictionForm | None, where: str, row: _Row, answer: Any) -> Prediction:
    key = next((id for name in _EXPLAINED_IDS if (id := getattr(row, name)) not in (UNSET, None, "")), UNSET)
    explanation = _first_set(row, ("rationale", "explanation"))
    if form and row.caption is not UNSET:
        answer, explanation = split_caption(row.caption or "", form)
    elif explanation is UNSET and row.status is UNSET:
        raise DataError(f"{where} has no explanation", hint=_EXPLAINED_HINT)
    if key is UNSET:
        raise DataError(f"{where} has no id", hint=_EXPLAINED_HINT)
    return Prediction(
        question_id=key, text=_text_of(answer), explanation=_text_of(explanation), status=row.status or "ok"
    )


def _text_of(value: Any) -> str:
    """The text of a value, "" for the published script's placeholders of a missing one."""
    text = "" if value is None or value is UNSET else str(value)
    return "" if text.strip().lower() in (*PLACEHOLDERS, UNKNOWN) else text


_EXAMPLES: Final = 3


def note_ids(
    strangers: Collection[str], missing: Collection[str], other: str, asked: str, treated: str = "not scored"
) -> Iterator[str]:
    """Notes on predictions without an `other`, such as an annotation, and on `asked` questions without a prediction."""
    if strangers:
        yield f"{count_and_first(strangers, 'prediction')} without {other}, not scored"
    if missing:
        yield f"{count_and_first(missing, asked)} without a prediction, {treated}"


def note_repeats(repeated: Mapping[str, int], differing: int) -> Iterator[str]:
    """A note on questions that a file answers more than once."""
    if repeated:
        differ = f"({differing:,} of them differ)"
        yield f"{count_and_first(repeated, 'question')} with several predictions {differ}: the last one counts"


def note_file_faults(predictions: Predictions) -> Iterator[str]:
    """Notes on malformed answers and lines of a file."""
    if predictions.not_text:
        yield f"{count(predictions.not_text, 'answer')} not written as text, taken as they stand"
    if predictions.unreadable:
        yield f"{count(predictions.unreadable, 'line')} of {predictions.path} can't be read: was the run killed?"


def note_statuses(statuses: "Counter[Status]", scored_as: Callable[[Status], str]) -> Iterator[str]:
    """Notes on questions with another status than "ok", and how they are scored."""
    for status, number in statuses.most_common():
        if status != "ok":
            kind = "answer" if status in ANSWERED else "question"
            yield f"{count(number, kind)} {status.replace('_', ' ')}, {scored_as(status)}"


def count_and_first(ids: Collection[str], noun: str) -> str:
    """The number of ids with a noun, and the first ids."""
    return f"{count(len(ids), noun)} ({first_of(ids, _EXAMPLES)})"


Pairs = Iterator[tuple[Question, Record]]
Scores = Callable[[Prediction, Question], dict[str, float]]
"""The scores of an answer by metric; the first is the record's score."""


def records_of(questions: Iterable[Question], predictions: Predictions, scores: Scores) -> Pairs:
    """The questions that have a prediction, with their records."""
    for question in questions:
        prediction = predictions.by_id.get(key_of(question.id))
        if prediction is not None:
            parts = scores(prediction, question)
            answer = Answer(text=prediction.text, status=prediction.status, rationale=prediction.explanation)
            score = Score(value=next(iter(parts.values()), 0.0), parts=parts)
            yield question, record_of_answer(question, answer, score)
