"""Which requests may be at a server together, where it answers them in batches, as mlx-vlm does.

Its batch takes the sampling settings of the first request, and an error in one request fails them all.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class BatchSlot:
    """A request's place in flight."""

    def __init__(self, gate: "BatchGate") -> None:
        self._gate = gate
        self._entered_alone = not gate.flying
        self._meetings = gate.meetings
        self._left_alone: bool | None = None

    @property
    def alone(self) -> bool:
        """Whether nothing else was in flight from when this was taken until it was left, or until now."""
        if self._left_alone is not None:
            return self._left_alone
        return self._entered_alone and self._meetings == self._gate.meetings

    def leave(self) -> None:
        """Later requests no longer share this one's batch."""
        self._left_alone = self.alone


class BatchGate:
    """Lets requests of one kind fly together, each kind in its turn; nobody overtakes who waits.

    `flying` are in flight; `meetings` counts the requests that found another one in flight.
    """

    def __init__(self) -> None:
        self.flying = 0
        self.meetings = 0
        self._kind: Hashable = None
        self._queue: deque[object] = deque()
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def slot(self, kind: Hashable, *, alone: bool = False) -> AsyncIterator[BatchSlot]:
        """Wait until requests of other kinds are answered, with `alone` all others, and take a place."""
        kind, ticket = object() if alone else kind, object()
        async with self._changed:
            self._queue.append(ticket)
            try:
                await self._changed.wait_for(
                    lambda: self._queue[0] is ticket and (not self.flying or kind == self._kind)
                )
            finally:
                self._queue.remove(ticket)
                self._changed.notify_all()
            self.meetings += self.flying > 0
            slot = BatchSlot(self)
            self.flying, self._kind = self.flying + 1, kind
        try:
            yield slot
        finally:
            slot.leave()
            self.flying -= 1
            async with self._changed:
                self._changed.notify_all()
