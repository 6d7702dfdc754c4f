"""Decide, without I/O, what follows a failed attempt: a retry and its delay, another server, or failure.

`chat` makes the attempt and describes its outcome; `next_step` returns the next step and the question's cost so far:

    ServerLost    Move to another server, at no cost
    Resend        Again, alone or in another form
    Unconnected   Again once the server is reached, at most LOST_CONNECTIONS times
    Late          crowded: Again with the whole timeout; backlog: the same as a failure; own: Fail
    Cut           a failure; Fail if a running server cuts a large body twice
    Refused       too long a pause: Move, or Stop if there is no other server;
                  loading, or a limited rate: Again after a pause for all workers, at no cost while patience lasts;
                  a transient error: a failure; any other: Fail

A failure counts against --max_retries and leads to Again after a backoff, or to Fail. The seconds of attempts and
backoffs count against the timeout, pauses of the server don't. tests/client/test_retry.py has a row for each case.
"""

import email.utils
import random
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.client.allowance import number
from vqa_client.client.failures import CROWDED, FAULTS, LOST, MEGABYTE, Verdict
from vqa_client.client.limits import Lateness
from vqa_client.types import Status

BASE_S = 0.5
CAP_S = 30.0
RATE_LIMIT_PATIENCE_S = 3600.0
"""How long a server that limits the rate of requests may delay one question."""
STILL_ANSWERS_S = 60.0
"""A rate limit without a time is a fault if the server has answered no question in this time."""
TURNS = 1
"""The number of refusals for which a question waits only for another one to end; later ones slow all workers down."""
LOADING_POLL_S = 1.0
LOST_CONNECTIONS = 20
"""The number of times that a question waits for a server that answers probes but refuses its connection."""
MOST_WISHED = 1e7
"""A larger number is invalid."""
MOVE_S = 5.0
"""If a server pauses for longer, its documents go to another server: that costs less than the wait."""


class Tried(Struct, frozen=True):
    """What a question's attempts have cost so far; the policy keeps nothing else.

    `failures` count against --max_retries and `spent_s` against the timeout. `limited` counts rate limits without a
    time, `cuts` lost connections and `unconnected` refused ones; `put_off_s` is the sum of the server's pauses.
    """

    failures: int = 0
    limited: int = 0
    cuts: int = 0
    unconnected: int = 0
    put_off_s: float = 0.0
    spent_s: float = 0.0


class Limits(Struct, frozen=True):
    """What one question may cost."""

    max_retries: int
    timeout_s: float
    loading_patience_s: float


class ServerLost(Struct, frozen=True):
    """The server was lost during the attempt."""


class Resend(Struct, frozen=True):
    """The request has to be sent alone, or in another form: that is not a failure."""


class Unconnected(Struct, frozen=True):
    """The connection failed; `waited_s` is charged if the server was there."""

    message: str
    waited_s: float | None = None


class Late(Struct, frozen=True):
    """The reply was late; the server's window gives the reason."""

    lateness: Lateness


class Cut(Struct, frozen=True):
    """The connection broke during the exchange; `alive` if the server answered a probe after a large body."""

    message: str
    size_bytes: int
    alive: bool


class Refused(Struct, frozen=True):
    """The reply was not a completion.

    `wish_s` is the pause that the server asked for. `others`: another server could take the question. `answers`: the
    server has answered a question lately. `kept`: it kept other requests when it refused this one.
    """

    verdict: Verdict
    message: str
    http_status: int
    body: str = ""
    wish_s: float | None = None
    others: bool = False
    answers: bool = False
    kept: bool = False

    @property
    def limited(self) -> bool:
        """The server limits the rate of requests."""
        return self.verdict.status == "rate_limited"

    @property
    def drains(self) -> bool:
        """The server can't take questions for a while, so the question goes to another one."""
        too_long = self.wish_s is not None and self.wish_s > RATE_LIMIT_PATIENCE_S
        return too_long or (self.verdict.loading and self.others)

    @property
    def crowded(self) -> bool:
        """The server has too many requests."""
        return not self.drains and (self.limited or (self.http_status in CROWDED and not self.verdict.loading))


Outcome = ServerLost | Resend | Unconnected | Late | Cut | Refused


class Again(Struct, frozen=True, kw_only=True):
    """Ask again after `wait_s`, or after a pause of `pause_s` for all workers; `why` is the reason for the pause.

    `first` puts the question before all that wait. `fault`, here and in Fail, describes a fault of the server: if the
    server is drained for it, the question moves to another one without a charge.
    """

    wait_s: float = 0.0
    pause_s: float | None = None
    why: str = ""
    first: bool = False
    fault: str = ""


class Move(Struct, frozen=True):
    """Ask another server; `drain` is the reason to give this one no more questions, "" if it is lost already."""

    drain: str = ""


class Fail(Struct, frozen=True, kw_only=True):
    """The question has failed; the caller, which knows the attempts, words a "timeout"."""

    status: Status
    message: str = ""
    http_status: int | None = None
    body: str = ""
    hint: str = ""
    fault: str = ""


class Stop(Struct, frozen=True):
    """The only server asks for a pause that is too long."""

    message: str


Step = Again | Move | Fail | Stop
_CUT_HINT = "a gateway's limit may be below that: --max_pixels, --max_pages"


def next_step(
    tried: Tried, outcome: Outcome, took_s: float, limits: Limits, chance: random.Random
) -> tuple[Tried, Step]:
    """The step after an attempt of `took_s` seconds since its first byte, and the question's cost so far."""
    charged = replace(tried, spent_s=tried.spent_s + took_s)
    match outcome:
        case ServerLost():
            return tried, Move()
        case Resend():
            return charged, Again()
        case Unconnected():
            return _after_no_connection(charged, outcome, limits)
        case Late(lateness="own"):
            return charged, Fail(status="timeout", fault="no reply in time")
        case Late():
            failures = tried.failures + (outcome.lateness == "backlog")
            step = Fail(status="timeout") if failures > limits.max_retries else Again()
            return replace(tried, failures=failures, spent_s=0.0), step
        case Cut():
            charged = replace(charged, cuts=tried.cuts + 1)
            if outcome.alive:
                size = f"a body of {outcome.size_bytes / MEGABYTE:.1f} MB"
                message = f"the server cut the connection twice on {size}: {outcome.message}"
                return charged, Fail(status="rejected", message=message, hint=_CUT_HINT)
            return _after_fault(charged, Refused(LOST, outcome.message, 0), limits, chance)
        case Refused():
            return _after_refusal(charged, outcome, limits, chance)


def _after_no_connection(tried: Tried, outcome: Unconnected, limits: Limits) -> tuple[Tried, Step]:
    tried = replace(tried, unconnected=tried.unconnected + 1, spent_s=tried.spent_s + (outcome.waited_s or 0.0))
    if tried.unconnected > LOST_CONNECTIONS:
        return tried, Fail(status="connection", message=f"no connection to the server: {outcome.message}")
    if outcome.waited_s is not None and tried.spent_s >= limits.timeout_s:
        return tried, Fail(status="connection", message=f"{outcome.message}, though the server answers others")
    return tried, Again()


def _after_refusal(tried: Tried, refused: Refused, limits: Limits, chance: random.Random) -> tuple[Tried, Step]:
    """Wait if the server only delays the question; charge other refusals."""
    verdict, wish_s = refused.verdict, refused.wish_s
    if refused.drains:
        if verdict.loading and refused.others:
            return tried, Move(refused.message)
        message = f"asks for a pause of {wish_s:,.0f} s: {refused.message}"
        return tried, Move(message) if refused.others else Stop(message)
    tried, wait_s = _put_off(tried, refused, chance)
    if wait_s is not None:
        put_off_s = tried.put_off_s + (min(wait_s, MOVE_S) if refused.others else wait_s)
        tried = replace(tried, put_off_s=put_off_s)
        if put_off_s <= (limits.loading_patience_s if verdict.loading else RATE_LIMIT_PATIENCE_S):
            why = verdict.status if wish_s is None else "named"
            return tried, Again(pause_s=wait_s, why=why, first=refused.crowded)
        refused = replace(refused, verdict=replace(verdict, retry=False))
    return _after_fault(tried, refused, limits, chance)


def _put_off(tried: Tried, refused: Refused, chance: random.Random) -> tuple[Tried, float | None]:
    """The delay that isn't charged to the question; None if the refusal is a fault."""
    if refused.verdict.loading:
        return tried, refused.wish_s or LOADING_POLL_S
    if refused.limited and refused.wish_s is not None:
        return tried, refused.wish_s
    if not (refused.limited and refused.answers):
        return tried, None
    tried = replace(tried, limited=tried.limited + 1)
    wait_s = backoff_s(tried.limited, chance)
    return tried, 0.0 if refused.kept and tried.limited <= TURNS else wait_s  # the next free place comes soon enough


def _after_fault(tried: Tried, refused: Refused, limits: Limits, chance: random.Random) -> tuple[Tried, Step]:
    """Charge a failure; wait before the next attempt, or fail."""
    verdict, wish_s = refused.verdict, refused.wish_s
    fault = refused.message if verdict.status in FAULTS else ""
    tried = replace(tried, failures=tried.failures + 1)
    if not verdict.retry or tried.failures > limits.max_retries:
        return tried, Fail(
            status=verdict.status,
            message=refused.message,
            http_status=refused.http_status or None,
            body=refused.body,
            hint=verdict.hint,
            fault=fault,
        )
    wait_s = backoff_s(tried.failures, chance) if wish_s is None else wish_s
    if wish_s is not None or refused.limited:
        why = verdict.status if wish_s is None else "named"
        return tried, Again(pause_s=wait_s, why=why, first=refused.crowded, fault=fault)
    tried = replace(tried, spent_s=tried.spent_s + wait_s)
    if tried.spent_s >= limits.timeout_s:
        return tried, Fail(status="timeout", fault=fault)
    return tried, Again(wait_s=wait_s, first=refused.crowded, fault=fault)


def backoff_s(failures: int, chance: random.Random) -> float:
    """Full jitter: uniform in [0, min(cap, base x 2^(failures - 1))] seconds, after `failures` failures in a row.

    Source of the formula: M. Brooker, "Exponential Backoff And Jitter", 2015.
    """
    return chance.uniform(0, min(CAP_S, BASE_S * 2 ** min(failures - 1, 16)))


def retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """The pause that a server asks for, from retry-after-ms or Retry-After (seconds or an HTTP date); None without one.

    A date is compared with the server's Date header, because the clocks may differ by hours; without that header with
    `now_s`, in seconds since the epoch. Zero, the past and invalid values don't count.
    """
    date_s, until_s = _date_s(headers.get("date")), _date_s(headers.get("retry-after"))
    wish_s = _number(headers.get("retry-after"))
    if until_s is not None:
        wish_s = until_s - (now_s if date_s is None else date_s)
    return next((wish for wish in (_number(headers.get("retry-after-ms")) / 1000, wish_s) if wish > 0), None)


def _date_s(value: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(value).timestamp() if value else None
    except (ValueError, OverflowError):
        return None


def _number(value: str | None) -> float:
    wish = number(value)
    return wish if wish is not None and wish < MOST_WISHED else 0.0
