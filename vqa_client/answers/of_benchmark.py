"""Answers from a file instead of a server: the same questions, reading, metrics, records and reports."""

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, cast

from msgspec.structs import replace

from vqa_client.answers.predictions import (
    Prediction,
    Predictions,
    no_common_question,
    note_file_faults,
    note_ids,
    note_repeats,
    read_predictions,
    stem_of,
)
from vqa_client.answers.rows import key_of
from vqa_client.errors import QuestionFailed, UsageError
from vqa_client.files import sha256_of
from vqa_client.model_config import ModelSettings
from vqa_client.records import RecordLog
from vqa_client.reports.report import Report
from vqa_client.runner import record_of
from vqa_client.runs.plan import Plan, close_plan, run_file_for
from vqa_client.runs.plans import make_plans
from vqa_client.runs.resume import carry_over, move_aside
from vqa_client.scoring.finish import GIVEN
from vqa_client.settings.run import RunSettings
from vqa_client.settings.score import AnswersSettings
from vqa_client.types import FAILED, Completion, Note, Record

NO_PREDICTION = "no_prediction"
"""The reason for leaving a question out."""
KEPT = 50_000
"""The most questions that are kept in memory, at some 2 KB each."""


def score_answers(settings: RunSettings, answers: AnswersSettings, note: Note) -> list[Report]:
    """Score a file's answers to a benchmark's questions, and write records, run file and report as a run does.

    Raises DataError if the file answers no question, UsageError for options that only a run on a server can have, and
    IdentityError if the records of another run exist there.
    """
    if options := [*settings.draws, *settings.variations]:
        option = options[0]
        raise UsageError(f"{option} says what is asked, and a file's answers are there", hint=f"leave {option} out")
    predictions = read_predictions(answers.predictions, answers.variant)
    answers = dataclasses.replace(answers, model=answers.model or stem_of(predictions.path))
    settings = dataclasses.replace(cast(Any, settings), model=answers.model)
    plans = [_in_memory(plan) for plan in make_plans(settings, None, None, note, finds_images=False)]
    asked = [[question.id for question in plan.loaded.questions] for plan in plans]
    keys = {key_of(id) for ids in asked for id in ids}
    unknown = [key for key in predictions.by_id if key not in keys]
    if len(unknown) == len(predictions.by_id):
        raise no_common_question(predictions, asked[0][0], str(plans[0].data_path))
    missing = [tuple(id for id in ids if key_of(id) not in predictions.by_id) for ids in asked]
    treated = "counted as wrong" if answers.missing == "wrong" else "not scored (--missing wrong counts them)"
    for line in (
        *note_ids(unknown, [id for ids in missing for id in ids], "question", "question", treated),
        *note_repeats(predictions.repeated, len(predictions.differing)),
        *note_file_faults(predictions),
    ):
        note(line)
    chosen_plans = plans if answers.missing == "wrong" else map(_without_missing, plans, missing)
    return [_score_plan(plan, predictions, settings, answers, note) for plan in chosen_plans if plan.loaded.count]


def _in_memory(plan: Plan) -> Plan:
    """The plan with its questions in memory for three passes; more than `KEPT` are read again for each pass."""
    loaded = plan.loaded
    few = loaded.count <= KEPT
    return replace(plan, loaded=replace(loaded, questions=list(loaded.questions))) if few else plan


def _without_missing(plan: Plan, missing: tuple[str, ...]) -> Plan:
    """The plan without the questions that have no prediction."""
    if not missing:
        return plan
    loaded = plan.loaded
    left_out = loaded.left_out | {NO_PREDICTION: missing}
    return replace(plan, loaded=replace(loaded, count=loaded.count - len(missing), left_out=left_out))


def _score_plan(
    plan: Plan, predictions: Predictions, settings: RunSettings, answers: AnswersSettings, note: Note
) -> Report:
    if answers.fresh:
        move_aside(plan.paths)
    model = ModelSettings(model_name=answers.model, max_tokens=settings.usual_max_tokens)
    file = run_file_for(plan, settings, model)
    file.identity["predictions"] = {"sha256": sha256_of(answers.predictions), "missing": answers.missing}
    file.described["predictions"] = str(answers.predictions.absolute())
    carry_over(plan.paths, file, note)
    if not file.sessions:
        file.start({"started": datetime.now(UTC).isoformat()})
    with RecordLog(plan.paths.log, file.identity) as log:
        log.rewrite(_records(plan, predictions, blank=answers.missing == "wrong"))
        file.write(plan.paths.run)
        return close_plan(plan, note, file, log)


def _records(plan: Plan, predictions: Predictions, *, blank: bool) -> Iterator[Record]:
    for question in plan.loaded.questions:
        prediction = predictions.by_id.get(key_of(question.id))
        if prediction is not None:
            yield record_of(question, _reply(prediction), plan.task)
        elif blank:
            yield record_of(question, Completion(text=""), plan.task)


def _reply(prediction: Prediction) -> Completion | QuestionFailed:
    """The whole reply of a record, else the answer, which may be blank."""
    if prediction.status in FAILED:
        return QuestionFailed(prediction.status, "the predictions have no reply")
    text = prediction.text or ""
    blank = prediction.text is not None and not text.strip()
    return prediction.reply or Completion(text=text, finish_reason=GIVEN if blank else "stop")
