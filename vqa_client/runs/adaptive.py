"""`--max_workers auto`: how many requests a server takes, found out from refusals, its queue and its latency."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.client.routes import Routes
from vqa_client.client.session import affordable_workers
from vqa_client.runner import Crew
from vqa_client.types import Record

Queue = Callable[[float], Awaitable[tuple[float, float] | None]]
"""How many requests run and wait at the servers since a time; None: not known yet."""
FIRST, MOST = 16, 1024
ENOUGH = 8
"""A number of workers is judged by as many answers as there are workers, and by so many at least."""
QUEUED = 0.1
"""So much of what a server runs may wait there: that keeps it busy, and more would only wait longer."""
GAIN, APART = 0.25, 1.2
"""Of the workers added, at least this share must show as more answers a second; closer numbers are not compared."""
HELD = 20
"""After so many judgements without a change more are tried again: the server may have got faster."""
TICK_S = 0.1
Why = Literal["", "refused", "queue", "latency", "most"]


class Seen(Struct, frozen=True, kw_only=True):
    """What a number of workers came to: the mean latency, the server's queue, and how many its window lets in."""

    latency_s: float = 0.0
    running: float = 0.0
    waiting: float = 0.0
    room: float = math.inf
    refused: bool = False


class Search(Struct, frozen=True, kw_only=True):
    """Where the search stands: `too_many` is the least number found to be that, `why` says by what.

    `below` is the smaller number that others are compared with, and its answers a second.
    """

    size: int
    too_many: float = math.inf
    why: Why = ""
    below: tuple[int, float] | None = None
    held: int = 0


def next_search(now: Search, load: Seen, most: int = MOST) -> Search:
    """Double the workers until there are too many, then halve the distance; a refusal halves the workers."""
    size = now.size
    if load.refused:
        return Search(size=max(1, size // 2), too_many=size, why="refused")
    if load.room < size:
        return Search(size=max(1, int(load.room)), too_many=int(load.room) + 1, why="refused")
    if load.waiting >= max(1.0, QUEUED * load.running):
        return Search(size=max(1, size // 2, size - math.ceil(load.waiting)), too_many=size, why="queue")
    if not load.latency_s:
        return now
    pace, below = size / load.latency_s, now.below
    if below is None or size <= below[0]:
        below = size, pace
    elif size >= APART * below[0]:
        if pace / below[1] - 1 < GAIN * (size / below[0] - 1):
            return Search(size=below[0], too_many=size, why="latency", below=below)
        below = size, pace
    more = 2 * size if now.too_many == math.inf else int(size + max(0, now.too_many - size) // 2)
    if more > most:
        more, now = max(size, most), replace(now, why="most")
    if more > size:
        return replace(now, size=more, below=below, held=0)
    if now.held < HELD:
        return replace(now, below=below, held=now.held + 1)
    return replace(now, too_many=size + max(2, size // 2), below=None, held=0)


class Adaptive:
    """Changes a crew as the search says while its questions are asked; its figures are `described`."""

    def __init__(self, crew: Crew, routes: Routes, queue: Queue) -> None:
        self.active = True
        self._crew, self._routes, self._queue = crew, routes, queue
        self._most = affordable_workers(MOST, lambda text: None)
        self._search = Search(size=crew.size)
        self._peak = crew.size
        self._skipped = self._answers = self._timed = 0
        self._latency_s = 0.0
        self._refusals, self._begun_s = 0, 0.0

    def finished(self, record: Record) -> None:
        """A question has its record; those begun under another number of workers say nothing of this one."""
        if self._skipped:
            self._skipped -= 1
            return
        self._answers += 1
        if record.latency_s:
            self._timed += 1
            self._latency_s += record.latency_s

    async def watch(self) -> None:
        """Until cancelled, look a few times a second whether there is enough to judge by."""
        self._begin()
        while True:
            await asyncio.sleep(TICK_S)
            if not self.active:
                return
            if self._crew.in_flight > self._crew.size:
                self._begin()  # a smaller crew has not come about yet
            elif (load := await self._measured_step()) is not None and self.active:
                self._search = next_search(self._search, load, self._most)
                self._crew.size = self._search.size
                self._peak = max(self._peak, self._crew.size)
                self._begin()

    async def _measured_step(self) -> Seen | None:
        """What the present number came to; None where that is not known yet."""
        if self._all_refusals() > self._refusals:
            return Seen(refused=True)
        if self._answers < max(ENOUGH, self._crew.size):
            return None
        if (queue := await self._queue(self._begun_s)) is None:
            return None
        return Seen(
            latency_s=self._latency_s / self._timed if self._timed else 0.0,
            running=queue[0],
            waiting=queue[1],
            room=sum(route.window.size for route in self._routes.all if not route.lost),
        )

    def _begin(self) -> None:
        self._skipped, self._answers, self._timed, self._latency_s = self._crew.in_flight, 0, 0, 0.0
        self._refusals, self._begun_s = self._all_refusals(), time.monotonic()

    def _all_refusals(self) -> int:
        return sum(route.window.refusals for route in self._routes.all)

    def described(self) -> dict[str, Any]:
        search = self._search
        return {"auto_workers": {"last": search.size, "most": self._peak, "why": search.why}}
