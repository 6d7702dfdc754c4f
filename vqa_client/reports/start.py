"""A start of a run as its rules see it: where the workers were, the client's processor, and the servers' figures."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

KV_FULL = 0.9
"""From this share on, a server's KV cache has no room for more requests."""


class Workers(Struct, frozen=True, kw_only=True):
    """Mean numbers of workers in each state; `sending` is None where the system doesn't tell it from `at_server`."""

    most: int
    idle: float
    preparing: float
    paused: float
    sending: float | None
    at_server: float
    repeating: float = 0.0


class Client(Struct, frozen=True, kw_only=True):
    """Shares of one core that the whole client and its event loop used; the loop's mean lateness to a tick."""

    watched_s: float
    cpu: float
    loop_cpu: float
    loop_late_s: float


class Server(Struct, frozen=True, kw_only=True):
    """What one server said of itself, as means over the run; it may have worked for others too."""

    running: float
    waiting: float
    address: str = ""
    kv_use_max: float | None = None
    prefix_hit_rate: float | None = None
    mm_hit_rate: float | None = None
    generation_tokens_s: float | None = None
    preemptions: int = 0
    memory_bytes: tuple[int, int] | None = None


class AutoWorkers(Struct, frozen=True, kw_only=True):
    """How many workers `--max_workers auto` had at the end and at most, and what kept it from more."""

    last: int
    most: int
    why: Literal["", "refused", "queue", "latency", "most"]


class Start(Struct, frozen=True, kw_only=True):
    """What a run file says of one start, as far as the rules ask."""

    workers: Workers
    client: Client
    auto_workers: AutoWorkers | None = None
    wall_s: float = 0.0
    questions: int = 0
    requests: int = 0
    timeouts: int = 0
    sent_bytes: int = 0
    latency_s: Mapping[str, float | None] | None = None
    server_metrics: tuple[Server, ...] = ()
    answered_by: Mapping[str, int] = {}

    @property
    def answered(self) -> bool:
        """Whether any question had a reply: without, there is no pace to explain."""
        return self.latency_s is None or any(self.latency_s.values())

    @property
    def tells(self) -> bool:
        """Whether every server of the run told its figures."""
        return len(self.server_metrics) >= max(1, len(self.answered_by))

    @property
    def kv_full(self) -> bool:
        """Whether a server's KV cache had no room left at some moment."""
        return any((server.kv_use_max or 0.0) >= KV_FULL for server in self.server_metrics)

    def of_servers(self, name: str) -> float:
        """A figure of all servers together."""
        return sum(float(getattr(server, name)) for server in self.server_metrics)


def time_of(sessions: Sequence[Mapping[str, Any]]) -> float:
    """Seconds in which a run was at work: the sum over its starts, those of shards that overlap counted once."""
    timed = [each for each in sessions if isinstance(each.get("wall_s"), int | float)]
    if not any("shard" in each for each in timed):
        return float(sum(each["wall_s"] for each in timed))
    begins = ((datetime.fromisoformat(each["started"]).timestamp(), each["wall_s"]) for each in timed)
    total_s, end_s = 0.0, 0.0
    for begin_s, wall_s in sorted(begins):
        total_s += max(0.0, begin_s + wall_s - max(begin_s, end_s))
        end_s = max(end_s, begin_s + wall_s)
    return total_s


def read_start(session: Mapping[str, Any]) -> Start | None:
    """A start's figures; None where they are not there, as in the logs of other programs."""
    try:
        return msgspec.convert(session, Start, strict=False)
    except msgspec.ValidationError:
        return None
