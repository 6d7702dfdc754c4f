"""Where a run's workers and its processor time go, looked at while it goes on."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from vqa_client.client.routes import Routes
from vqa_client.client.watching.server_memory import unsent_sockets
from vqa_client.runner import Crew

TICK_S = 0.025
TICKS_A_LOOK = 10
"""At each look the workers are counted: four times a second."""


class Pace:
    """Counts what the workers are at: idle, preparing images, repeating, paused, sending, or waiting for the server."""

    def __init__(self) -> None:
        self.stall_s = 0.0
        self.in_flight = self._ticks = self._looks = self._workers = 0
        self._unknown = False
        self._late_s = 0.0
        self._states: Counter[str] = Counter()
        self._began: tuple[float, ...] = ()
        self._spent: tuple[float, ...] = ()

    def asking(self) -> None:
        """A question is taken up."""
        self.in_flight += 1

    def finished(self) -> None:
        """A question taken up has its record."""
        self.in_flight -= 1

    async def watch(self, routes: Routes, crew: Crew, pulse: Callable[[float], None]) -> None:
        """Until cancelled, note how late the loop comes to each tick, and count the workers at each look.

        `pulse` is told at each look for how many seconds yet all servers are paused.
        """
        self._began = _clocks()
        while True:
            due_s = time.monotonic() + TICK_S
            await asyncio.sleep(TICK_S)
            late_s = time.monotonic() - due_s
            self.stall_s = max(self.stall_s, late_s)
            self._late_s += late_s
            self._ticks += 1
            if self._ticks % TICKS_A_LOOK == 0:
                if not crew.on_break:  # what a person pauses is held up by nothing
                    self._look(routes, crew)
                pulse(min((route.pause.left_s for route in routes.all if not route.lost), default=0.0))

    def _look(self, routes: Routes, crew: Crew) -> None:
        at_server = min(self.in_flight, sum(route.outstanding for route in routes.all))
        paused = all(route.lost or route.pause.left_s for route in routes.all)
        unsent = unsent_sockets()
        self._unknown |= unsent is None
        sending = min(at_server, unsent or 0)
        self._workers += max(crew.useful, self.in_flight)
        self._states["idle"] += max(0, crew.useful - self.in_flight)
        elsewhere = self.in_flight - at_server
        repeating = min(elsewhere, routes.repeating)
        limited = min(elsewhere - repeating, routes.allowance.waiting)
        self._states["repeating"] += repeating
        self._states["paused"] += limited
        self._states["paused" if paused else "preparing"] += elsewhere - repeating - limited
        self._states["sending"] += sending
        self._states["at_server"] += at_server - sending
        self._looks += 1
        self._spent = tuple(now - then for now, then in zip(_clocks(), self._began, strict=True))

    def described(self) -> dict[str, Any]:
        """Mean numbers of workers, of `most` on average, and shares of one core; nothing before the first look."""
        if not self._looks:
            return {}
        watched_s, cpu_s, loop_cpu_s = self._spent
        names = ("idle", "preparing", "repeating", "paused", "sending", "at_server")
        means = {name: round(self._states[name] / self._looks, 3) for name in names}
        most = round(self._workers / self._looks)
        return {
            "workers": {
                "most": most,
                **means,
                **({"sending": None} if self._unknown else {}),
            },
            "client": {
                "watched_s": round(watched_s, 3),
                "cpu": round(cpu_s / watched_s, 4),
                "loop_cpu": round(loop_cpu_s / watched_s, 4),
                "loop_late_s": round(self._late_s / self._ticks, 5),
            },
        }


def _clocks() -> tuple[float, ...]:
    """The time, and the processor's time of the whole process and of this thread, in seconds."""
    return time.monotonic(), time.process_time(), time.thread_time()
