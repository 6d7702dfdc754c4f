"""`vqa-client parse`: how one reply of a run was parsed, from its record and today's parsers."""

import difflib
import re
from pathlib import Path
from typing import Final, get_args

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.benchmark import Benchmark, Replay, choice
from vqa_client.errors import DataError, UsageError, VqaClientError
from vqa_client.reports.log_reader import find_logs, run_file_of
from vqa_client.reports.logged_run import LoggedRun, read_run
from vqa_client.reports.names import first_of
from vqa_client.runner import judge
from vqa_client.runs.reopened import Reopened, as_recorded, reopen, settings_of
from vqa_client.runs.run_file import RunFile
from vqa_client.scoring.choices.trace import ChoiceView, explain_choice, peeled_off
from vqa_client.scoring.finish import is_blocked
from vqa_client.scoring.readings import choice_or_short
from vqa_client.scoring.reply import kept_completion, reply_from
from vqa_client.types import Answer, ChoiceMode, Completion, Question, Record, Score, Status

MOST_VARIANTS = 8
STATUS_REASONS: Final[dict[Status, str]] = {
    "ok": "an answer was read",
    "unparsed": "there is a reply, and no rule finds an answer in it",
    "ambiguous": "the reply offers several answers and commits to none; nothing is guessed",
    "truncated": "the reply was cut at the token limit before it gave an answer",
    "refused": "the model, or the server for it, declined to answer",
    "empty": "there is no text where the answer should be",
    "bad_image": "an image could not be sent; the question was not asked",
    "too_long": "the question did not fit into the model's context",
    "too_many_images": "the server takes fewer images than the question has",
    "bad_response": "the server's response was not a reply",
    "rate_limited": "the server took no more requests",
    "timeout": "no reply came in time",
    "connection": "the server could not be reached, or the connection broke",
    "server_error": "the server failed",
    "rejected": "the server refused the request",
}
RULE_REASONS: Final = {
    "whole_reply": "the whole reply is the answer, without its wrapping",
    "wrapper": "the answer is taken out of what it is wrapped in, and the explanation from beside it",
    "cut": "the reply was cut, and what precedes the cut contains no right answer",
    "no_text": "the reply has no text",
    "content_filter": "the server's filter stopped the reply",
    "refusal": "the reply opens with a refusal",
    "constrained": "only a reply that is a label and nothing else counts (--choice_mode structured)",
    "first token": "the label that is most probable as the first token (--choice_mode logprob)",
    "reasoning first": "the first token begins the model's thoughts, so that it says nothing of its answer",
    "no logprobs": "the server reported no logprobs with this reply",
}
_LETTERS: Final = "ABCD"
_CHOICE: Final = re.compile(r"^(?P<label>[A-D])[.)] (?P<text>.*)$", re.MULTILINE)
_MC_PARTS: Final = frozenset({"robust", "longbench"})
"""Parsers of multiple choice only: they identify the benchmark of a log without a run file."""
_CHOICE_PARTS: Final = frozenset(get_args(ChoiceMode))
"""The scores of the other modes of multiple choice."""


class Why(Struct, frozen=True, kw_only=True):
    """A record and how it was read; `today` is None if the data file is missing, and `unknown` says why."""

    log: str
    task: str
    record: Record
    why: tuple[str, ...]
    peeled_off: tuple[str, ...]
    choices: dict[str, str]
    choice: ChoiceView | None
    today: Answer | None
    today_score: Score | None
    parsers: dict[str, str]
    compared_as: str | None
    references_as: tuple[str, ...]
    unknown: str


def why(place: Path, question_id: str, variant: str | None) -> Why:
    """Find the question in a run, or in the runs of a folder, and read its reply again.

    Raises DataError if it wasn't asked, UsageError if it was asked in several variants and none is named.
    """
    logged, record = _find(place, question_id, variant)
    try:
        run: Reopened | None = reopen(logged.log)
        unknown = ""
    except VqaClientError as error:
        run, unknown = None, f"{error}; the right answer and the choices are those that the log shows"
    question = _question(run, record) if run else None
    if run and question is None:
        unknown = "the data file no longer has this question"
    parts = record.parts.keys()
    task = logged.task or ("mc" if parts >= _MC_PARTS or parts & _CHOICE_PARTS else "")
    return _why(logged.log, task, record, run, question, unknown)


def _find(place: Path, question_id: str, variant: str | None) -> tuple[LoggedRun, Record]:
    matches: dict[str, tuple[LoggedRun, Record]] = {}
    others: set[str] = set()
    variants: dict[str, None] = {}
    for run in map(read_run, find_logs(place)):
        for record in run.records:
            if record.question_id != question_id:
                others.add(record.question_id)
                continue
            variants[record.form] = None
            if variant in (None, record.form):
                matches[f"{record.form} in {run.stem}" if record.form in matches else record.form] = run, record
    if not matches:
        names = ", ".join(filter(None, list(variants)[:MOST_VARIANTS]))
        known = f"its variants are {names}" if names else "it has no variants: leave --variant out"
        form = f" in the variant {variant!r}" if variant else ""
        hint = known if variants else _similar_ids(question_id, others)
        raise DataError(f"{place}: {question_id!r} was not asked{form}", hint=hint)
    if len(matches) > 1:
        raise UsageError(
            f"{place}: {question_id!r} was asked in {len(matches)} variants: {first_of(matches, MOST_VARIANTS)}",
            hint="choose one with --variant, or name the run of one",
        )
    return next(iter(matches.values()))


def _similar_ids(question_id: str, others: set[str]) -> str:
    near = sorted(other for other in others if question_id and question_id in other)[:3]
    near = near or difflib.get_close_matches(question_id, sorted(others)[:20_000], n=3)
    return f"did you mean {', '.join(near)}?" if near else f"its questions are {first_of(sorted(others), 3)}"


def _question(run: Reopened, record: Record) -> Question | None:
    question = next((asked for asked in run.questions if asked.id == record.question_id), None)
    return as_recorded(question, record) if question else None


def _why(log: Path, task: str, record: Record, run: Reopened | None, question: Question | None, unknown: str) -> Why:
    reply = record.output or ""
    completion = kept_completion(record)
    replied = record.output is not None
    choices = question.choices if question else _choices_in(record.prompt) if task == "mc" else {}
    today, score = judge(completion, question, run.task) if run and question and replied else (None, None)
    benchmark = run.benchmark if run else _benchmark_of(log)
    reads_choices = task == "mc" or (benchmark is not None and benchmark.parse in (choice, choice_or_short))
    free_text = reads_choices and replied and not record.parts.keys() & _CHOICE_PARTS
    view = explain_choice(completion, choices) if choices and free_text else None
    if view and task != "mc":
        view = replace(view, parsers={})
    asked = question or Question(id=record.question_id, text="", references=record.references, choices=choices)
    by_words = benchmark.headline_metric.normalise if benchmark and record.answer is not None else None
    return Why(
        log=str(log),
        task=task,
        record=record,
        why=tuple(_reasons(record)),
        peeled_off=tuple(peeled_off(reply)),
        choices=choices,
        choice=view,
        today=today,
        today_score=score,
        parsers=_parsers(benchmark, completion, asked) if benchmark and replied and task != "mc" else {},
        compared_as=by_words(record.answer or "") if by_words else None,
        references_as=tuple(map(by_words, record.references)) if by_words else (),
        unknown=unknown,
    )


def _choices_in(prompt: str) -> dict[str, str]:
    """The choices in the prompt, one per line; only the letters if the prompt has another form."""
    choices = {line["label"]: line["text"].strip() for line in _CHOICE.finditer(prompt)}
    return choices if list(choices) == list(_LETTERS) else dict.fromkeys(_LETTERS, "")


def _reasons(record: Record) -> list[str]:
    lines = [STATUS_REASONS[record.status]]
    if record.output is not None and record.rule in RULE_REASONS:
        lines.append(RULE_REASONS[record.rule])
    if is_blocked(record.finish_reason):
        lines.append(f"the server ended the reply as {record.finish_reason!r}: a refusal, whatever it says")
    if record.error:
        lines.append(record.error.message)
    return lines


def _benchmark_of(log: Path) -> Benchmark | None:
    """The benchmark of a run without its data; None if it isn't known."""
    try:
        file = RunFile.read(run_file_of(log))
        if file is None:
            return None
        settings, entry = settings_of(file)
        return entry.make(settings)
    except (KeyError, VqaClientError):
        return None


def _parsers(benchmark: Benchmark, completion: Completion, question: Question) -> dict[str, str]:
    """The answers of the other readings by metric."""
    reply = reply_from(completion)
    others = [
        metric
        for metric in benchmark.metrics
        if metric.read not in (None, benchmark.parse) and not metric.rationale and not isinstance(metric.read, Replay)
    ]
    return {metric.name: benchmark.answer(metric, reply, question).text or "" for metric in others}
