"""All servers of a run, from their addresses to routes: opened, waited for, found to be alike, and looked after."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import httpx2
from msgspec.structs import replace

from vqa_client.client.batching import BatchGate
from vqa_client.client.body import EncodedPieces
from vqa_client.client.endpoint import Endpoint, headers_for, is_signed, open_transport
from vqa_client.client.limits import Outage
from vqa_client.client.probe import Found, Served, wait_for_server
from vqa_client.client.reply_room import ReplyRoom
from vqa_client.client.routes import Route, Routes
from vqa_client.client.url import candidates, without_secrets
from vqa_client.errors import ServerUnusable, UsageError
from vqa_client.model_config import ModelSettings
from vqa_client.settings.run import DEFAULT_BASE_URL, RunSettings

Note = Callable[[str], None]


@asynccontextmanager
async def open_servers(
    settings: RunSettings, *, transport: httpx2.AsyncBaseTransport | None, named: bool, note: Note
) -> AsyncIterator[list[Found]]:
    """Connect to each address of the settings; a `transport` given replaces the wire of all.

    `named` says whether the model is. Raises ServerUnusable where none answers in time, or UsageError.
    """
    async with AsyncExitStack() as stack:
        opened: list[Found] = []
        room = ReplyRoom()
        for bases in _addresses(settings, note):
            wire = transport or open_transport(
                bases[0],
                engine=settings.engine,
                ca_bundle=settings.ca_bundle,
                insecure=settings.insecure,
                room=room,
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
        yield await _answering(opened, settings, named, note)


def _addresses(settings: RunSettings, note: Note) -> list[list[httpx2.URL]]:
    """The bases of each server: --endpoint goes before any other way to name one."""
    if settings.endpoint and settings.base_url and settings.base_url not in settings.endpoint:
        note(f"--endpoint is given: {without_secrets(settings.base_url)} is not asked")
    addresses = [candidates(url, "--endpoint") for url in settings.endpoint]
    addresses = addresses or [candidates(settings.base_url or DEFAULT_BASE_URL)]
    seen: set[httpx2.URL] = set()
    for bases in addresses:
        if bases[0] in seen:
            raise UsageError(f"--endpoint names {without_secrets(bases[0])} twice")
        seen.add(bases[0])
    return addresses


async def _answering(opened: list[Found], settings: RunSettings, named: bool, note: Note) -> list[Found]:
    """Those that answer first, in the order given, then those that may come later."""

    async def wait(one: Found) -> Found:
        try:
            served = await wait_for_server(
                one.endpoint, one.bases, patience_s=settings.wait_for_server, note=note, model_is_named=named
            )
        except ServerUnusable as error:
            errors.append(error)
            return replace(one, lost=str(error))
        return replace(one, endpoint=one.endpoint.at(served.base), served=served)

    errors: list[ServerUnusable] = []
    waited = await asyncio.gather(*map(wait, opened))
    if len(errors) == len(opened):
        raise errors[0]
    return sorted(waited, key=lambda one: bool(one.lost))


@asynccontextmanager
async def open_routes(
    found: Sequence[Found], model: ModelSettings, settings: RunSettings, *, encode: EncodedPieces, note: Note
) -> AsyncIterator[Routes]:
    """Routes to all servers, alike as far as small questions show; raises ServerUnusable where they are not."""
    routes = {Route(one.endpoint): one for one in found}
    for route, one in routes.items():
        route.gate = BatchGate() if one.served.in_batches else None
    if (settings.image_uuid != "off" or settings.file_urls) and not settings.dry_run:
        from vqa_client.client.uploading.choose import (
            ways_of,  # draws on the checks, as what follows: most runs do without
        )

        for route, one in routes.items():
            route.uploads = await ways_of(one, model, settings, encode=encode, note=note)
    if len(found) == 1 or settings.dry_run:
        only = next(iter(routes))
        before = routes[only].served

        async def back() -> None:
            await _back_again(only.endpoint, before, model.model_name, settings.wait_for_server, note)

        yield Routes(tuple(routes), outage=Outage(back))
        return
    from vqa_client.client.several import several_routes

    async with several_routes(routes, model, patience_s=settings.wait_for_server, note=note) as all_routes:
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
