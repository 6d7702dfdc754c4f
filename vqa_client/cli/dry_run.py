"""`--dry_run` of a benchmark command: its estimates as text and as JSON."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import anyio
import msgspec

from vqa_client.cli.streams import emit, emit_json, folded, safe, say, terminal_width
from vqa_client.pages.estimate import TOKEN_SIDES
from vqa_client.reports.names import count, duration, first_and_more, in_dollars
from vqa_client.runs.dry_run import DryRun, ExpectedRun, dry_run
from vqa_client.runs.stage import MILLION
from vqa_client.settings.run import RunSettings

MEGABYTE = 1e6
SHOWN = 10
"""Ids shown on a terminal; --json has all."""


def show_dry_run(several: Sequence[RunSettings]) -> None:
    """Print the estimates of each run and of all together; asks and writes nothing."""
    planned = [
        (run, expected, settings)
        for settings in several
        for run in anyio.run(dry_run, settings, say)
        for expected in run.plans
    ]
    if several[0].json:
        emit_json([_json_row(*row) for row in planned])
    else:
        lines = [line for row in planned for line in _plan_lines(*row)]
        if len(planned) > 1:
            lines += _total_lines(planned, several[0].rate)
        emit(folded("\n".join(lines), terminal_width()) + "\n")


def _json_row(run: DryRun, expected: ExpectedRun, settings: RunSettings) -> dict[str, Any]:
    prompts, replies = _cost(run, expected, settings) or (None, None)
    return {
        **msgspec.to_builtins(expected),
        "model": run.model,
        "token_rule": settings.token_rule,
        "context_length": run.context_length,
        "seconds": expected.requests / settings.rate if settings.rate else None,
        "batches_end_by": _latest_end(settings) if settings.batch else None,
        "dollars_prompts": prompts,
        "dollars_replies_at_most": replies,
    }


def _plan_lines(run: DryRun, expected: ExpectedRun, settings: RunSettings) -> Iterator[str]:
    yield safe(f"{expected.title} · {run.model or 'the model that the server serves'}")
    yield _size_line([expected], f" ({expected.kept:,} answered before)" if expected.kept else "")
    if settings.image_format or settings.max_pixels or settings.max_side or settings.corrupted:
        yield "  megabytes are those of the files; images that are encoded again have other sizes"
    side = TOKEN_SIDES[settings.token_rule]
    yield (
        f"  about {expected.image_tokens:,} image tokens by the rule {settings.token_rule}: "
        f"one for each {side} x {side} pixels"
    )
    longest = f"replies have at most {expected.max_tokens:,} each"
    yield f"  about {expected.text_tokens:,} text tokens by cl100k_base; {longest}"
    yield from _length_lines(run, expected)
    if expected.unreadable:
        yield f"  {count(len(expected.unreadable), 'file')} can't be read as images: {_some_names(expected.unreadable)}"
    if settings.by_batches:
        sizes = f"{settings.batch_bytes / MEGABYTE:g} MB and {settings.batch_lines:,} questions"
        until = f"; those made now end by {_latest_end(settings)}" if settings.batch else ""
        yield f"  {count(expected.batches, 'batch file')} of at most {sizes}{until}"
    else:
        yield _time_line(expected.requests, settings.rate)
    if dollars := _cost(run, expected, settings):
        prompts, replies = dollars
        total = f"  at most {in_dollars(prompts + replies)}"
        yield f"{total}: {in_dollars(prompts)} for prompts, {in_dollars(replies)} for the longest replies"


def _total_lines(planned: Sequence[tuple[DryRun, ExpectedRun, RunSettings]], rate: float | None) -> Iterator[str]:
    """The sums over all plans; dollars only if every model has prices."""
    plans = [expected for _, expected, _ in planned]
    yield f"all {len(plans)} together"
    yield _size_line(plans)
    image_tokens, text_tokens = sum(plan.image_tokens for plan in plans), sum(plan.text_tokens for plan in plans)
    yield f"  about {image_tokens:,} image tokens and {text_tokens:,} text tokens"
    if rate is not None:
        yield _time_line(sum(plan.requests for plan in plans), rate)
    dollars = [_cost(*row) for row in planned]
    if None not in dollars:
        yield f"  at most {in_dollars(sum(map(sum, filter(None, dollars))))}"


def _size_line(plans: Sequence[ExpectedRun], kept: str = "") -> str:
    requests, images = (count(sum(getattr(plan, f"{noun}s") for plan in plans), noun) for noun in ("request", "image"))
    return f"  {requests}{kept} · {images} · {sum(plan.sent_bytes for plan in plans) / MEGABYTE:,.1f} MB to send"


def _length_lines(run: DryRun, expected: ExpectedRun) -> Iterator[str]:
    if run.context_length is None:
        yield "  no server states its context window: --context_length TOKENS finds what doesn't fit"
        return
    length = f"{run.context_length:,} tokens ({run.said_by})"
    if not expected.overflows:
        yield f"  every question fits into {length}, the longest reply included"
        return
    longest_first = sorted(expected.overflows, key=lambda overflow: -overflow.tokens)
    ids = _some_names(tuple(f"{overflow.question_id} ({overflow.tokens:,})" for overflow in longest_first))
    yield f"  {count(len(expected.overflows), 'question')} beyond {length}, the longest reply included: {ids}"


def _time_line(requests: int, rate: float | None) -> str:
    if rate is None:
        return "  --rate QUESTIONS_PER_SECOND estimates the time"
    return f"  {duration(requests / rate)} at {rate:g} questions/s"


def _latest_end(settings: RunSettings) -> str:
    """The latest time at which batches submitted now end."""
    return (datetime.now().astimezone() + timedelta(hours=settings.batch_hours)).strftime("%a %d %b %H:%M")


def _cost(run: DryRun, expected: ExpectedRun, settings: RunSettings) -> tuple[float, float] | None:
    """The cost of the prompts, and of replies of the maximum length; None without prices."""
    if run.prices is None:
        return None
    share = run.prices.batch if settings.batch else 1.0
    prompts = share * (expected.image_tokens + expected.text_tokens) * run.prices.input
    return prompts / MILLION, share * expected.requests * expected.max_tokens * run.prices.output / MILLION


def _some_names(names: tuple[str, ...]) -> str:
    return safe(first_and_more(names, SHOWN, " (--json has all)"))
