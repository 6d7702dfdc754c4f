"""The figures of one start of a run, its bottleneck, and whether the server became slower."""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

Item = TypeVar("Item")
KV_FULL = 0.9
"""From this share, a server's KV cache counts as full."""


class WorkerCounts(Struct, frozen=True, kw_only=True):
    """Mean numbers of workers in each state; `sending` is None if the system doesn't tell it from `at_server`."""

    most: int
    idle: float
    preparing: float
    paused: float
    sending: float | None
    at_server: float
    repeating: float = 0.0


class Client(Struct, frozen=True, kw_only=True):
    """Shares of one core that the whole client and its event loop used, and how late the loop was on average."""

    watched_s: float
    cpu: float
    loop_cpu: float
    loop_late_s: float


class ServerFigures(Struct, frozen=True, kw_only=True):
    """The figures that one server reports about itself, as means over the run; they include other clients' requests."""

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
    """How many workers `--max_workers auto` had at the end and at most, and why not more."""

    last: int
    most: int
    why: Literal["", "refused", "queue", "latency", "most"]


class Start(Struct, frozen=True, kw_only=True):
    """The fields of one start in a run file that the rules use; one that was `stopped` left questions unasked."""

    workers: WorkerCounts
    client: Client
    auto_workers: AutoWorkers | None = None
    wall_s: float = 0.0
    questions: int = 0
    requests: int = 0
    timeouts: int = 0
    sent_bytes: int = 0
    latency_s: Mapping[str, float | None] | None = None
    server_metrics: tuple[ServerFigures, ...] = ()
    answered_by: Mapping[str, int] = {}
    stopped: bool = False

    @property
    def answered(self) -> bool:
        """Whether any question had a reply: without one there is no bottleneck."""
        return self.latency_s is None or any(self.latency_s.values())

    @property
    def has_server_figures(self) -> bool:
        """Whether every server of the run reported its figures."""
        return len(self.server_metrics) >= max(1, len(self.answered_by))

    @property
    def kv_full(self) -> bool:
        """Whether a server's KV cache was full at some moment."""
        return any((server.kv_use_max or 0.0) >= KV_FULL for server in self.server_metrics)

    def of_servers(self, name: str) -> float:
        """The sum of a figure over all servers."""
        return sum(float(getattr(server, name)) for server in self.server_metrics)


def time_of(sessions: Sequence[Mapping[str, Any]]) -> float:
    """Seconds that a run took: the sum over its starts; time in which shards overlap counts once."""
    timed = [start for start in sessions if isinstance(start.get("wall_s"), int | float)]
    if not any("shard" in start for start in timed):
        return float(sum(start["wall_s"] for start in timed))
    begins = ((datetime.fromisoformat(start["started"]).timestamp(), start["wall_s"]) for start in timed)
    total_s, end_s = 0.0, 0.0
    for begin_s, wall_s in sorted(begins):
        total_s += max(0.0, begin_s + wall_s - max(begin_s, end_s))
        end_s = max(end_s, begin_s + wall_s)
    return total_s


def read_start(session: Mapping[str, Any]) -> Start | None:
    """A start's figures; None if the run file lacks them, as those of other programs do."""
    return _read(session, Start)


def _read(value: Any, kind: type[Item]) -> Item | None:
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        return None


LEAST_S = 2.0
"""The bottleneck of a shorter run isn't reported."""
CPU_FULL, LATE_S = 0.85, 0.05
"""The event loop is the limit if it used this share of a core, or if it was this late on average."""
QUEUE = 0.1
"""If this share of the server's requests waits for the GPU, there is a queue."""


class WorkerStates(Struct, frozen=True, kw_only=True):
    """Mean numbers of workers by what they wait for; they add up to all.

    Workers that wait for a server are in `server` if it reports no figures, else in the three fields after it.
    """

    idle: float
    preparing: float
    repeating: float
    paused: float
    sending: float
    server: float = 0.0
    preprocessing: float = 0.0
    waiting: float = 0.0
    running: float = 0.0


def limited_by(session: Mapping[str, Any]) -> dict[str, str]:
    """The entry of a run file on a start's limit; empty if it is unknown."""
    start = read_start(session)
    limit = limit_of(start) if start is not None else None
    return {"limited_by": limit} if limit is not None else {}


def worker_states(start: Start) -> WorkerStates:
    """What the workers wait for; those at the server are split by its own figures, without other clients' requests."""
    workers = start.workers
    known = {name: float(getattr(workers, name)) for name in ("idle", "preparing", "repeating", "paused")}
    sending, at_server = workers.sending or 0.0, workers.at_server
    if not start.has_server_figures:
        return WorkerStates(**known, sending=sending, server=at_server)
    running, waiting = start.of_servers("running"), start.of_servers("waiting")
    ours = min(1.0, at_server / (running + waiting)) if running + waiting else 0.0
    inside = ours * (running + waiting)
    return WorkerStates(
        **known,
        sending=sending,
        preprocessing=max(0.0, at_server - inside),
        waiting=ours * waiting,
        running=ours * running,
    )


def limit_of(start: Start) -> str | None:
    """The bottleneck of this start; None if it was too short to know.

    A busy client comes first, since it makes everything else look slow; then a queue before the GPU, which more workers
    would only lengthen. Otherwise it is what most workers waited for, on average.
    """
    if start.client.watched_s < LEAST_S or start.workers.most < 1:
        return None
    workers = worker_states(start)
    if start.client.loop_cpu >= CPU_FULL or start.client.loop_late_s >= LATE_S:
        return "client CPU"
    inside = workers.waiting + workers.running
    others = max(workers.idle, workers.preparing, workers.repeating, workers.paused, workers.sending)
    if workers.waiting >= max(1.0, QUEUE * inside) and inside >= max(others, workers.preprocessing):
        return "GPU queue"
    most = max(WorkerStates.__struct_fields__, key=lambda name: float(getattr(workers, name)))
    return _LIMIT_OF[most](start)


def _server_limit(start: Start) -> str:
    """The limit if most workers waited for a server without a queue: more workers may help, unless all were sent."""
    if start.workers.most >= start.questions and not start.stopped:
        return "too few questions"
    if start.has_server_figures and start.kv_full:
        return "KV cache"
    if start.timeouts:
        return "timeouts"
    return "too few workers" if start.has_server_figures else "server"


def _limit_of_the_last(start: Start) -> str:
    """The limit if most workers had no question left: what the other workers waited for."""
    workers = start.workers
    busy = max(workers.preparing, workers.sending or 0.0, workers.at_server)
    if workers.repeating > max(busy, workers.paused):
        return "repeats"
    return "rate limit" if workers.paused > busy else "last replies"


_LIMIT_OF: Mapping[str, Callable[[Start], str]] = {
    "idle": _limit_of_the_last,
    "preparing": lambda start: "preparing images",
    "repeating": lambda start: "repeats",
    "paused": lambda start: "rate limit",
    "sending": lambda start: "upload",
    "server": _server_limit,
    "preprocessing": lambda start: "server preprocessing" if start.workers.sending is not None else "upload or server",
    "waiting": lambda start: "GPU queue",
    "running": _server_limit,
}


LEAST_REPLIES = 20
GROWN, ERRORS = 1.3, 4.0
"""Growth by this factor and by this many standard errors is not chance: latencies vary by a factor of two and more."""
SHORT_S = 60.0
"""A start of less time shows no leak: other work on the machine slows a server for seconds."""
GROWN_MEMORY, _GIB = 1.5, 1 << 30


class Quarter(Struct, frozen=True, kw_only=True):
    """A quarter of a start's time: its replies' latency (geometric mean, spread of its logarithm) and mean sizes."""

    replies: int
    latency_s: float = 0.0
    log_spread: float = 0.0
    prompt_tokens: float = 0.0
    completion_tokens: float = 0.0
    request_bytes: float = 0.0


def grown_latency(session: Mapping[str, Any]) -> list[str]:
    """A sentence if latencies rose over the last three quarters, and chance and larger questions don't explain it.

    The first quarter is a cold server's. Too few replies and too short a start give no sentence.
    """
    if (_read(session.get("wall_s"), float) or 0.0) < SHORT_S:
        return []
    quarters = _read(session.get("quarters"), list[Quarter]) or []
    if len(quarters) != 4 or any(quarter.replies < LEAST_REPLIES or quarter.latency_s <= 0 for quarter in quarters[1:]):
        return []
    early, middle, late = quarters[1:]
    grown = math.log(late.latency_s / early.latency_s) - math.log(_size_growth(early, late))
    error = math.hypot(*(quarter.log_spread / math.sqrt(quarter.replies) for quarter in (early, late)))
    if not early.latency_s < middle.latency_s < late.latency_s or grown < max(math.log(GROWN), ERRORS * error):
        return []
    return [
        f"The server grew slower: replies to questions of the same size took {early.latency_s:.2f} s in the second "
        f"quarter of the run and {late.latency_s:.2f} s in the last. If it leaks memory, restart it and run the same "
        "command again."
    ]


def _size_growth(early: Quarter, late: Quarter) -> float:
    """The factor by which questions or replies grew, at least 1."""
    sizes = ("prompt_tokens", "completion_tokens", "request_bytes")
    pairs = [(float(getattr(early, name)), float(getattr(late, name))) for name in sizes]
    return max([1.0, *(after / before for before, after in pairs if before > 0)])


def grown_memory(session: Mapping[str, Any]) -> list[str]:
    """A sentence for each server whose process is known to have grown by at least half and by at least a GiB."""
    servers = _read(session.get("server_metrics"), list[ServerFigures]) or []
    pairs = [(server.address, *server.memory_bytes) for server in servers if server.memory_bytes]
    return [
        f"The process of {address} grew from {first / 1e9:.1f} to {last / 1e9:.1f} GB during the run."
        for address, first, last in pairs
        if last >= GROWN_MEMORY * first and last - first >= _GIB
    ]
