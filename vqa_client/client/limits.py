"""What all workers share: the pause a server asked for, the wait for one that went away, and when to give up."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable

from vqa_client.types import ANSWERED, Status

SPREAD = 0.1
"""Workers come back over a further tenth of a pause, so that they don't all knock at once."""


class Pause:
    """A pool-wide pause: nobody sends before its end."""

    def __init__(self) -> None:
        self._until_s = 0.0
        self._chance = random.Random(0)

    def ask(self, seconds: float) -> None:
        """Pause everyone for so long from now; a longer pause that is already set stands."""
        self._until_s = max(self._until_s, time.monotonic() + seconds)

    @property
    def left_s(self) -> float:
        """Seconds until the pause ends."""
        return max(0.0, self._until_s - time.monotonic())

    async def over(self) -> None:
        """Wait for the end of the pause, however often it is prolonged meanwhile."""
        while left_s := self.left_s:
            await asyncio.sleep(left_s * (1 + SPREAD * self._chance.random()))


class Outage:
    """One worker finds out when a lost server is back, the others wait for the result."""

    def __init__(self, wait_until_back: Callable[[], Awaitable[None]]) -> None:
        self._wait_until_back = wait_until_back
        self._lock = asyncio.Lock()
        self._back_at_s = 0.0

    async def over(self, noticed_s: float) -> None:
        """Return when the server answers; raises what `wait_until_back` raises when it stays away."""
        async with self._lock:
            if self._back_at_s < noticed_s:
                await self._wait_until_back()
                self._back_at_s = time.monotonic()


class Breaker:
    """Counts failures in a row: a run in which nothing is answered any more is stopped, not finished as 0.0 %."""

    def __init__(self, after: int) -> None:
        self._after = after
        self._in_a_row = 0

    def note(self, status: Status) -> bool:
        """Take one question's status; True when the run should stop. A bad image says nothing about the server."""
        if status in ANSWERED:
            self._in_a_row = 0
        elif status != "bad_image":
            self._in_a_row += 1
        return 0 < self._after <= self._in_a_row
