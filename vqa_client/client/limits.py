"""What all workers share: a server's pauses, its limit of requests, deadlines, outages, and when to stop a run."""

import asyncio
import math
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Literal, TypeVar

from vqa_client.errors import ServerAway
from vqa_client.types import ANSWERED, PERMANENT, Status

Result = TypeVar("Result")
SPREAD = 0.1
"""Workers return spread over a further tenth of a pause, so that they don't all send at once."""


class Pause:
    """A server's pause: no worker sends to it before its end."""

    def __init__(self) -> None:
        self._until_s = 0.0
        self._chance = random.Random(0)

    def extend(self, seconds: float) -> None:
        """Pause all workers for `seconds` from now; a longer pause stays as it is."""
        self._until_s = max(self._until_s, time.monotonic() + seconds)

    @property
    def left_s(self) -> float:
        return max(0.0, self._until_s - time.monotonic())

    async def wait_until_over(self, most_s: float) -> None:
        """Wait for the pause's end as it is set now, but at most `most_s`."""
        await asyncio.sleep(min(most_s, self.left_s * (1 + SPREAD * self._chance.random())))


Lateness = Literal["crowded", "backlog", "own"]


class Window:
    """The limit of requests at a server: none until it refuses requests or lets them time out.

    `inside` counts the requests at the server, `refusals` those that it refused. A refusal shrinks the window to the
    requests that the server kept. Answers in time widen it while others wait: quickly up to a size that the server has
    handled, then carefully.
    """

    def __init__(self) -> None:
        self.size = math.inf
        self.inside = self.refusals = 0
        self._known = math.inf
        self._answered = 0
        self._step = 1
        self._late_s = self._shrunk_s = self._backlog_until_s = -math.inf
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """The requests that wait for a place."""
        return len(self._waiting)

    def try_enter(self, *, first: bool = False) -> bool:
        """Take a place if one is free; `first` goes before all that wait. Returns whether it was taken."""
        if self.inside >= self.size or (self._waiting and not first):
            return False
        self.inside += 1
        return True

    async def enter(self, *, first: bool) -> None:
        """Wait for a place and take it."""
        while not self.try_enter(first=first):
            place = asyncio.get_running_loop().create_future()
            (self._waiting.appendleft if first else self._waiting.append)(place)
            try:
                await place
            except asyncio.CancelledError:
                if place.cancelled():
                    self._waiting.remove(place)
                self._let_in()
                raise
            first = True

    def leave(self) -> None:
        self.inside -= 1
        if self._waiting:
            self._let_in()

    def note_answer(self, *, late: bool) -> None:
        """Widen the window after an answer while others wait; a `late` answer shows that it is wide enough."""
        if late:
            self._late_s = time.monotonic()
        if late or not self._waiting:
            return
        if self.size < self._known:
            self.size += 1
            return
        self._answered += 1
        if self._answered >= 2 * self.size:
            self._answered, self.size, self._step = 0, self.size + self._step, 2 * self._step

    def note_refusal(self, *, limited: bool) -> bool:
        """Shrink the window to the requests that the server kept; with none, to one if a rate is `limited`.

        If the server refused all requests for another reason, its limit is unknown. Returns whether it kept some: when
        those end, there is room again.
        """
        self.refusals += 1
        kept = self.inside - 1
        if kept or limited:
            self._shrink(kept or 1, kept or self.size / 2)
        else:
            self.open()
        return kept > 0

    def note_timeout(self, *, sent_s: float, timeout_s: float, ahead: int, answered: int) -> Lateness:
        """Find out why a request was late, and shrink the window if there were too many requests.

        "crowded": the server answered others late, and at most as many as were `ahead`. "backlog": it answers no
        request, and may still be working on those that timed out. "own": neither, so a retry would be late too.
        """
        now_s = time.monotonic()
        crowded = 0 < answered <= ahead and self._late_s > sent_s
        if not crowded and answered:
            return "own"
        if not crowded and sent_s > self._backlog_until_s:
            self.open()
            return "own"
        if sent_s > self._shrunk_s:  # requests that were sent together shrink the window once
            if crowded:
                self._backlog_until_s = now_s + timeout_s * (self.inside - 1) / answered
            size = max(1, (answered if crowded else self.inside) // 2)
            self._shrink(size, size)
            self._shrunk_s = now_s
        return "crowded" if crowded else "backlog"

    def open(self) -> None:
        self.size = self._known = math.inf
        self._let_in()

    def _shrink(self, size: float, known: float) -> None:
        self.size, self._known = min(self.size, size), known
        self._answered, self._step = 0, 1

    def _let_in(self) -> None:
        for _ in range(int(min(len(self._waiting), self.size - self.inside))):
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)


class Deadlines:
    """Ends late requests with one timer for all: a timer per request takes a tenth of a request's CPU."""

    def __init__(self) -> None:
        self._due_s: dict[asyncio.Timeout, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def set(self, deadline: asyncio.Timeout, seconds: float) -> None:
        """End a request after `seconds`, math.inf for never; `end` may end it earlier."""
        self._due_s[deadline] = due_s = time.monotonic() + seconds
        if self._timer is None or due_s < self._timer.when():
            self._wake(due_s)

    def discard(self, deadline: asyncio.Timeout) -> None:
        """The request has ended."""
        del self._due_s[deadline]

    def end(self, due_s: float = math.inf) -> None:
        """End the requests that are due by `due_s`."""
        for deadline, each_s in self._due_s.items():
            if each_s <= due_s and not deadline.expired():
                deadline.reschedule(0)

    def _wake(self, due_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(due_s, self._end_overdue) if due_s < math.inf else None

    def _end_overdue(self) -> None:
        now_s = time.monotonic()
        self.end(now_s)
        self._timer = None
        self._wake(min((due_s for due_s in self._due_s.values() if due_s > now_s), default=math.inf))


class Patience:
    """The `seconds` to wait for a server that is away. After a wait in vain, later waits are single looks until the
    server answers, in the next benchmark of a suite too.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._was_vain = seconds, False

    async def wait(self, wait: Callable[[float], Awaitable[Result]]) -> Result:
        """The result of `wait`, which gets the seconds and raises ServerAway when they are over."""
        try:
            result = await wait(0.0 if self._was_vain else self._seconds)
        except ServerAway:
            self._was_vain = True
            raise
        self._was_vain = False
        return result


class Outage:
    """One worker waits for a lost server, and the others wait for that worker's result."""

    def __init__(self, wait_until_back: Callable[[float], Awaitable[None]], patience: Patience) -> None:
        self._wait_until_back = wait_until_back
        self._patience = patience
        self._lock = asyncio.Lock()
        self._back_at_s = 0.0

    async def wait_until_over(self, noticed_s: float) -> None:
        """Return when the server answers; raises the error of `wait_until_back` if it doesn't."""
        async with self._lock:
            if self._back_at_s < noticed_s:
                await self._patience.wait(self._wait_until_back)
                self._back_at_s = time.monotonic()


AT_FIRST = 10
"""The limit of failures at the server before its first answer: then the model's name or the key is probably wrong."""


class Breaker:
    """Counts failures in a row, to stop a run that no longer gets answers instead of finishing it with 0.0 %.

    A failure that is the question's own neither counts nor resets the count.
    """

    def __init__(self, after: int) -> None:
        self._after = after
        self._in_a_row = 0
        self._answered = False
        self._unread: set[str] = set()

    def limit(self, status: Status) -> int:
        """The number of failures in a row, the last one with this status, that stops the run now; 0 for never."""
        return self._after if self._answered or status == "bad_image" else min(self._after, AT_FIRST)

    def note(self, status: Status, *, unread: str = "") -> bool:
        """Count one question's status; True to stop.

        `unread` is the error of an image that may be read later: it counts once, for many questions may be about it.
        """
        if status in ANSWERED:
            self._in_a_row = 0
            self._answered = True
            self._unread.clear()
        elif status not in PERMANENT or (unread and unread not in self._unread):
            self._in_a_row += 1
            if self._after:
                self._unread.add(unread)
        return 0 < self.limit(status) <= self._in_a_row


class BatchSlot:
    """A request in flight: `alone` until another one is in flight with it."""

    alone = True


class BatchGate:
    """Allows only requests of one kind in flight at once, in order of arrival.

    It is for servers that answer in batches, such as mlx-vlm: a batch uses the sampling settings of its first request,
    and an error in one request fails the whole batch. `in_flight` are the requests in flight.
    """

    def __init__(self) -> None:
        self.in_flight: set[BatchSlot] = set()
        self._kind: Hashable = None
        self._queue: deque[BatchSlot] = deque()
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def slot(self, kind: Hashable, *, alone: bool = False) -> AsyncIterator[BatchSlot]:
        """Wait until all requests of other kinds have ended, with `alone` all requests, and take a slot."""
        kind, slot = object() if alone else kind, BatchSlot()
        async with self._changed:
            self._queue.append(slot)
            try:
                await self._changed.wait_for(
                    lambda: self._queue[0] is slot and (not self.in_flight or kind == self._kind)
                )
            finally:
                self._queue.remove(slot)
                self._changed.notify_all()
            self.in_flight.add(slot)
            self._kind = kind
            if len(self.in_flight) > 1:
                for other in self.in_flight:
                    other.alone = False
        try:
            yield slot
        finally:
            self.in_flight.remove(slot)
            async with self._changed:
                self._changed.notify_all()
