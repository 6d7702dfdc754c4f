"""Choose the server for each question: the same one for a document's questions, else the least busy one."""

import asyncio
import math
import time
from collections.abc import Callable, Sequence

import httpx2

from vqa_client.client.allowance import Allowance
from vqa_client.client.endpoint import Endpoint
from vqa_client.client.limits import BatchGate, Deadlines, Outage, Pause, Window
from vqa_client.client.probe import Served
from vqa_client.client.probing.identity import ShortCheck
from vqa_client.client.retry import MOVE_S
from vqa_client.client.uploading.uploads import Uploads
from vqa_client.types import Image, Request

HOMES = 65_536
"""The most documents that keep their servers; a document's questions are neighbours, so older ones are finished."""
FAULTS_IN_A_ROW = 8
"""The number of failed requests, without an answer between, that drains a server if another one has room."""
LOOK_TIMEOUT_S = 5.0


class Route:
    """One server as the workers see it: its requests, the pause that it asked for, and whether it is lost.

    `bases` are the base addresses that its address may mean, `served` is what it lists, and `away` is why it didn't
    answer at the start.
    """

    def __init__(self, endpoint: Endpoint, bases: Sequence[httpx2.URL] = ()) -> None:
        self.endpoint = endpoint
        self.bases = bases
        self.served = Served(base=endpoint.base)
        self.away = ""
        self.uploads: Uploads | None = None
        self.gate: BatchGate | None = None
        self.pause = Pause()
        self.window = Window()
        self.given = self.answered = self.faults = self.at_work = 0
        self.answered_s = self.looked_s = -math.inf
        self.lost = False
        self.deadlines = Deadlines()
        self.looking = asyncio.Lock()

    @property
    def outstanding(self) -> int:
        """The requests at the server, and those about to be sent."""
        return self.window.inside

    @property
    def address(self) -> str:
        return self.endpoint.address

    def note_answer(self, answered_s: float) -> None:
        self.answered += 1
        self.faults = 0
        self.answered_s = answered_s

    def restore(self) -> None:
        """Mark the server as back; the images that it had are gone."""
        self.lost = False
        self.faults = 0
        self.window.open()
        if self.uploads is not None:
            self.uploads.forget()


class Routes:
    """All servers of a run.

    `repeating` counts the questions that wait for a retry. Questions wait for `outage` if no server is left; a drained
    server is passed to `on_lost`. `check` is the first server's, if it was checked; all servers share `allowance`.
    """

    def __init__(self, routes: Sequence[Route], *, outage: Outage) -> None:
        self.all = tuple(routes)
        self.repeating = 0
        self.outage = outage
        self.on_lost: Callable[[Route, str], None] | None = None
        self.check: ShortCheck | None = None
        self.allowance = Allowance()
        self._only = self.all[0] if len(self.all) == 1 else None
        self._homes: dict[str, Route] = {}

    def take_free(self, request: Request, failed_at: Route | None = None) -> Route | None:
        """The server for this request, with a place taken; None if it has to wait."""
        route = self._only or self.choose(request, failed_at)
        if route is None or route.pause.left_s or not route.window.try_enter():
            return None
        route.given += 1
        return route

    async def take(self, request: Request, failed_at: Route | None = None, *, first: bool = False) -> Route:
        """Wait for a server for this request and for a place there, with `first` before all that wait.

        A request keeps its place while the server pauses. Raises ServerUnusable if no server comes back.
        """
        while True:
            route = self._only or self.choose(request, failed_at)
            if route is None:
                await self.outage.wait_until_over(time.monotonic())
                continue
            await route.window.enter(first=first)
            try:
                if route.pause.left_s and not route.lost:
                    # with several servers, another one may be free before a long pause ends
                    await route.pause.wait_until_over(math.inf if self._only else MOVE_S)
            except asyncio.CancelledError:
                route.window.leave()
                raise
            if not route.pause.left_s and not route.lost:
                route.given += 1
                return route
            route.window.leave()
            first = True

    def choose(self, request: Request, failed_at: Route | None) -> Route | None:
        """The server of the request's document, else the least busy one; None if all are lost.

        The server of the last failed attempt is chosen last: a server that answers everything with an error is quick
        and thus the least busy, so it would use up all of a question's retries before it is drained.
        """
        key = request.document or next((part.sha256 for part in request.content if isinstance(part, Image)), "")
        route = self._homes.pop(key, None)
        if route is None or route is failed_at or route.lost or route.pause.left_s > MOVE_S:
            living = [route for route in self.all if not route.lost]
            route = min(
                living, key=lambda one: (one.pause.left_s > MOVE_S, one is failed_at, *_load(one)), default=None
            )
        if route is not None and key:
            self._homes[key] = route
            if len(self._homes) > HOMES:
                del self._homes[next(iter(self._homes))]
        return route

    def name_of(self, route: Route) -> str:
        return "the server" if self._only is not None else route.address

    def has_others(self, route: Route) -> bool:
        """Whether another server could take this one's questions now."""
        return any(other is not route and not other.lost and other.pause.left_s <= MOVE_S for other in self.all)

    async def drain_or_wait(self, route: Route, why: str, noticed_s: float) -> None:
        """Drain a server that refuses connections, or wait for it if it is the only one."""
        if self._only is None:
            self.drain(route, why)
            return
        await self.outage.wait_until_over(noticed_s)
        route.restore()

    async def is_gone(self, route: Route, why: str) -> bool:
        """Whether a server is lost after a cut connection; the only server counts as there."""
        if self._only is not None:
            return False
        called_s = time.monotonic()
        async with route.looking:
            if not route.lost and route.looked_s < called_s:
                try:
                    await route.endpoint.get("/models", timeout_s=LOOK_TIMEOUT_S)
                except httpx2.TransportError:
                    self.drain(route, why)
                route.looked_s = time.monotonic()
        return route.lost

    def count_fault(self, route: Route, why: str) -> None:
        """Count a failed request; drain the server after too many in a row, if others can take its questions."""
        route.faults += 1
        if route.faults >= FAULTS_IN_A_ROW and self.has_others(route):
            self.drain(route, f"{route.faults} failed requests in a row, the last one: {why}")

    def drain(self, route: Route, why: str) -> None:
        """Give the server no more questions, and move its questions to others."""
        if route.lost:
            return
        route.lost = True
        route.deadlines.end()
        route.window.open()
        if self.on_lost is not None:
            self.on_lost(route, why)

    def restore(self, route: Route) -> None:
        """Give the server questions again; all documents get new servers, because they may all have moved to others."""
        route.restore()
        self._homes.clear()


def _load(route: Route) -> tuple[float, bool, int, int]:
    return route.pause.left_s, route.outstanding >= route.window.size, route.outstanding, route.given
