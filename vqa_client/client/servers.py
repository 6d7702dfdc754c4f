"""All servers of a run, from their addresses to routes: opened, waited for, found to be alike, and looked after."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import httpx2
from msgspec import Struct
from msgspec.structs import replace

from vqa_client.client.endpoint import Endpoint, headers_for, is_signed, open_transport
from vqa_client.client.limits import BatchGate, Outage, Patience
from vqa_client.client.probe import Found, Served, wait_for_server
from vqa_client.client.probing.findings import Fingerprint
from vqa_client.client.probing.identity import ShortCheck, short_check
from vqa_client.client.reply_room import ReplyRoom
from vqa_client.client.routes import Route, Routes
from vqa_client.client.url import candidates, without_secrets
from vqa_client.errors import ServerAway, ServerUnusable, UsageError
from vqa_client.model_config import ModelSettings
from vqa_client.settings.run import DEFAULT_BASE_URL, RunSettings

FIRST_LOOK_S = 1.0
LAST_LOOK_S = 30.0
"""The wait between two looks at a lost server doubles up to here."""
HURRY_S = 0.5
"""The wait where every server is lost."""
Note = Callable[[str], None]


@asynccontextmanager
async def open_servers(
    settings: RunSettings,
    *,
    transport: httpx2.AsyncBaseTransport | None,
    named: bool,
    patience: Patience,
    note: Note,
) -> AsyncIterator[list[Found]]:
    """Connect to each address of the settings; a `transport` given replaces the wire of all.

    `named` says whether the model is. Raises ServerUnusable where none answers in time, or UsageError.
    """
    async with AsyncExitStack() as stack:
        opened: list[Found] = []
        room = ReplyRoom()
        for bases in _addresses(settings, note):
            wire = transport or open_transport(
                bases[0], engine=settings.engine, ca_bundle=settings.ca_bundle, insecure=settings.insecure, room=room
            )
            if settings.engine == "openai" and transport is None:
                from vqa_client.client.sdk import SdkTransport

                signed = is_signed(bases[0], settings.api_key, settings.headers)
                wire = SdkTransport(bases[0], wire, settings.api_key, signed=signed)
            if transport is None or not opened:
                await stack.enter_async_context(wire)
            endpoint = Endpoint(bases[0], wire, headers_for(bases[0], settings.api_key, settings.headers))
            opened.append(Found(endpoint=endpoint, bases=bases, served=Served(base=bases[0])))
        if settings.insecure:
            note("--insecure: the server's certificate is not verified (recorded)")
        yield await patience.wait(lambda patience_s: _answering(opened, patience_s, named, note))


def _addresses(settings: RunSettings, note: Note) -> list[list[httpx2.URL]]:
    """The bases of each server: --endpoint goes before any other way to name one."""
    if settings.endpoint and settings.base_url and settings.base_url not in settings.endpoint:
        note(f"--endpoint is given: {without_secrets(settings.base_url)} is not asked")
    addresses = [candidates(url, "--endpoint") for url in settings.endpoint]
    addresses = addresses or [candidates(settings.base_url or DEFAULT_BASE_URL)]
    known: set[httpx2.URL] = set()
    for bases in addresses:
        if bases[0] in known:
            raise UsageError(f"--endpoint names {without_secrets(bases[0])} twice")
        known.add(bases[0])
    return addresses


async def _answering(opened: list[Found], patience_s: float, named: bool, note: Note) -> list[Found]:
    """Those that answer first, in the order given, then those that may come later."""

    async def wait(server: Found) -> Found:
        try:
            served = await wait_for_server(
                server.endpoint, server.bases, patience_s=patience_s, note=note, model_is_named=named
            )
        except ServerUnusable as error:
            errors.append(error)
            return replace(server, lost=str(error))
        return replace(server, endpoint=server.endpoint.at(served.base), served=served)

    errors: list[ServerUnusable] = []
    waited = await asyncio.gather(*map(wait, opened))
    if len(errors) == len(opened):
        raise errors[0]
    return sorted(waited, key=lambda server: bool(server.lost))


@asynccontextmanager
async def open_routes(
    servers: Sequence[Found],
    model: ModelSettings,
    settings: RunSettings,
    *,
    patience: Patience,
    note: Note,
) -> AsyncIterator[Routes]:
    """Routes to all servers, alike as far as small questions show; raises ServerUnusable where they are not."""
    routes = {Route(server.endpoint): server for server in servers}
    for route, server in routes.items():
        route.gate = BatchGate() if server.served.in_batches else None
    if (settings.image_uuid != "off" or settings.file_urls) and not settings.dry_run:
        from vqa_client.client.uploading.choose import (
            ways_of,  # draws on the checks, as what follows: most runs do without
        )

        for route, server in routes.items():
            route.uploads = await ways_of(server, model, settings, note)
    if len(servers) == 1 or settings.dry_run:
        only = next(iter(routes))
        before = routes[only].served

        async def back(patience_s: float) -> None:
            await _back_again(only.endpoint, before, model.model_name, patience_s, note)

        yield Routes(tuple(routes), outage=Outage(back, patience))
        return
    async with several_routes(routes, model, patience=patience, note=note) as all_routes:
        yield all_routes


async def _back_again(endpoint: Endpoint, before: Served, model: str, patience_s: float, note: Note) -> None:
    """Wait until the server answers again; raises ServerUnusable where it stays away, or is back without the model."""
    started_s = time.monotonic()
    await asyncio.sleep(0.1)  # one reset connection is no outage; a restarting server needs a moment anyway
    now = await wait_for_server(endpoint, [endpoint.base], patience_s=patience_s, note=note, model_is_named=True)
    if model in before.models and now.models and model not in now.models:
        raise ServerUnusable(
            f"{without_secrets(endpoint.base)} is back without {model}: it lists {', '.join(now.models[:5])}",
            hint="serve that model there again, then run the same command again; answered questions are not repeated",
        )
    if time.monotonic() - started_s > 1:
        note(f"the server is back after {time.monotonic() - started_s:.0f} s")


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
        self._since_s: dict[Route, float] = {}

    def lost(self, route: Route, why: str) -> None:
        """Say so, and look after it from now on."""
        self._why[route], self._since_s[route] = why, time.monotonic()
        left = sum(not other.lost for other in self._routes.all)
        self._note(f"{route.address} is out ({why}); {left} of {len(self._routes.all)} servers continue")
        if not left:
            self._some_back.clear()
            self._all_lost.set()
        task = asyncio.create_task(self._watch(route))
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)

    async def first_back(self, patience_s: float) -> None:
        """Return as soon as one is back; raises ServerAway after `patience_s` seconds, with 0 after a look at each."""
        if not all(route.lost for route in self._routes.all):
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s or LAST_LOOK_S):
                await (self._some_back.wait() if patience_s else asyncio.gather(*map(self._is_back, self._routes.all)))
        if not self._some_back.is_set():
            reasons = "; ".join(f"{route.address}: {self._why.get(route, 'lost')}" for route in self._routes.all)
            raise ServerAway(
                f"none of {len(self._routes.all)} servers answers: {reasons}",
                hint="start one again and run the same command again; --wait_for_server SECONDS waits longer",
            )

    async def aclose(self) -> None:
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)

    async def _watch(self, route: Route) -> None:
        wait_s = FIRST_LOOK_S
        await self._pause(wait_s)
        while not await self._is_back(route):
            wait_s = min(2 * wait_s, LAST_LOOK_S)
            await self._pause(wait_s)

    async def _is_back(self, route: Route) -> bool:
        """Look at it, and give it questions again if it is as it was; another look may have found it back meanwhile."""
        if route.lost and (why := await self._look(route)):
            self._why[route] = why
        elif route.lost:
            self._routes.restore(route)
            self._all_lost.clear()
            self._some_back.set()
            self._note(f"{route.address} is back after {time.monotonic() - self._since_s[route]:.0f} s")
        return not route.lost

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
            return f"its {what}: {theirs}, the first's: {mine}"
    return ""


@asynccontextmanager
async def several_routes(
    servers: Mapping[Route, Found], model: ModelSettings, *, patience: Patience, note: Note
) -> AsyncIterator[Routes]:
    """Routes to servers that small questions found to be alike; raises ServerUnusable where they are not."""
    look = _Look(servers, model, note)
    await look.compare()
    routes = Routes(tuple(servers), outage=Outage(lambda patience_s: recovery.first_back(patience_s), patience))
    routes.check = look.first.check
    recovery = Recovery(routes, look.at, note)
    routes.on_lost = recovery.lost
    try:
        for route, server in servers.items():
            if server.lost:
                routes.drain(route, server.lost)
        yield routes
    finally:
        await recovery.aclose()


class _Look:
    """Looks at the servers of a run: at first whether they are alike, later whether a lost one still is."""

    def __init__(self, servers: Mapping[Route, Found], model: ModelSettings, note: Note) -> None:
        self._servers = servers
        self._model = model
        self._note = note
        self._noted: set[str] = set()
        self.first: Nature

    async def compare(self) -> None:
        served = [(route, server.served) for route, server in self._servers.items() if not server.lost]
        natures = await asyncio.gather(*(self._nature(route, answered) for route, answered in served))
        first, self.first = served[0][0], natures[0]
        for (route, _), nature in zip(served, natures, strict=True):
            if reason := difference(self.first, nature, self._model.model_name):
                raise ServerUnusable(
                    f"{route.address} is not like {first.address}: {reason}",
                    hint="serve the same model with the same settings everywhere, or leave one --endpoint out",
                )
            if nature.version != self.first.version:
                self._note(f"{route.address} is {nature.version}, {first.address} is {self.first.version}")

    async def _nature(self, route: Route, served: Served) -> Nature:
        """Ask two or three small questions; never raises for what the server does."""
        return Nature(served=served, check=await short_check(route.endpoint, self._model))

    async def at(self, route: Route) -> str:
        """Say nothing of a server that answers questions as the first one did; else what is wrong."""
        bases = self._servers[route].bases
        try:
            served = await wait_for_server(
                route.endpoint, bases, patience_s=0, note=lambda _: None, model_is_named=True
            )
        except ServerUnusable as error:
            return str(error)
        route.endpoint = route.endpoint.at(served.base)
        nature = await self._nature(route, served)
        if nature.seen.sight == "unknown":
            return "it answers no questions"
        reason = difference(self.first, nature, self._model.model_name)
        if reason and reason not in self._noted:
            self._noted.add(reason)
            self._note(f"{route.address} is there and gets no questions: {reason}")
        return reason
