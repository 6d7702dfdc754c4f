"""What one start of a run was like: its servers, times, tokens, retries, and how long the event loop stood still."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from vqa_client.client.session import Session
from vqa_client.client.watching.metrics import AnsweredBy, MetricsReader
from vqa_client.client.watching.server_memory import ask_memory_bytes
from vqa_client.reports.bottleneck import limited_by
from vqa_client.runs.adaptive import Adaptive
from vqa_client.runs.meters import Pace, Quarters
from vqa_client.settings.run import RunSettings
from vqa_client.types import Record

KEPT = ("base_url", "fingerprint")


class ServersOfStart:
    """Made before the first question, described after the last; `told` and `note` are a display's."""

    def __init__(
        self, session: Session, settings: RunSettings, *, told: Callable[[str], None], note: Callable[[str], None]
    ) -> None:
        routes = session.chat.routes
        self._session = session
        self._answered_by = AnsweredBy(routes)
        self._metrics = MetricsReader(routes.all if settings.metrics else (), told=told, note=note)
        self.watch, self.queue = self._metrics.watch, self._metrics.queue

    async def last_look(self) -> dict[str, Any]:
        """What the run file says of the server at the end, its memory included."""
        await self._metrics.last_look()
        memory = self._metrics.memory_bytes()
        return self._session.server | {"memory_bytes": await self._asked_memory() if memory is None else memory}

    async def _asked_memory(self) -> int | None:
        """Of all servers together; None where one doesn't tell."""
        each = await asyncio.gather(*(ask_memory_bytes(route.endpoint) for route in self._session.chat.routes.all))
        told = [size for size in each if size is not None]
        return sum(told) if len(told) == len(each) else None

    def described(self) -> dict[str, Any]:
        """What the start's entry says: another start of the same run may have asked another server."""
        asked = {name: self._session.server.get(name, "not checked") for name in KEPT}
        return {"server": asked} | self._answered_by.described() | self._metrics.described()


_STEPS = 200
"""Latencies are counted in steps of half a per cent, so that a million of them take no more room than a thousand."""
_QUANTILES = {"median": 0.5, "p95": 0.95, "max": 1.0}


class SessionFigures:
    """Collects while questions end; `described` gives what the run file keeps."""

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
        """Take one record as it ends."""
        self.questions += 1
        self.pace.finished()
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

        `servers` is what is known of the servers' part in them.
        """
        ttft = self._ttfts.quantiles()
        told: dict[str, Any] = {
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
        return told | limited_by(told)


class Latencies:
    """How many times, or rates, were how large; the largest is kept as it is."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._longest_s = 0.0

    def add(self, latency_s: float) -> None:
        """Take one latency above 0."""
        self._counts[round(math.log(latency_s) * _STEPS)] += 1
        self._longest_s = max(self._longest_s, latency_s)

    def quantiles(self) -> dict[str, float]:
        """The median, the 95th percentile and the longest; nothing where there are none."""
        if not self._counts:
            return {}
        return {name: round(self._at_s(share), 4) for name, share in _QUANTILES.items()}

    def _at_s(self, share: float) -> float:
        """The latency within which that share of all lies."""
        left = math.ceil(share * self._counts.total())
        for step, count in sorted(self._counts.items()):
            left -= count
            if left <= 0 and share < 1:
                return min(math.exp(step / _STEPS), self._longest_s)
        return self._longest_s
