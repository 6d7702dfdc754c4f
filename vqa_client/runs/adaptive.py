"""`--max_workers auto`: finds the number of workers from refused requests, the server's queue and its latency."""

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
"""The mean numbers of requests that run and that wait at the servers since a time; None: not known yet."""
FIRST, MOST = 16, 1024
ENOUGH = 8
"""The least number of answers by which a number of workers is judged; usually it is as many as there are workers."""
QUEUED = 0.1
"""The share of a server's running requests that may wait in its queue: enough to keep it busy."""
GAIN, APART = 0.25, 1.2
"""With x % more workers, the answers per second must grow by at least GAIN times x %; sizes closer than APART are not
compared."""
MOST_UNCHANGED = 20
"""After this many judgements without a change more workers are tried: the server may be faster now."""
TICK_S = 0.1
ChangeReason = Literal["", "refused", "queue", "latency", "most"]


class Measurement(Struct, frozen=True, kw_only=True):
    """Measured with one number of workers: the mean latency, the server's queue, and the room in its window."""

    latency_s: float = 0.0
    running: float = 0.0
    waiting: float = 0.0
    room: float = math.inf
    refused: bool = False


class Search(Struct, frozen=True, kw_only=True):
    """The state of the search: `size` workers now; `too_many` is the smallest number found too large, and `why`.

    `below` is a smaller number of workers and its answers per second, for comparison. `unchanged` counts judgements
    without a change.
    """

    size: int
    too_many: float = math.inf
    why: ChangeReason = ""
    below: tuple[int, float] | None = None
    unchanged: int = 0


def next_search(now: Search, measured: Measurement, most: int) -> Search:
    """Double the workers until they are too many, then halve the distance; a refused request halves the workers."""
    size = now.size
    if measured.refused:
        return Search(size=max(1, size // 2), too_many=size, why="refused")
    if measured.room < size:
        return Search(size=max(1, int(measured.room)), too_many=int(measured.room) + 1, why="refused")
    if measured.waiting >= max(1.0, QUEUED * measured.running):
        return Search(size=max(1, size // 2, size - math.ceil(measured.waiting)), too_many=size, why="queue")
    if not measured.latency_s:
        return now
    pace, below = size / measured.latency_s, now.below
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
        return replace(now, size=more, below=below, unchanged=0)
    if now.unchanged < MOST_UNCHANGED:
        return replace(now, below=below, unchanged=now.unchanged + 1)
    return replace(now, too_many=size + max(2, size // 2), below=None, unchanged=0)


class Adaptive:
    """Changes the size of a crew as the search says while it is `active`; `described` is for the run file."""

    def __init__(self, crew: Crew, routes: Routes, queue: Queue, *, active: bool) -> None:
        self.active = self._was_active = False
        self._crew, self._routes, self._queue = crew, routes, queue
        self._search: Search
        self._most: int
        self._peak = 0
        self._begin()
        if active:
            self.start()

    def start(self) -> None:
        """Search from the crew's present size on."""
        self.active = self._was_active = True
        self._search = Search(size=self._crew.size)
        self._most = affordable_workers(MOST, lambda text: None)
        self._peak = max(self._peak, self._crew.size)
        self._begin()

    def finished(self, record: Record) -> None:
        """Count a record, unless its question began with another number of workers."""
        if self._skipped:
            self._skipped -= 1
            return
        self._answers += 1
        if record.latency_s:
            self._timed += 1
            self._latency_s += record.latency_s

    async def watch(self) -> None:
        """Judge the number of workers as soon as there are enough answers, until cancelled."""
        self._begin()
        while True:
            await asyncio.sleep(TICK_S)
            if not self.active:
                continue
            if self._crew.in_flight > self._crew.size:
                self._begin()  # surplus workers still finish their questions
            elif (measured := await self._measured_step()) is not None and self.active:
                self._search = next_search(self._search, measured, self._most)
                self._crew.change(size=self._search.size)
                self._peak = max(self._peak, self._crew.size)
                self._begin()

    async def _measured_step(self) -> Measurement | None:
        """The measurement of the present number of workers; None if there are too few answers yet."""
        if self._all_refusals() > self._refusals:
            return Measurement(refused=True)
        if self._answers < max(ENOUGH, self._crew.size):
            return None
        if (queue := await self._queue(self._begun_s)) is None:
            return None
        return Measurement(
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
        if not self._was_active:
            return {}
        search = self._search
        return {"auto_workers": {"last": search.size, "most": self._peak, "why": search.why}}
