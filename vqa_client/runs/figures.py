"""Measurements of one start of a run: servers, times, tokens, retries, and the time its workers spend in each state."""

import asyncio
import math
import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fcntl import ioctl
from itertools import pairwise
from operator import add
from termios import TIOCOUTQ
from typing import Any

import msgspec

from vqa_client.client.routes import Routes
from vqa_client.client.session import Session
from vqa_client.client.uploading.uploads import Counted
from vqa_client.client.watching import MetricsReader, ask_memory_bytes
from vqa_client.reports.bottleneck import limited_by
from vqa_client.runner import Crew
from vqa_client.runs.adaptive import Adaptive
from vqa_client.settings.run import RunSettings
from vqa_client.types import Note, Record

KEPT = ("base_url", "fingerprint")


class ServersOfStart:
    """The servers during one start; made before the first question, since the runs of one command share servers.

    `show` and `note` print a line.
    """

    def __init__(self, session: Session, settings: RunSettings, *, show: Note, note: Note) -> None:
        self._session, self._routes = session, session.chat.routes.all
        self._answered = [route.answered for route in self._routes]
        self._uploaded = self._uploads()
        self._metrics = MetricsReader(self._routes if settings.metrics else (), show=show, note=note)
        self.watch, self.queue = self._metrics.watch, self._metrics.queue

    async def last_look(self) -> dict[str, Any]:
        """The server's description at the end of the run, with its memory."""
        await self._metrics.last_look()
        memory = self._metrics.memory_bytes()
        if memory is None:  # each server is asked; if one doesn't report it, their sum is not known
            sizes = await asyncio.gather(*(ask_memory_bytes(route.endpoint) for route in self._routes))
            memory = None if None in sizes else sum(filter(None, sizes))
        return self._session.server | {"memory_bytes": memory}

    def described(self) -> dict[str, Any]:
        """The servers in the entry of this start: each start may ask another server.

        Answers are counted by server if there are several, images if some are not sent as bytes.
        """
        record: dict[str, Any] = {"server": {name: self._session.server.get(name, "not checked") for name in KEPT}}
        if len(self._routes) > 1:
            answered = Counter[str]()  # without keys, addresses may be equal
            for route, before in zip(self._routes, self._answered, strict=True):
                answered[route.address] += route.answered - before
            record["answered_by"] = dict(answered)
        if any(route.uploads is not None for route in self._routes):
            record["uploads"] = {name: count - self._uploaded[name] for name, count in self._uploads().items()}
        return record | self._metrics.described()

    def _uploads(self) -> dict[str, int]:
        counts = [msgspec.to_builtins(route.uploads.counted) for route in self._routes if route.uploads is not None]
        return {name: sum(count[name] for count in counts) for name in Counted.__struct_fields__}


_STEPS = 200
"""Latencies are counted in steps of half a per cent, so that memory doesn't grow with their number."""
_QUANTILES = {"median": 0.5, "p95": 0.95, "max": 1.0}


class SessionFigures:
    """Adds up records as they come; `described` gives the figures for the run file."""

    def __init__(self) -> None:
        self._started = datetime.now(UTC)
        self._started_s = time.monotonic()
        self._latencies, self._ttfts, self._speeds = Latencies(), Latencies(), Latencies()
        self._quarters = Quarters()
        self.pace = Pace()
        self.adaptive: Adaptive | None = None
        self.questions = self._timeouts = self._attempts = self._bytes = self._prompt_tokens = (
            self._completion_tokens
        ) = 0

    def add(self, record: Record) -> None:
        self.questions += 1
        if self.adaptive is not None:
            self.adaptive.finished(record)
        self._quarters.add(record)
        self._attempts += record.attempts
        self._timeouts += record.status == "timeout"
        self._bytes += record.request_bytes * record.attempts
        self._prompt_tokens += record.prompt_tokens or 0
        self._completion_tokens += record.completion_tokens or 0
        if record.latency_s:
            self._latencies.add(record.latency_s)
        if record.ttft_s:
            self._ttfts.add(record.ttft_s)
            writing_s, tokens = record.latency_s - record.ttft_s, (record.completion_tokens or 0) - 1
            if writing_s > 0 and tokens > 0:
                self._speeds.add(tokens / writing_s)

    def described(self, dialect: list[str], servers: Mapping[str, Any] = {}) -> dict[str, Any]:
        """The figures so far; times are in seconds from the first byte sent, to 0.25 %.

        `servers` are the figures of the servers.
        """
        ttft = self._ttfts.quantiles()
        session: dict[str, Any] = {
            "started": self._started.isoformat(timespec="seconds"),
            "wall_s": round(time.monotonic() - self._started_s, 3),
            "questions": self.questions,
            "requests": self._attempts,
            "timeouts": self._timeouts,
            "sent_bytes": self._bytes,
            "prompt_tokens": self._prompt_tokens,
            "completion_tokens": self._completion_tokens,
            "latency_s": self._latencies.quantiles(),
            **({"ttft_s": ttft, "reply_tokens_per_s": self._speeds.quantiles()} if ttft else {}),
            "loop_stall_max_s": round(self.pace.stall_s, 4),
            "dialect": dialect,
            **self.pace.described(),
            **(self.adaptive.described() if self.adaptive is not None else {}),
            "quarters": self._quarters.described(),
            **servers,
        }
        return session | limited_by(session)


class Latencies:
    """Counts times, or rates, by their size; the largest is kept exactly."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._longest_s = 0.0

    def add(self, latency_s: float) -> None:
        """Add one latency above 0."""
        self._counts[round(math.log(latency_s) * _STEPS)] += 1
        self._longest_s = max(self._longest_s, latency_s)

    def quantiles(self) -> dict[str, float]:
        """The median, the 95th percentile and the longest; empty without latencies."""
        if not self._counts:
            return {}
        return {name: round(self._at_s(share), 4) for name, share in _QUANTILES.items()}

    def _at_s(self, share: float) -> float:
        """The latency that this share of all doesn't exceed."""
        left = math.ceil(share * self._counts.total())
        for step, count in sorted(self._counts.items()):
            left -= count
            if left <= 0 and share < 1:
                return min(math.exp(step / _STEPS), self._longest_s)
        return self._longest_s


TICK_S = 0.025
TICKS_PER_SAMPLE = 10
"""The number of ticks from one count of the workers to the next: four counts per second."""


class Pace:
    """Counts the workers by state: idle, preparing images, repeating, paused, sending, or waiting for the server."""

    def __init__(self) -> None:
        self.stall_s = 0.0
        self._ticks = self._samples = self._workers = 0
        self._unknown = False
        self._late_s = 0.0
        self._states: Counter[str] = Counter()
        self._began: tuple[float, ...] = ()
        self._spent: tuple[float, ...] = ()

    async def watch(self, routes: Routes, crew: Crew, pulse: Callable[[float], None]) -> None:
        """Until cancelled, measure how late the loop is at each tick, and count the workers at each sample.

        At each sample `pulse` gets the seconds for which all servers are still paused.
        """
        self._began = _clocks()
        while True:
            due_s = time.monotonic() + TICK_S
            await asyncio.sleep(TICK_S)
            late_s = time.monotonic() - due_s
            self.stall_s = max(self.stall_s, late_s)
            self._late_s += late_s
            self._ticks += 1
            if self._ticks % TICKS_PER_SAMPLE == 0:
                if not crew.on_break:  # a pause by the user has no bottleneck
                    self._count_workers(routes, crew)
                pulse(min((route.pause.left_s for route in routes.all if not route.lost), default=0.0))

    def _count_workers(self, routes: Routes, crew: Crew) -> None:
        at_server = min(crew.in_flight, sum(route.outstanding for route in routes.all))
        paused = all(route.lost or route.pause.left_s for route in routes.all)
        unsent = unsent_sockets()
        self._unknown |= unsent is None
        sending = min(at_server, unsent or 0)
        self._workers += max(crew.useful, crew.in_flight)
        self._states["idle"] += max(0, crew.useful - crew.in_flight)
        elsewhere = crew.in_flight - at_server
        repeating = min(elsewhere, routes.repeating)
        limited = routes.allowance.waiting + sum(route.window.waiting for route in routes.all)
        limited = min(elsewhere - repeating, limited)
        self._states["repeating"] += repeating
        self._states["paused"] += limited
        self._states["paused" if paused else "preparing"] += elsewhere - repeating - limited
        self._states["sending"] += sending
        self._states["at_server"] += at_server - sending
        self._samples += 1
        self._spent = tuple(now - then for now, then in zip(_clocks(), self._began, strict=True))

    def described(self) -> dict[str, Any]:
        """Mean numbers of workers by state, `most` in all, and shares of one core; empty before the first sample."""
        if not self._samples:
            return {}
        watched_s, cpu_s, loop_cpu_s = self._spent
        names = ("idle", "preparing", "repeating", "paused", "sending", "at_server")
        means = {name: round(self._states[name] / self._samples, 3) for name in names}
        most = round(self._workers / self._samples)
        return {
            "workers": {"most": most, **means, **({"sending": None} if self._unknown else {})},
            "client": {
                "watched_s": round(watched_s, 3),
                "cpu": round(cpu_s / watched_s, 4),
                "loop_cpu": round(loop_cpu_s / watched_s, 4),
                "loop_late_s": round(self._late_s / self._ticks, 5),
            },
        }


def unsent_sockets() -> int | None:
    """The number of our sockets with unsent bytes, in some 2 us per descriptor; None on systems other than Linux.

    The system buffers megabytes: a request is sent only once the server's machine has acknowledged its last byte. Only
    Linux answers TIOCOUTQ for sockets (tcp(7)), and only Linux has /proc/self/fd.
    """
    try:
        return sum(_holds_bytes(int(name)) for name in os.listdir("/proc/self/fd"))
    except OSError:
        return None


def _holds_bytes(descriptor: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode) and any(ioctl(descriptor, TIOCOUTQ, bytes(4)))
    except OSError:  # closed meanwhile, or a kind of socket without such a queue
        return False


def _clocks() -> tuple[float, ...]:
    """Wall time, and the CPU time of the process and of this thread, in seconds."""
    return time.monotonic(), time.process_time(), time.thread_time()


SPANS = 32
"""The number of equal spans; when the run is longer, each two neighbours become one."""
FIRST_SPAN_S = 0.25


class Quarters:
    """Adds up records by time; `described` gives the four quarters of the run.

    A span has sums over its answered questions: replies, logarithms of latencies, which outliers hardly change, their
    squares, prompt tokens, completion tokens and bytes.
    """

    def __init__(self) -> None:
        self._started_s = time.monotonic()
        self._span_s = FIRST_SPAN_S
        self._spans: list[Sequence[float]] = [(0,) * 6] * SPANS

    def add(self, record: Record) -> None:
        """Add one record; a failed one has no latency and is not counted."""
        at = int((time.monotonic() - self._started_s) / self._span_s)
        while at >= SPANS:
            pairs = zip(self._spans[::2], self._spans[1::2], strict=True)
            self._spans = [_added(pair) for pair in pairs] + [(0,) * 6] * (SPANS // 2)
            self._span_s *= 2
            at //= 2
        if record.latency_s > 0:
            log = math.log(record.latency_s)
            tokens = record.prompt_tokens or 0, record.completion_tokens or 0
            sums = 1, log, log * log, *tokens, record.request_bytes
            self._spans[at] = list(map(add, self._spans[at], sums))

    def described(self) -> list[dict[str, Any]]:
        """For each quarter: replies, geometric mean of the latency, spread of its logarithm, and mean sizes."""
        used = max((at for at, (replies, *_) in enumerate(self._spans) if replies), default=-1) + 1
        if used < 4:
            return []
        cuts = [round(part * used / 4) for part in range(5)]
        return [_means_of(*_added(self._spans[first:last])) for first, last in pairwise(cuts)]


def _added(spans: Iterable[Sequence[float]]) -> Sequence[float]:
    return [sum(column) for column in zip(*spans, strict=True)]


def _means_of(
    n: float, logs: float, squares: float, prompt_tokens: float, completion_tokens: float, request_bytes: float
) -> dict[str, Any]:
    if not n:
        return {"replies": 0}
    mean = logs / n
    return {
        "replies": n,
        "latency_s": round(math.exp(mean), 4),
        "log_spread": round(math.sqrt(max(0.0, squares / n - mean * mean)), 4),
        "prompt_tokens": round(prompt_tokens / n, 1),
        "completion_tokens": round(completion_tokens / n, 1),
        "request_bytes": round(request_bytes / n),
    }
