"""From settings to an asker: open the transport, wait for the server, choose the model."""

import dataclasses
import os
import resource
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
from msgspec import Struct
from msgspec.structs import replace

from vqa_client.client.allowance import Allowance
from vqa_client.client.body import Dialect
from vqa_client.client.chat import ChatClient
from vqa_client.client.endpoint import Endpoint
from vqa_client.client.limits import Patience
from vqa_client.client.probe import Found
from vqa_client.client.servers import open_routes, open_servers
from vqa_client.client.url import without_secrets
from vqa_client.errors import ServerUnusable, UsageError
from vqa_client.model_config import ModelSettings, load_model, names_config
from vqa_client.settings.run import ConfiguredSettings, RunSettings

if TYPE_CHECKING:
    from vqa_client.client.constrained import ChoosingClient
    from vqa_client.types import Choosing

SPARE = 64
"""For the log, the reports, the libraries and the images being read, and some more, beside what is open already."""
LEAST_SPARE = 16
"""For the same, where the system allows no more."""


def affordable_workers(workers: int, note: Callable[[str], None]) -> int:
    """Raise the process's soft limit of open files for so many workers, or say how many it is enough for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_already = len(os.listdir("/dev/fd"))
    needed = workers + SPARE + open_already
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return workers
    ceiling = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (ceiling, hard))
    affordable = max(1, ceiling - LEAST_SPARE - open_already)
    if affordable < workers:
        note(f"{affordable} workers instead of {workers}: the system allows {hard} open files (ulimit -Hn)")
    return min(workers, affordable)


DEFAULT_TEMPERATURE = 0.0
MOST_LISTED = 20


class Session(Struct, frozen=True, kw_only=True):
    """An asker, the settings it asks with, the server's address, and what is known of the server.

    `choosing` holds the askers that have been found to let the server choose.
    """

    chat: ChatClient
    model: ModelSettings
    endpoint: Endpoint
    server: dict[str, Any]
    choosing: "dict[Choosing, ChoosingClient]" = {}


@asynccontextmanager
async def open_session(
    settings: RunSettings,
    model: ModelSettings | None,
    *,
    note: Callable[[str], None],
    transport: httpx2.AsyncBaseTransport | None = None,
    patience: Patience | None = None,
) -> AsyncIterator[Session]:
    """Connect as the settings say, with a server's own `patience` where it has one; a `transport` replaces the wire.

    Raises ServerUnusable or UsageError.
    """
    named = named_model(settings, model) is not None
    patience = patience or Patience(settings.wait_for_server)
    async with open_servers(settings, transport=transport, named=named, patience=patience, note=note) as servers:
        model = _served_model(settings, model, servers, note)
        async with open_routes(servers, model, settings, patience=patience, note=note) as routes:
            routes.allowance = Allowance(settings.rpm, settings.tpm)
            chat = ChatClient(
                routes,
                model,
                max_retries=settings.max_retries,
                loading_patience_s=settings.wait_for_server,
                note=note,
                dialect=Dialect(stream=settings.stream),
            )
            server = _server_record(servers, settings)
            if settings.image_uuid != "off":  # which servers were found to know images by a uuid
                knowing = [each for each in routes.all if each.uploads is not None and each.uploads.held is not None]
                server["image_uuid"] = [each.address for each in knowing]
            yield Session(chat=chat, model=model, endpoint=routes.all[0].endpoint, server=server)


def as_asked(
    session: Session,
    settings: RunSettings,
    config: ModelSettings | None,
    *,
    note: Callable[[str], None],
) -> Session:
    """The session with what these settings send to its model; connections, pauses and dialect are those it has."""
    model = named_model(settings, config, session.model.model_name)
    if model is None or model == session.model:
        return session
    before = session.chat
    chat = ChatClient(
        before.routes,
        model,
        max_retries=settings.max_retries,
        loading_patience_s=settings.wait_for_server,
        note=note,
        dialect=before.template.dialect,
    )
    note(_sent_to(model))
    return replace(session, chat=chat, model=model, choosing={})


def model_of(settings: RunSettings, config: str | None) -> ModelSettings | None:
    """The model of one of the settings' configs; what is no config is a model's name where either may be given."""
    if config is None:
        return None
    if isinstance(settings, ConfiguredSettings) and not names_config(config):
        return _model_settings(settings, None, config)
    return load_model(config)


def addressed(settings: RunSettings, model: ModelSettings | None) -> RunSettings:
    """The settings with the config's address where they give none; it is never shown in a traceback."""
    if settings.base_url or model is None or model.base_url is None:
        return settings
    return dataclasses.replace(settings, base_url=model.base_url)


def named_model(settings: RunSettings, model: ModelSettings | None, served: str = "") -> ModelSettings | None:
    """The config's model, or defaults for one that is named; options given by hand win.

    Without a name it is the `served` one; None: the server must say.
    """
    name = settings.served_name or (model.model_name if model else served)
    return _model_settings(settings, model, name) if name else None


def _model_settings(settings: RunSettings, model: ModelSettings | None, name: str) -> ModelSettings:
    if model is None:
        model = ModelSettings(
            model_name=name,
            max_tokens=settings.usual_max_tokens,
            temperature=DEFAULT_TEMPERATURE,
            timeout=settings.usual_timeout_s,
        )
    timeout = model.timeout if settings.timeout is None else settings.timeout
    return dataclasses.replace(model, model_name=name, timeout=timeout, **settings.sent(model.extra_body))


def _served_model(
    settings: RunSettings, model: ModelSettings | None, servers: Sequence[Found], note: Callable[[str], None]
) -> ModelSettings:
    served = servers[0].served
    chosen = named_model(settings, model, served.loaded or "")
    if chosen is None and served.models:
        raise UsageError(
            f"{without_secrets(served.base)} lists {len(served.models)} models",
            hint=f"choose one with {settings.name_option}: {', '.join(served.models[:MOST_LISTED])}"
            + (", ..." if len(served.models) > MOST_LISTED else ""),
        )
    if chosen is None:
        raise ServerUnusable(
            f"{without_secrets(served.base)} lists no models{served.instead and f' ({served.instead})'}",
            hint=f"is --base_url right? if it is, name the model with {settings.name_option}",
        )
    name = chosen.model_name
    if served.models and name not in served.models:
        listed = ", ".join(served.models[:5])
        note(f"warning: the server does not list {name}; it lists {listed} (choose with {settings.name_option})")
    note(_sent_to(chosen, f" at {' and '.join(_addresses(servers))}"))
    return chosen


def _sent_to(model: ModelSettings, where: str = "") -> str:
    temperature = "not sent" if model.temperature is None else f"{model.temperature:g}"
    return f"model {model.model_name}{where}, max_tokens {model.max_tokens}, temperature {temperature}"


def _addresses(servers: Sequence[Found]) -> list[str]:
    return [without_secrets(server.served.base) for server in servers]


def _server_record(servers: Sequence[Found], settings: RunSettings) -> dict[str, Any]:
    served, addresses = servers[0].served, _addresses(servers)
    return {
        "base_url": ", ".join(addresses),
        **({"endpoints": addresses} if len(addresses) > 1 else {}),
        "models": list(served.models[:20]),
        "context_length": served.context_length,
        "engine": settings.engine,
        "insecure": settings.insecure,
    }
