"""Servers of several that were lost: they are looked at now and then, and come back once they are what they were."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from vqa_client.client.routes import Route, Routes
from vqa_client.errors import ServerUnusable

FIRST_LOOK_S = 1.0
LAST_LOOK_S = 30.0
"""The wait between two looks doubles up to here."""
HURRY_S = 0.5
"""The wait where every server is lost."""


class Recovery:
    """Watches lost servers; `look` gives "" for one that may have questions again, else why it may not."""

    def __init__(self, routes: Routes, look: Callable[[Route], Awaitable[str]], note: Callable[[str], None]) -> None:
        self._routes = routes
        self._look = look
        self._note = note
        self._watching: set[asyncio.Task[None]] = set()
        self._all_lost = asyncio.Event()
        self._some_back = asyncio.Event()
        self._why: dict[Route, str] = {}

    def lost(self, route: Route, why: str) -> None:
        """Say so, and look after it from now on."""
        self._why[route] = why
        left = sum(not other.lost for other in self._routes.all)
        self._note(f"{route.address} is out ({why}); {left} of {len(self._routes.all)} servers continue")
        if not left:
            self._some_back.clear()
            self._all_lost.set()
        task = asyncio.create_task(self._watch(route))
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)

    async def first_back(self, patience_s: float) -> None:
        """Return as soon as one is back; raises ServerUnusable after `patience_s` seconds."""
        if not all(route.lost for route in self._routes.all):
            return
        try:
            async with asyncio.timeout(patience_s):
                await self._some_back.wait()
        except TimeoutError:
            said = "; ".join(f"{route.address}: {self._why.get(route, 'lost')}" for route in self._routes.all)
            raise ServerUnusable(
                f"none of {len(self._routes.all)} servers answers: {said}",
                hint="start one again and run the same command again; --wait_for_server SECONDS waits longer",
            ) from None

    async def aclose(self) -> None:
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)

    async def _watch(self, route: Route) -> None:
        since_s, wait_s = time.monotonic(), FIRST_LOOK_S
        while True:
            await self._pause(wait_s)
            why = await self._look(route)
            if not why:
                break
            self._why[route] = why
            wait_s = min(2 * wait_s, LAST_LOOK_S)
        self._routes.back(route)
        self._all_lost.clear()
        self._some_back.set()
        self._note(f"{route.address} is back after {time.monotonic() - since_s:.0f} s")

    async def _pause(self, seconds: float) -> None:
        """Wait so long, or less once every server is lost."""
        try:
            async with asyncio.timeout(max(0.0, seconds - HURRY_S)):
                await self._all_lost.wait()
        except TimeoutError:
            pass
        await asyncio.sleep(min(seconds, HURRY_S))
