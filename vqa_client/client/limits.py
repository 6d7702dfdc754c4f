"""What all workers share: the pause a server asked for, the wait for one that went away, and when to give up."""

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable

from vqa_client.types import ANSWERED, Status

SPREAD = 0.1
"""Workers come back over a further tenth of a pause, so that they don't all knock at once."""


class Pause:
    """A server's pause: nobody sends to it before its end."""

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
        while self.left_s:
            await self.part_over(math.inf)

    async def part_over(self, most_s: float) -> None:
        """Wait for the end as it is set now, or for so long at most."""
        await asyncio.sleep(min(most_s, self.left_s * (1 + SPREAD * self._chance.random())))


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


UNTELLING: frozenset[Status] = frozenset({"bad_image", "too_long", "too_many_images"})
"""Failures that are about one question and say nothing about the server."""
AT_FIRST = 10
"""So many failures are enough while nothing at all was answered: the model's name or the key is wrong."""


class Breaker:
    """Counts failures in a row: a run in which nothing is answered any more is stopped, not finished as 0.0 %."""

    def __init__(self, after: int) -> None:
        self._after = after
        self._in_a_row = 0
        self._answered = False

    @property
    def limit(self) -> int:
        """How many in a row are too many now; 0 for never."""
        return self._after if self._answered else min(self._after, AT_FIRST)

    def note(self, status: Status) -> bool:
        """Take one question's status; True when the run should stop."""
        if status in ANSWERED:
            self._in_a_row = 0
            self._answered = True
        elif status not in UNTELLING:
            self._in_a_row += 1
        return 0 < self.limit <= self._in_a_row
