"""What a start measures: how busy its workers are, and how each quarter of its time went."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from msgspec import Struct

from vqa_client.client.routes import Routes
from vqa_client.client.watching.server_memory import unsent_sockets
from vqa_client.runner import Crew
from vqa_client.types import Record

TICK_S = 0.025
TICKS_A_LOOK = 10
"""At each look the workers are counted: four times a second."""


class Pace:
    """Counts what the workers are at: idle, preparing images, repeating, paused, sending, or waiting for the server."""

    def __init__(self) -> None:
        self.stall_s = 0.0
        self.in_flight = self._ticks = self._looks = self._workers = 0
        self._unknown = False
        self._late_s = 0.0
        self._states: Counter[str] = Counter()
        self._began: tuple[float, ...] = ()
        self._spent: tuple[float, ...] = ()

    def asking(self) -> None:
        """A question is taken up."""
        self.in_flight += 1

    def finished(self) -> None:
        """A question taken up has its record."""
        self.in_flight -= 1

    async def watch(self, routes: Routes, crew: Crew, pulse: Callable[[float], None]) -> None:
        """Until cancelled, note how late the loop comes to each tick, and count the workers at each look.

        `pulse` is told at each look for how many seconds yet all servers are paused.
        """
        self._began = _clocks()
        while True:
            due_s = time.monotonic() + TICK_S
            await asyncio.sleep(TICK_S)
            late_s = time.monotonic() - due_s
            self.stall_s = max(self.stall_s, late_s)
            self._late_s += late_s
            self._ticks += 1
            if self._ticks % TICKS_A_LOOK == 0:
                if not crew.on_break:  # what a person pauses is held up by nothing
                    self._look(routes, crew)
                pulse(min((route.pause.left_s for route in routes.all if not route.lost), default=0.0))

    def _look(self, routes: Routes, crew: Crew) -> None:
        at_server = min(self.in_flight, sum(route.outstanding for route in routes.all))
        paused = all(route.lost or route.pause.left_s for route in routes.all)
        unsent = unsent_sockets()
        self._unknown |= unsent is None
        sending = min(at_server, unsent or 0)
        self._workers += max(crew.useful, self.in_flight)
        self._states["idle"] += max(0, crew.useful - self.in_flight)
        elsewhere = self.in_flight - at_server
        repeating = min(elsewhere, routes.repeating)
        limited = min(elsewhere - repeating, routes.allowance.waiting)
        self._states["repeating"] += repeating
        self._states["paused"] += limited
        self._states["paused" if paused else "preparing"] += elsewhere - repeating - limited
        self._states["sending"] += sending
        self._states["at_server"] += at_server - sending
        self._looks += 1
        self._spent = tuple(now - then for now, then in zip(_clocks(), self._began, strict=True))

    def described(self) -> dict[str, Any]:
        """Mean numbers of workers, of `most` on average, and shares of one core; nothing before the first look."""
        if not self._looks:
            return {}
        watched_s, cpu_s, loop_cpu_s = self._spent
        names = ("idle", "preparing", "repeating", "paused", "sending", "at_server")
        means = {name: round(self._states[name] / self._looks, 3) for name in names}
        most = round(self._workers / self._looks)
        return {
            "workers": {
                "most": most,
                **means,
                **({"sending": None} if self._unknown else {}),
            },
            "client": {
                "watched_s": round(watched_s, 3),
                "cpu": round(cpu_s / watched_s, 4),
                "loop_cpu": round(loop_cpu_s / watched_s, 4),
                "loop_late_s": round(self._late_s / self._ticks, 5),
            },
        }


def _clocks() -> tuple[float, ...]:
    """The time, and the processor's time of the whole process and of this thread, in seconds."""
    return time.monotonic(), time.process_time(), time.thread_time()


SPANS = 32
"""So many equal spans at most; when the time grows beyond them, two neighbours become one."""
FIRST_SPAN_S = 0.25


class _Span(Struct):
    """Sums over the answered questions that ended in it; of latencies the logarithms, which no straggler moves."""

    replies: int = 0
    logs: float = 0.0
    squares: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    request_bytes: int = 0

    def added(self, other: "_Span") -> "_Span":
        return _Span(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


class Quarters:
    """Takes records as they end; `described` gives the four parts."""

    def __init__(self) -> None:
        self._started_s = time.monotonic()
        self._span_s = FIRST_SPAN_S
        self._spans = [_Span() for _ in range(SPANS)]

    def add(self, record: Record) -> None:
        """Take one record as it ends; a failed one has no latency."""
        at = int((time.monotonic() - self._started_s) / self._span_s)
        while at >= SPANS:
            self._halve()
            at //= 2
        if record.latency_s > 0:
            span, log = self._spans[at], math.log(record.latency_s)
            span.replies += 1
            span.logs += log
            span.squares += log * log
            span.prompt_tokens += record.prompt_tokens or 0
            span.completion_tokens += record.completion_tokens or 0
            span.request_bytes += record.request_bytes

    def _halve(self) -> None:
        pairs = zip(self._spans[::2], self._spans[1::2], strict=True)
        self._spans = [one.added(other) for one, other in pairs] + [_Span() for _ in range(SPANS // 2)]
        self._span_s *= 2

    def described(self) -> list[dict[str, Any]]:
        """Each quarter's replies, their latency's geometric mean and its logarithm's spread, and their mean sizes."""
        used = max((at for at, span in enumerate(self._spans) if span.replies), default=-1) + 1
        if used < 4:
            return []
        cuts = [round(part * used / 4) for part in range(5)]
        return [_told(self._spans[first:last]) for first, last in pairwise(cuts)]


def _told(spans: list[_Span]) -> dict[str, Any]:
    total = _Span()
    for span in spans:
        total = total.added(span)
    n = total.replies
    if not n:
        return {"replies": 0}
    mean = total.logs / n
    return {
        "replies": n,
        "latency_s": round(math.exp(mean), 4),
        "log_spread": round(math.sqrt(max(0.0, total.squares / n - mean * mean)), 4),
        "prompt_tokens": round(total.prompt_tokens / n, 1),
        "completion_tokens": round(total.completion_tokens / n, 1),
        "request_bytes": round(total.request_bytes / n),
    }
