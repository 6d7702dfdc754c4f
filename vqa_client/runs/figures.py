"""What one start of a run was like: times, tokens, retries, and how long the event loop stood still."""

import asyncio
import statistics
import time
from array import array
from datetime import UTC, datetime
from typing import Any

from vqa_client.types import Record

TICK_S = 0.025


class SessionFigures:
    """Collects while questions end; `described` gives what the run file keeps."""

    def __init__(self) -> None:
        self._started = datetime.now(UTC)
        self._started_s = time.monotonic()
        self._latencies_s = array("d")
        self.questions = self._attempts = self._bytes = self._prompt_tokens = self._completion_tokens = 0
        self._stall_s = 0.0

    def add(self, record: Record) -> None:
        """Take one record as it ends."""
        self.questions += 1
        self._attempts += record.attempts
        self._bytes += record.request_bytes * record.attempts
        self._prompt_tokens += record.prompt_tokens or 0
        self._completion_tokens += record.completion_tokens or 0
        if record.latency_s:
            self._latencies_s.append(record.latency_s)

    async def watch_loop(self) -> None:
        """Until cancelled, note the longest time that the loop came late to a tick."""
        while True:
            due_s = time.monotonic() + TICK_S
            await asyncio.sleep(TICK_S)
            self._stall_s = max(self._stall_s, time.monotonic() - due_s)

    def described(self, dialect: list[str]) -> dict[str, Any]:
        """The figures so far; latencies are from the first byte sent to the reply's end, in seconds."""
        return {
            "started": self._started.isoformat(timespec="seconds"),
            "wall_s": round(time.monotonic() - self._started_s, 3),
            "questions": self.questions,
            "requests": self._attempts,
            "sent_bytes": self._bytes,
            "prompt_tokens": self._prompt_tokens,
            "completion_tokens": self._completion_tokens,
            "latency_s": _quantiles(self._latencies_s),
            "loop_stall_max_s": round(self._stall_s, 4),
            "dialect": dialect,
        }


def _quantiles(values: "array[float]") -> dict[str, float]:
    if len(values) < 2:
        return {name: value for value in values for name in ("median", "p95", "max")}
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    return {name: round(value, 4) for name, value in (("median", cuts[9]), ("p95", cuts[18]), ("max", max(values)))}
