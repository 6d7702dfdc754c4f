"""Build the task of a benchmark with explanations: its prompt, its readings of a reply, its scores."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from vqa_client.errors import UsageError
from vqa_client.scoring.explained_answer.normalise import same
from vqa_client.scoring.explained_answer.seed import PLACEHOLDERS, READINGS, UNKNOWN
from vqa_client.scoring.reply import Reply
from vqa_client.task import Task
from vqa_client.tasks.explain.benchmark import Benchmark
from vqa_client.tasks.explain.prompts import EXAMPLES, prompt
from vqa_client.tasks.explain.table import FREE, benchmark_of
from vqa_client.types import Answer, Question, Score

SCORING_VERSION = "2"
PARSINGS: Final = ("robust", *READINGS)


def prompt_mode_of(task: str, prompt_mode: str | None) -> str:
    """Give the prompt mode, by default the published one: examples for e-SNLI-VE, none for the others."""
    chosen = prompt_mode or benchmark_of(task).prompt_mode
    if chosen not in EXAMPLES:
        raise UsageError(f"unknown prompt mode {chosen!r}", hint=f"known are {', '.join(EXAMPLES)}")
    return chosen


def task(name: str, *, parsing: str = "robust", prompt_mode: str | None = None, vcr_mode: str = FREE) -> Task:
    """Build the task; raises UsageError for an unknown name, parsing or mode."""
    benchmark = benchmark_of(name, vcr_mode)
    if parsing not in PARSINGS:
        raise UsageError(f"unknown parsing {parsing!r}", hint=f"known are {', '.join(PARSINGS)}")
    if parsing != "robust" and not benchmark.published:
        raise UsageError(f"--parsing {parsing} has no reading of --vcr_mode {vcr_mode}", hint="leave --parsing out")
    shots = prompt_mode_of(name, prompt_mode)
    return Task(
        name=name,
        prompt=lambda question: prompt(question, benchmark.wording, shots),
        parse=_parse_with(benchmark, parsing),
        score=_score_with(benchmark, parsing),
        scoring={"benchmark": name, "parsing": parsing, "vcr_mode": vcr_mode, "version": SCORING_VERSION},
        headline=parsing,
        text_first=True,
    )


def _robust(benchmark: Benchmark[Any], reply: Reply, question: Question) -> Answer:
    answer = benchmark.read(reply, question)
    if reply.source == "content":
        return answer
    return replace(answer, source="reasoning") if answer.status == "ok" else Answer(status="empty", rule="no_text")


def _parse_with(benchmark: Benchmark[Any], parsing: str) -> Callable[[Reply, Question], Answer]:
    def parse(reply: Reply, question: Question) -> Answer:
        robust = _robust(benchmark, reply, question)
        if parsing == "robust":
            return robust
        text, explanation = READINGS[parsing](benchmark.name, reply.raw, list(question.choices.values()))
        rationale = None if explanation in PLACEHOLDERS else explanation
        if text in (UNKNOWN, ""):
            return Answer(
                status="unparsed" if robust.status == "ok" else robust.status, rule=parsing, rationale=rationale
            )
        return Answer(text=text, rule=parsing, rationale=rationale)

    return parse


def _score_with(benchmark: Benchmark[Any], parsing: str) -> Callable[[Answer, Reply, Question], Score]:
    def score(answer: Answer, reply: Reply, question: Question) -> Score:
        gold = question.extra["gold"]
        robust = answer if parsing == "robust" else _robust(benchmark, reply, question)
        parts = {"robust": float(robust.text is not None and same(robust.text, gold))}
        if benchmark.published:
            wanted = question.extra.get("gold_text", gold)
            choices = list(question.choices.values())
            for name, read in READINGS.items():
                parts[name] = float(same(read(benchmark.name, reply.raw, choices)[0], wanted))
        parts |= benchmark.parts(answer, question)
        return Score(value=parts[parsing], parts=parts | {"explained": float(answer.rationale is not None)})

    return score
