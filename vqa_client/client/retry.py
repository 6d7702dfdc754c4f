"""What follows an attempt without an answer, decided without I/O: ask again and when, another server, or failure."""

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
"""How long one question may be put off by a server that limits the rate of requests."""
STILL_ANSWERS_S = 60.0
"""A rate limit that names no time is a fault where nobody was answered for so long."""
TURNS = 1
"""How often one question only waits for another one to end; one that is refused more often slows all workers down."""
LOADING_POLL_S = 1.0
LOST_CONNECTIONS = 20
"""How often one question waits for a server that answers a probe and then refuses the question's connection."""
MOST_WISHED = 1e7
"""A larger number is junk."""
MOVE_S = 5.0
"""A document whose server pauses for longer is sent to another one: that costs less than the wait."""


class Tried(Struct, frozen=True):
    """What a question's attempts have cost so far: the whole memory of the policy.

    `failures` are charged against --max_retries and `spent_s` against the timeout; `limited` counts rate limits that
    named no time, `cuts` lost connections, `unconnected` refused ones, and `put_off_s` adds up the server's pauses.
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


class Unconnected(Struct, frozen=True):
    """There was no connection; `waited_s` is charged where the server itself was there."""

    message: str
    waited_s: float | None = None


class Cut(Struct, frozen=True):
    """The connection broke during the exchange; `alive` where a probe after a large body was answered."""

    message: str
    size_bytes: int
    alive: bool = False


class Late(Struct, frozen=True):
    """There was no reply in time, for the reason that the server's window gives."""

    lateness: Lateness


class Refused(Struct, frozen=True):
    """The reply was not a completion.

    `wish_s` is the pause that the server named, `others` whether another server could take the question, `answers`
    whether anybody was answered lately, and `kept` whether the server kept other requests when it refused this one.
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
        """The server is of no use for a while, so the question goes elsewhere."""
        too_long = self.wish_s is not None and self.wish_s > RATE_LIMIT_PATIENCE_S
        return too_long or (self.verdict.loading and self.others)

    @property
    def crowded(self) -> bool:
        """The server has more requests than it takes."""
        return not self.drains and (self.limited or (self.http_status in CROWDED and not self.verdict.loading))


class Moved(Struct, frozen=True):
    """The server was given up while it had the question."""


class Free(Struct, frozen=True):
    """The request is sent again in another form or alone: not a failure."""


Outcome = Unconnected | Cut | Late | Refused | Moved | Free


class Again(Struct, frozen=True, kw_only=True):
    """Ask again after `wait_s`, or after a pause of `pause_s` for all workers; `named` where the server chose it.

    `first` goes before all questions that wait. `fault`, here and in Fail, is what speaks against the server: where
    it is given up for that, the question moves and is not charged.
    """

    wait_s: float = 0.0
    pause_s: float | None = None
    why: str = ""
    first: bool = False
    fault: str = ""


class Move(Struct, frozen=True):
    """Ask another server; `drain` says why this one is out, "" where it is given up already."""

    drain: str = ""


class Fail(Struct, frozen=True, kw_only=True):
    """The question has failed; "timeout" without a message is told by who knows the attempts."""

    status: Status
    message: str = ""
    http_status: int | None = None
    body: str = ""
    hint: str = ""
    fault: str = ""


class Stop(Struct, frozen=True):
    """The only server asks for a pause that is too long for any question."""

    message: str


Step = Again | Move | Fail | Stop
_CUT_HINT = "a gateway's limit may be below that: --max_pixels, --max_pages"


def next_step(
    tried: Tried, outcome: Outcome, took_s: float, limits: Limits, chance: random.Random
) -> tuple[Tried, Step]:
    """What follows an attempt that took `took_s` seconds from its first byte, and what the question has cost then."""
    charged = replace(tried, spent_s=tried.spent_s + took_s)
    match outcome:
        case Moved():
            return tried, Move()
        case Free():
            return charged, Again()
        case Late(lateness="own"):
            return charged, Fail(status="timeout", fault="no reply in time")
        case Late():
            failures = tried.failures + (outcome.lateness == "backlog")
            step = Fail(status="timeout") if failures > limits.max_retries else Again()
            return replace(tried, failures=failures, spent_s=0.0), step
        case Unconnected():
            return _after_no_connection(charged, outcome, limits)
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
    """Wait where the server only puts the question off; other faults are charged to it."""
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
    """For how long the question is put off without a charge; None where the refusal is a fault."""
    if refused.verdict.loading:
        return tried, refused.wish_s or LOADING_POLL_S
    if not refused.limited or refused.wish_s is not None:
        return tried, refused.wish_s if refused.limited else None
    if not refused.answers:
        return tried, None
    tried = replace(tried, limited=tried.limited + 1)
    wait_s = backoff_s(tried.limited, chance)
    return tried, 0.0 if refused.kept and tried.limited <= TURNS else wait_s  # the next place left is soon enough


def _after_fault(tried: Tried, refused: Refused, limits: Limits, chance: random.Random) -> tuple[Tried, Step]:
    """Charge a failure, and wait before the next attempt."""
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
    """The server's own wish in seconds, from retry-after-ms or Retry-After (seconds or an HTTP date); else None.

    `now_s` is the time of day as seconds since the epoch, for a server that doesn't say its own: a date means its
    clock, which ours may be hours off. Zero, the past and junk are no wish.
    """
    said_s = _date_s(headers.get("date"))
    now_s = now_s if said_s is None else said_s
    for wish in (_milliseconds(headers.get("retry-after-ms")), _seconds(headers.get("retry-after"), now_s)):
        if wish is not None and wish > 0:
            return wish
    return None


def _milliseconds(value: str | None) -> float | None:
    milliseconds = _number(value)
    return None if milliseconds is None else milliseconds / 1000


def _seconds(value: str | None, now_s: float) -> float | None:
    until_s = _date_s(value)
    return _number(value) if until_s is None else until_s - now_s


def _date_s(value: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(value).timestamp() if value else None
    except (ValueError, OverflowError):
        return None


def _number(value: str | None) -> float | None:
    wish = number(value)
    return wish if wish is not None and wish < MOST_WISHED else None
