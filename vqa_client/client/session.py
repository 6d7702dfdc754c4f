"""From settings to an asker: open the transport, wait for the server, settle which model is asked."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from msgspec import Struct

from vqa_client.client.body import EncodedPieces
from vqa_client.client.chat import ChatClient
from vqa_client.client.endpoint import Endpoint, headers_for, open_transport
from vqa_client.client.limits import Outage
from vqa_client.client.probe import Served, wait_for_server
from vqa_client.client.url import candidates, without_secrets
from vqa_client.errors import ServerUnusable
from vqa_client.model_config import ModelSettings
from vqa_client.settings.run import DEFAULT_BASE_URL, RunSettings

DEFAULT_TEMPERATURE = 0.0


class Session(Struct, frozen=True, kw_only=True):
    """An asker, the settings it asks with, the server's address, and what is known of the server."""

    chat: ChatClient
    model: ModelSettings
    endpoint: Endpoint
    server: dict[str, Any]


@asynccontextmanager
async def open_session(
    settings: RunSettings,
    model: ModelSettings | None,
    *,
    encode: EncodedPieces,
    note: Callable[[str], None],
    transport: httpx2.AsyncBaseTransport | None = None,
) -> AsyncIterator[Session]:
    """Connect as the settings say; a `transport` given replaces the wire. Raises ServerUnusable or UsageError."""
    bases = candidates(settings.base_url or DEFAULT_BASE_URL)
    if transport is None:
        transport = open_transport(
            bases[0],
            engine=settings.engine,
            max_workers=settings.max_workers,
            ca_bundle=settings.ca_bundle,
            insecure=settings.insecure,
        )
    if settings.insecure:
        note("--insecure: the server's certificate is not verified (recorded)")
    endpoint = Endpoint(bases[0], transport, headers_for(bases[0], settings.api_key))
    async with transport:
        served = await wait_for_server(
            endpoint,
            bases,
            patience_s=settings.wait_for_server,
            note=note,
            model_is_named=named_model(settings, model) is not None,
        )
        endpoint = endpoint.at(served.base)
        model = _served_model(settings, model, served, note)
        chat = ChatClient(
            endpoint,
            model,
            encode=encode,
            outage=Outage(lambda: _back_again(endpoint, settings.wait_for_server, note)),
            max_retries=settings.max_retries,
            loading_patience_s=settings.wait_for_server,
            note=note,
        )
        yield Session(chat=chat, model=model, endpoint=endpoint, server=_described(served, settings))


def named_model(settings: RunSettings, model: ModelSettings | None) -> ModelSettings | None:
    """The config's model, or defaults for one that is named; options given by hand win. None: the server must say."""
    name = settings.served_name or (model.model_name if model else None)
    return _settled(settings, model, name) if name else None


def _settled(settings: RunSettings, model: ModelSettings | None, name: str) -> ModelSettings:
    if model is None:
        model = ModelSettings(
            model_name=name,
            max_tokens=settings.usual_max_tokens,
            temperature=DEFAULT_TEMPERATURE,
            timeout=settings.usual_timeout_s,
        )
    changed = {"model_name": name, "presence_penalty": settings.presence_penalty, "timeout": settings.timeout}
    return model.model_copy(update={key: value for key, value in changed.items() if value is not None})


def _served_model(
    settings: RunSettings, model: ModelSettings | None, served: Served, note: Callable[[str], None]
) -> ModelSettings:
    settled = named_model(settings, model)
    if settled is None and served.loaded is None:
        raise ServerUnusable(
            f"{without_secrets(served.base)} lists no models",
            hint=f"name it with {settings.name_option}",
        )
    settled = settled or _settled(settings, None, served.loaded or "")
    name = settled.model_name
    if served.models and name not in served.models:
        listed = ", ".join(served.models[:5])
        note(f"the server does not list {name}; it lists {listed}: {settings.name_option} names another")
    temperature = "not sent" if settled.temperature is None else f"{settled.temperature:g}"
    note(f"asking {name} at {without_secrets(served.base)}, max_tokens {settled.max_tokens}, temperature {temperature}")
    return settled


async def _back_again(endpoint: Endpoint, patience_s: float, note: Callable[[str], None]) -> None:
    started_s = time.monotonic()
    await asyncio.sleep(0.1)  # one reset connection is no outage; a restarting server needs a moment anyway
    await wait_for_server(endpoint, [endpoint.base], patience_s=patience_s, note=note, model_is_named=True)
    if time.monotonic() - started_s > 1:
        note(f"the server is back after {time.monotonic() - started_s:.0f} s")


def _described(served: Served, settings: RunSettings) -> dict[str, Any]:
    return {
        "base_url": without_secrets(served.base),
        "models": list(served.models[:20]),
        "context_length": served.context_length,
        "engine": settings.engine,
        "insecure": settings.insecure,
    }
