"""What held a run up or cut it short, in sentences."""

from collections.abc import Iterator

from vqa_client.reports.logged_run import LoggedRun
from vqa_client.reports.overview import Overview
from vqa_client.types import ANSWERED, Status

BUSY = 0.8
"""From this share of the workers in flight on, the server set the pace."""
LONG_STALL_S = 0.1
_HELD_UP: dict[Status, str] = {
    "rate_limited": "were refused by the server's rate limit",
    "timeout": "got no reply in time",
    "connection": "failed with the connection",
    "server_error": "ended in a server error",
    "too_long": "were too long for the model's context",
    "too_many_images": "had more images than the server takes",
    "bad_image": "had an image that can't be sent",
    "bad_response": "got a reply that is none",
    "rejected": "were rejected by the server",
}


def limits(run: LoggedRun, found: Overview) -> list[str]:
    """Sentences, the gravest first; none of them where nothing is known."""
    return [*_missing(run, found), *_failures(found), *_cut(run, found), *_pace(run, found)]


def _missing(run: LoggedRun, found: Overview) -> Iterator[str]:
    total, expected = len(run.records), run.facts.expected
    if expected is not None and total < expected:
        yield f"{expected - total:,} of {expected:,} questions have not been asked yet."
    if run.records.unreadable:
        yield f"{run.records.unreadable:,} lines of the log can't be read and are left out."
    left_out = run.facts.described.get("left_out")
    for reason, number in left_out.items() if isinstance(left_out, dict) else ():
        yield f"{number} questions were left out: {str(reason).replace('_', ' ')}."
    limit = run.facts.settings.get("limit")
    if isinstance(limit, int):
        yield f"Only the first {limit:,} instances of the data were asked (--limit)."


def _failures(found: Overview) -> Iterator[str]:
    for status, number in found.whole.status_counts.items():
        if number and status not in ANSWERED:
            failure = found.failures.get(status)
            example = f" For example: {_cut_at(failure.message)}" if failure else ""
            yield f"{number:,} {'question' if number == 1 else 'questions'} {_HELD_UP.get(status, status)}.{example}"
    repeats = found.attempts - found.whole.overall.total
    if repeats > 0:
        yield f"{repeats:,} of {found.attempts:,} requests were repeats."


def _cut(run: LoggedRun, found: Overview) -> Iterator[str]:
    number, total = found.whole.n_truncated, found.whole.overall.total
    if not number:
        return
    tokens = run.facts.model_settings.get("max_tokens")
    at = f" at {tokens:,} tokens" if isinstance(tokens, int) else ""
    rest = found.summary.without_truncated.value if found.headline is None else None  # of one variant, as is no count
    without = "" if rest is None else f" Without them the accuracy is {100 * rest:.1f} %."
    yield f"{number:,} replies ({100 * number / total:.1f} %) were cut{at}.{without}"


def _pace(run: LoggedRun, found: Overview) -> Iterator[str]:
    wall_s, asked = run.facts.total("wall_s"), run.facts.total("questions")
    workers = run.facts.settings.get("max_workers")
    if not wall_s or not asked or not isinstance(workers, int) or not found.latencies_s:
        return
    busy = sum(found.latencies_s) * min(1.0, asked / len(found.latencies_s)) / wall_s
    most = min(workers, int(asked))
    yield f"On average {busy:.1f} requests were in flight, of at most {most:,}: {_reason(run, busy, most)}"


def _reason(run: LoggedRun, busy: float, most: int) -> str:
    stall_s = max(run.facts.of_starts("loop_stall_max_s"), default=0.0)
    if busy >= BUSY * most:
        few = " More workers may be faster, if the server has room." if most < run.facts.total("questions") else ""
        return f"the server set the pace.{few}"
    if stall_s > LONG_STALL_S:
        return f"the client stood still for up to {stall_s:.2f} s, so its processor may have been the limit."
    return "starting, ending or waiting took the rest of the time, not the client's processor."


def _cut_at(text: str, characters: int = 200) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= characters else plain[:characters] + " …"
