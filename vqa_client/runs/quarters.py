"""How a start's questions went from its beginning to its end, in four parts of equal time, however long it takes."""

import math
import time
from itertools import pairwise
from typing import Any

from msgspec import Struct

from vqa_client.types import Record

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
