"""Answers from a file in place of a server's: the same questions, reading, metrics, records and reports."""

import dataclasses
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.errors import QuestionFailed, UsageError
from vqa_client.files import sha256_of
from vqa_client.model_config import ModelSettings
from vqa_client.records import RecordLog
from vqa_client.reports.report import Report
from vqa_client.runner import record_of
from vqa_client.runs.plan import Note, Plan
from vqa_client.runs.plans import make_plans
from vqa_client.runs.resume import carry_over, move_aside
from vqa_client.runs.run_file import RunFile
from vqa_client.runs.run_plan import close_plan, run_file_for
from vqa_client.scorefiles.notes import named, of_file, of_repeated
from vqa_client.scorefiles.official_files import stem_of
from vqa_client.scorefiles.predictions import Prediction, Predictions, read_predictions, strangers
from vqa_client.scorefiles.rows import key_of
from vqa_client.scoring.finish import GIVEN
from vqa_client.settings.run import RunSettings
from vqa_client.settings.score import AnswersSettings
from vqa_client.types import FAILED, Completion, Record, Status

NO_PREDICTION = "no_prediction"


class _Matched(Struct, frozen=True, kw_only=True):
    """A plan, the ids of its questions that have no prediction, and how many questions it has."""

    plan: Plan
    missing: tuple[str, ...]
    total: int


def score_answers(settings: RunSettings, given: AnswersSettings, note: Note) -> list[Report]:
    """Score a file's answers to a benchmark's questions, and write records, run file and report as a run does.

    A question without an answer is left out, or a blank answer with `missing="wrong"`. Raises DataError where no
    question has one, UsageError for options that only a server's run can have, IdentityError for files of another run.
    """
    for option in (*settings.draws, *settings.variations):
        raise UsageError(f"{option} says what is asked, and answers in a file are given", hint=f"leave {option} out")
    predictions = read_predictions(given.predictions, given.variant)
    model = given.model or stem_of(predictions.path)
    settings = dataclasses.replace(cast(Any, settings), model=model)
    plans = make_plans(settings, None, None, note, finds_images=False)
    unknown = dict.fromkeys(predictions.by_id)
    matched = [_match(plan, predictions, unknown) for plan in plans]
    if len(unknown) == len(predictions.by_id):
        first = next(iter(plans[0].loaded.questions)).id
        raise strangers(predictions, first, str(plans[0].data_path))
    for line in _notes(predictions, list(unknown), matched, given.missing):
        note(line)

    def run_file(plan: Plan) -> RunFile:
        file = run_file_for(plan, settings, ModelSettings(model_name=model, max_tokens=settings.usual_max_tokens))
        file.identity["predictions"] = {"sha256": sha256_of(given.predictions), "missing": given.missing}
        file.described["predictions"] = str(given.predictions.absolute())
        return file

    wanted = [each for each in matched if len(each.missing) < each.total or given.missing == "wrong"]
    return [_scored(each, predictions, run_file, given, note) for each in wanted]


def _match(plan: Plan, predictions: Predictions, unknown: dict[str, None]) -> _Matched:
    missing, total = [], 0
    for question in plan.loaded.questions:
        total += 1
        key = key_of(question.id)
        unknown.pop(key, None)
        if key not in predictions.by_id:
            missing.append(question.id)
    return _Matched(plan=plan, missing=tuple(missing), total=total)


def _notes(predictions: Predictions, unknown: list[str], matched: list[_Matched], treated: str) -> Iterator[str]:
    if unknown:
        yield f"{named(unknown, 'prediction')} without question, not scored"
    missing = [each for part in matched for each in part.missing]
    if missing:
        counted = "counted as wrong" if treated == "wrong" else "not scored (--missing wrong counts them)"
        yield f"{named(missing, 'question')} without prediction, {counted}"
    yield from of_repeated(predictions)
    yield from of_file(predictions)


def _scored(
    matched: _Matched,
    predictions: Predictions,
    run_file: Callable[[Plan], RunFile],
    given: AnswersSettings,
    note: Note,
) -> Report:
    plan = matched.plan
    if matched.missing and given.missing != "wrong":
        loaded = plan.loaded
        left_out = loaded.left_out | {NO_PREDICTION: matched.missing}
        count = matched.total - len(matched.missing)
        plan = replace(plan, loaded=replace(loaded, count=count, left_out=left_out))
    if given.fresh:
        move_aside(plan.paths)
    file = run_file(plan)
    carry_over(plan.paths, RunFile.read(plan.paths.run), file)
    if not file.sessions:
        file.start({"started": datetime.now(UTC).isoformat()})
    with RecordLog(plan.paths.log, file.identity) as log:
        log.rewrite(_records(plan, predictions, blank=given.missing == "wrong"))
        file.write(plan.paths.run)
        return close_plan(plan, note, file, log)


def _records(plan: Plan, predictions: Predictions, *, blank: bool) -> Iterator[Record]:
    for question in plan.loaded.questions:
        prediction = predictions.by_id.get(key_of(question.id))
        if prediction is not None:
            yield replace(record_of(question, _reply(prediction), plan.task), **_kept(prediction))
        elif blank:
            yield record_of(question, Completion(text=""), plan.task)


def _reply(prediction: Prediction) -> Completion | QuestionFailed:
    """What was replied; a blank stands as an answer, and a record's reply is taken whole."""
    if prediction.status in FAILED:
        return QuestionFailed(prediction.status, "the predictions say that there was no reply")
    if prediction.reply is not None:
        return prediction.reply
    text = prediction.text
    if text is None:
        return Completion(text="")
    return Completion(text=text, finish_reason="stop" if text.strip() else GIVEN)


def _kept(prediction: Prediction) -> dict[str, Status]:
    """The status of an answer of which a file says nothing more."""
    told = prediction.status not in ("ok", "empty") and prediction.reply is None and prediction.status not in FAILED
    return {"status": prediction.status} if told else {}
