"""Connect to all servers of a run, compare them, and look for lost ones until they are back."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial

import httpx2

from vqa_client.client.endpoint import Endpoint, headers_for, is_signed, open_transport
from vqa_client.client.limits import BatchGate, Outage, Patience
from vqa_client.client.probe import wait_for_server
from vqa_client.client.probing.identity import ShortCheck, short_check
from vqa_client.client.reply_room import ReplyRoom
from vqa_client.client.routes import Route, Routes
from vqa_client.client.uploading.uploads import find_uploads
from vqa_client.client.url import candidates, without_secrets
from vqa_client.errors import ServerAway, ServerUnusable, UsageError
from vqa_client.model_config import ModelSettings
from vqa_client.settings.run import DEFAULT_BASE_URL, RunSettings
from vqa_client.types import Note

FIRST_LOOK_S = 1.0
LAST_LOOK_S = 30.0
"""The wait between two looks at a lost server doubles up to this."""
HURRY_S = 0.5
"""The wait between two looks if every server is lost."""


@asynccontextmanager
async def open_servers(
    settings: RunSettings, *, transport: httpx2.AsyncBaseTransport | None, named: bool, patience: Patience, note: Note
) -> AsyncIterator[list[Route]]:
    """Connect to each address of the settings: first the servers that answer, then those that may answer later.

    A `transport` replaces the wire of all servers; `named` says whether the settings name the model. Raises
    ServerUnusable if no server answers in time, or UsageError.
    """
    async with AsyncExitStack() as stack:
        opened: list[Route] = []
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
            opened.append(Route(endpoint, bases))
        if settings.insecure:
            note("--insecure: the server's certificate is not verified (recorded)")
        await patience.wait(lambda patience_s: _wait_for_all(opened, patience_s, named, note))
        yield sorted(opened, key=lambda route: bool(route.away))


def _addresses(settings: RunSettings, note: Note) -> list[list[httpx2.URL]]:
    """The possible base addresses of each server; --endpoint overrides the other ways to name one."""
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


async def _wait_for_all(routes: Sequence[Route], patience_s: float, named: bool, note: Note) -> None:
    """Find out what each server lists, or why it is `away`; raises ServerUnusable if all are."""

    async def wait(route: Route) -> None:
        try:
            served = await wait_for_server(
                route.endpoint, route.bases, patience_s=patience_s, note=note, model_is_named=named
            )
        except ServerUnusable as error:
            errors.append(error)
            route.away = str(error)
        else:
            route.endpoint, route.served = route.endpoint.at(served.base), served

    errors: list[ServerUnusable] = []
    await asyncio.gather(*map(wait, routes))
    if len(errors) == len(routes):
        raise errors[0]


@asynccontextmanager
async def open_routes(
    servers: Sequence[Route], model: ModelSettings, settings: RunSettings, *, patience: Patience, note: Note
) -> AsyncIterator[Routes]:
    """Routes to all servers; raises ServerUnusable if the replies to small questions show that the servers differ."""
    for route in servers:
        route.gate = BatchGate() if route.served.in_batches else None
    if (settings.image_uuid != "off" or settings.file_urls) and not settings.dry_run:
        for route in servers:
            route.uploads = await find_uploads(route.endpoint, model, settings, note, is_away=bool(route.away))
    if len(servers) == 1 or settings.dry_run:
        back = partial(_wait_until_back, servers[0], model.model_name, note)
        yield Routes(servers, outage=Outage(back, patience))
        return
    recovery = Recovery(servers, model, patience, note)
    await recovery.compare()
    try:
        for route in servers:
            if route.away:
                recovery.routes.drain(route, route.away)
        yield recovery.routes
    finally:
        await recovery.aclose()


async def _wait_until_back(route: Route, model: str, note: Note, patience_s: float) -> None:
    """Wait until the server answers again; raises ServerUnusable if it doesn't, or no longer serves the model."""
    started_s = time.monotonic()
    await asyncio.sleep(0.1)  # one reset connection isn't an outage, and a restart takes longer anyway
    bases = [route.endpoint.base]
    now = await wait_for_server(route.endpoint, bases, patience_s=patience_s, note=note, model_is_named=True)
    if model in route.served.models and now.models and model not in now.models:
        raise ServerUnusable(
            f"{route.address} is back without {model}: it lists {', '.join(now.models[:5])}",
            hint="serve that model there again, then run the same command again; answered questions are not repeated",
        )
    if time.monotonic() - started_s > 1:
        note(f"the server is back after {time.monotonic() - started_s:.0f} s")


class Recovery:
    """Compares the servers of a run at its start, and gives questions to a lost one again once it is back."""

    def __init__(self, routes: Sequence[Route], model: ModelSettings, patience: Patience, note: Note) -> None:
        self.routes = Routes(routes, outage=Outage(self.wait_for_first, patience))
        self.routes.on_lost = self.note_lost
        self._model = model
        self._note = note
        self._noted: set[str] = set()
        self._watching: set[asyncio.Task[None]] = set()
        self._all_lost = asyncio.Event()
        self._some_back = asyncio.Event()
        self._why: dict[Route, str] = {}
        self._since_s: dict[Route, float] = {}
        self._first: ShortCheck

    async def compare(self) -> None:
        """Send each server two or three small questions; raises ServerUnusable if the servers differ."""
        routes = [route for route in self.routes.all if not route.away]
        checks = await asyncio.gather(*(short_check(route.endpoint, route.served, self._model) for route in routes))
        first, self._first = routes[0], checks[0]
        for route, check in zip(routes, checks, strict=True):
            if reason := difference(self._first, check, self._model.model_name):
                raise ServerUnusable(
                    f"{route.address} is not like {first.address}: {reason}",
                    hint="serve the same model with the same settings everywhere, or leave one --endpoint out",
                )
            if check.version != self._first.version:
                self._note(f"{route.address} is {check.version}, {first.address} is {self._first.version}")
        self.routes.check = self._first

    def note_lost(self, route: Route, why: str) -> None:
        """Note that a server is lost, and look for it from now on."""
        self._why[route], self._since_s[route] = why, time.monotonic()
        left = sum(not other.lost for other in self.routes.all)
        self._note(f"{route.address} is out ({why}); {left} of {len(self.routes.all)} servers continue")
        if not left:
            self._some_back.clear()
            self._all_lost.set()
        task = asyncio.create_task(self._watch(route))
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)

    async def wait_for_first(self, patience_s: float) -> None:
        """Wait until one server is back; raises ServerAway after `patience_s` seconds; 0 means one look at each."""
        routes = self.routes.all
        if not all(route.lost for route in routes):
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s or LAST_LOOK_S):
                await (self._some_back.wait() if patience_s else asyncio.gather(*map(self._is_back, routes)))
        if not self._some_back.is_set():
            reasons = "; ".join(f"{route.address}: {self._why.get(route, 'lost')}" for route in routes)
            raise ServerAway(
                f"none of {len(routes)} servers answers: {reasons}",
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

    async def _pause(self, seconds: float) -> None:
        """Wait for a time, or less once every server is lost."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds - HURRY_S)):
                await self._all_lost.wait()
        await asyncio.sleep(min(seconds, HURRY_S))

    async def _is_back(self, route: Route) -> bool:
        """Look at a lost server, and give it questions again if nothing has changed; another look may have done so."""
        if route.lost and (why := await self._why_not_back(route)):
            self._why[route] = why
        elif route.lost:
            self.routes.restore(route)
            self._all_lost.clear()
            self._some_back.set()
            self._note(f"{route.address} is back after {time.monotonic() - self._since_s[route]:.0f} s")
        return not route.lost

    async def _why_not_back(self, route: Route) -> str:
        """Why a server can't have questions; "" if it answers as the first one did at the start."""
        try:
            served = await wait_for_server(
                route.endpoint, route.bases, patience_s=0, note=lambda _: None, model_is_named=True
            )
        except ServerUnusable as error:
            return str(error)
        route.endpoint = route.endpoint.at(served.base)
        check = await short_check(route.endpoint, served, self._model)
        if check.fingerprint.sight == "unknown":
            return "it answers no questions"
        reason = difference(self._first, check, self._model.model_name)
        if reason and reason not in self._noted:
            self._noted.add(reason)
            self._note(f"{route.address} is there and gets no questions: {reason}")
        return reason


def difference(first: ShortCheck, other: ShortCheck, model: str) -> str:
    """Why the other server can't replace the first one; "" if no difference was found."""
    lists = [model in check.served.models for check in (first, other) if check.served.models]
    if lists == [True, False]:
        return f"it lists {', '.join(other.served.models[:5])}, and not {model}"
    if lists == [False, True]:
        return f"it lists {model}, and the first only {', '.join(first.served.models[:5])}"
    for what, firsts, others in (
        ("longest prompt in tokens", first.served.context_length, other.served.context_length),
        ("prompt tokens of a small picture", first.fingerprint.picture_tokens, other.fingerprint.picture_tokens),
    ):
        if firsts is not None and others is not None and firsts != others:
            return f"its {what}: {others}, the first's: {firsts}"
    return ""
