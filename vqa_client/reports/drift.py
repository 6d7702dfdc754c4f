"""Whether a server grew slower while it was asked, as one that leaks memory does."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

LEAST_REPLIES = 20
GROWN, ERRORS = 1.3, 4.0
"""So much slower, and by so many standard errors, is no chance: latencies scatter by a factor of two and more."""
GROWN_MEMORY, _GIB = 1.5, 1 << 30


class Quarter(Struct, frozen=True, kw_only=True):
    """A quarter of a start's time: its replies' latency (geometric mean, spread of its logarithm) and mean sizes."""

    replies: int
    latency_s: float = 0.0
    log_spread: float = 0.0
    prompt_tokens: float = 0.0
    completion_tokens: float = 0.0
    request_bytes: float = 0.0


class Drift(Struct, frozen=True, kw_only=True):
    """Latencies of the second and the last quarter, in seconds; the first is a cold server's."""

    early_s: float
    late_s: float

    @property
    def sentence(self) -> str:
        """It, and the way out, for people."""
        return (
            f"The server grew slower: replies to questions of the same size took {self.early_s:.2f} s in the second "
            f"quarter of the run and {self.late_s:.2f} s in the last. If it leaks memory, restart it and "
            "run the same command again."
        )


def read_drift(session: Mapping[str, Any]) -> Drift | None:
    """What a start's figures show; None where there are too few, or nothing but chance and larger questions."""
    try:
        quarters = msgspec.convert(session.get("quarters"), list[Quarter], strict=False)
    except msgspec.ValidationError:
        return None
    return drift(quarters)


def drift(quarters: Sequence[Quarter]) -> Drift | None:
    """Of four quarters, whether the last three rise, by more than chance and their questions' sizes explain."""
    if len(quarters) != 4 or any(one.replies < LEAST_REPLIES or one.latency_s <= 0 for one in quarters[1:]):
        return None
    early, middle, late = quarters[1:]
    grown = math.log(late.latency_s / early.latency_s) - math.log(_larger(early, late))
    error = math.hypot(*(one.log_spread / math.sqrt(one.replies) for one in (early, late)))
    if not early.latency_s < middle.latency_s < late.latency_s or grown < max(math.log(GROWN), ERRORS * error):
        return None
    return Drift(early_s=early.latency_s, late_s=late.latency_s)


def _larger(early: Quarter, late: Quarter) -> float:
    """By what the questions or their replies grew; at least 1."""
    pairs = [(float(getattr(early, name)), float(getattr(late, name))) for name in _SIZES]
    return max([1.0, *(after / before for before, after in pairs if before > 0)])


_SIZES = ("prompt_tokens", "completion_tokens", "request_bytes")


class _Memory(Struct, frozen=True, kw_only=True):
    """The first and the last figure that a server's process gave of its memory."""

    address: str = ""
    memory_bytes: tuple[int, int] = (0, 0)


def grown_memory(session: Mapping[str, Any]) -> list[str]:
    """A sentence for each server whose process grew by half and by a GiB at least, as far as they tell."""
    try:
        servers = msgspec.convert(session.get("server_metrics", ()), list[_Memory], strict=False)
    except msgspec.ValidationError:
        return []
    pairs = [(one.address, *one.memory_bytes) for one in servers]
    return [
        f"The process of {address} grew from {first / 1e9:.1f} to {last / 1e9:.1f} GB during the run."
        for address, first, last in pairs
        if last >= GROWN_MEMORY * first and last - first >= _GIB
    ]
