"""Several servers: opened together, and taken back when they recover."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from msgspec import Struct

from vqa_client.client.endpoint import Endpoint
from vqa_client.client.limits import Outage
from vqa_client.client.probe import Found, Served, wait_for_server
from vqa_client.client.probing.findings import Fingerprint
from vqa_client.client.probing.short import ShortCheck, short_check
from vqa_client.client.routes import Route, Routes
from vqa_client.errors import ServerUnusable
from vqa_client.model_config import ModelSettings

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


class Nature(Struct, frozen=True, kw_only=True):
    """What a server lists, and how it took two small pictures."""

    served: Served
    check: ShortCheck

    @property
    def seen(self) -> Fingerprint:
        return self.check.fingerprint

    @property
    def version(self) -> str:
        """Its kind and version, where it tells them."""
        return f"{self.seen.kind} {self.seen.version or ''}".strip()


async def nature_of(endpoint: Endpoint, served: Served, model: ModelSettings) -> Nature:
    """Ask two or three small questions; never raises for what the server does."""
    return Nature(served=served, check=await short_check(endpoint, model))


def difference(one: Nature, other: Nature, model: str) -> str:
    """Why the second may not stand in for the first, in words; "" where nothing speaks against it."""
    lists = [model in nature.served.models for nature in (one, other) if nature.served.models]
    if lists == [True, False]:
        return f"it lists {', '.join(other.served.models[:5])}, and not {model}"
    if lists == [False, True]:
        return f"it lists {model}, and the first only {', '.join(one.served.models[:5])}"
    for what, mine, theirs in (
        ("longest prompt in tokens", one.served.context_length, other.served.context_length),
        ("prompt tokens of a small picture", one.seen.picture_tokens, other.seen.picture_tokens),
    ):
        if mine is not None and theirs is not None and mine != theirs:
            return f"it {what}: {theirs}, and the first {mine}"
    return ""


Note = Callable[[str], None]


@asynccontextmanager
async def several_routes(
    found: Mapping[Route, Found], model: ModelSettings, *, patience_s: float, note: Note
) -> AsyncIterator[Routes]:
    """Routes to servers that small questions found to be alike; raises ServerUnusable where they are not."""
    look = _Look(found, model, note)
    await look.compare()
    routes = Routes(tuple(found), outage=Outage(lambda: recovery.first_back(patience_s)))
    routes.check = look.check
    recovery = Recovery(routes, look.at, note)
    routes.on_lost = recovery.lost
    try:
        for route, one in found.items():
            if one.lost:
                routes.drain(route, one.lost)
        yield routes
    finally:
        await recovery.aclose()


class _Look:
    """Looks at the servers of a run: at first whether they are alike, later whether a lost one still is."""

    def __init__(self, found: Mapping[Route, Found], model: ModelSettings, note: Note) -> None:
        self._found = found
        self._model = model
        self._note = note
        self._told: set[str] = set()
        self._first: Nature

    @property
    def check(self) -> ShortCheck:
        """What the first one made of the pictures."""
        return self._first.check

    async def compare(self) -> None:
        served = [(route, one.served) for route, one in self._found.items() if not one.lost]
        natures = await asyncio.gather(*(nature_of(route.endpoint, one, self._model) for route, one in served))
        first, self._first = served[0][0], natures[0]
        for (route, _), nature in zip(served, natures, strict=True):
            if said := difference(self._first, nature, self._model.model_name):
                raise ServerUnusable(
                    f"{route.address} is not like {first.address}: {said}",
                    hint="serve the same model with the same settings everywhere, or leave one --endpoint out",
                )
            if nature.version != self._first.version:
                self._note(f"{route.address} is {nature.version}, {first.address} is {self._first.version}")

    async def at(self, route: Route) -> str:
        """Say nothing of a server that answers questions as the first one did; else what is wrong."""
        bases = self._found[route].bases
        try:
            served = await wait_for_server(route.endpoint, bases, patience_s=0, note=_silent, model_is_named=True)
        except ServerUnusable as error:
            return str(error)
        route.endpoint = route.endpoint.at(served.base)
        nature = await nature_of(route.endpoint, served, self._model)
        if nature.seen.sight == "unknown":
            return "it answers no questions"
        said = difference(self._first, nature, self._model.model_name)
        if said and said not in self._told:
            self._told.add(said)
            self._note(f"{route.address} is there and gets no questions: {said}")
        return said


def _silent(line: str) -> None:
    """Looks at a lost server are many, and say nothing."""
