"""Open a session: connect to the servers, wait for them, and choose the model."""

import dataclasses
import os
import resource
from collections.abc import AsyncIterator, Sequence
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
from vqa_client.client.retry import Limits
from vqa_client.client.routes import Route, Routes
from vqa_client.client.servers import open_routes, open_servers
from vqa_client.errors import ServerUnusable, UsageError
from vqa_client.model_config import ModelSettings, load_model, names_config
from vqa_client.settings.run import ConfiguredSettings, RunSettings
from vqa_client.types import Note

if TYPE_CHECKING:
    from vqa_client.client.constrained import ChoosingClient
    from vqa_client.types import Choosing

SPARE = 64
"""Files for the log, the reports, the libraries and the images being read, beside those already open."""
LEAST_SPARE = 16
"""The same, if the system allows no more."""


def affordable_workers(workers: int, note: Note) -> int:
    """Raise the process's limit of open files for the workers; returns the number of workers that it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_already = len(os.listdir("/dev/fd"))
    needed = workers + SPARE + open_already
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return workers
    ceiling = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (ceiling, hard))
    affordable = max(1, ceiling - LEAST_SPARE - open_already)
    if affordable < workers:
        fewer = f"{affordable} worker{'s' * (affordable > 1)} instead of {workers}"
        note(f"{fewer}: the system allows {hard} open files (ulimit -Hn)")
    return min(workers, affordable)


DEFAULT_TEMPERATURE = 0.0
MOST_LISTED = 20


class Session(Struct, frozen=True, kw_only=True):
    """The client, its model's settings, and the record of the server for the run file.

    `choosing` keeps the clients that constrain replies to labels.
    """

    chat: ChatClient
    model: ModelSettings
    server: dict[str, Any]
    choosing: "dict[Choosing, ChoosingClient]" = {}
    prompt_limit: int | None

    @property
    def endpoint(self) -> Endpoint:
        """The first server's."""
        return self.chat.routes.all[0].endpoint


@asynccontextmanager
async def open_session(
    settings: RunSettings,
    model: ModelSettings | None,
    prompt_limit: int | None = None,
    *,
    note: Note,
    transport: httpx2.AsyncBaseTransport | None = None,
    patience: Patience | None = None,
) -> AsyncIterator[Session]:
    """Connect as the settings say; a given `patience` is shared by sessions, and a `transport` replaces the wire.

    `prompt_limit` is the limit of tokens in a benchmark's prompt, which replaces the model's.

    Raises ServerUnusable or UsageError.
    """
    named = named_model(settings, model) is not None
    patience = patience or Patience(settings.wait_for_server)
    async with open_servers(settings, transport=transport, named=named, patience=patience, note=note) as servers:
        model = _served_model(settings, model, servers, note)
        note(_sent_to(model, prompt_limit, f" at {' and '.join(_addresses(servers))}"))
        async with open_routes(servers, model, settings, patience=patience, note=note) as routes:
            routes.allowance = Allowance(settings.rpm, settings.tpm, note)
            chat = _chat_client(routes, model, settings, Dialect(stream=settings.stream), note)
            server = _server_record(servers, settings)
            if settings.image_uuid != "off":  # the servers that know images by a uuid
                uploads = ((route.address, route.uploads) for route in routes.all)
                server["image_uuid"] = [address for address, of in uploads if of is not None and of.known is not None]
            yield Session(chat=chat, model=model, server=server, prompt_limit=prompt_limit)


def reused(
    session: Session,
    settings: RunSettings,
    config: ModelSettings | None,
    prompt_limit: int | None,
    *,
    note: Note,
) -> Session:
    """The session with these settings for its model; it keeps its connections, pauses and dialect."""
    model = named_model(settings, config, session.model.model_name) or session.model
    if model == session.model and prompt_limit == session.prompt_limit:
        return session
    note(_sent_to(model, prompt_limit))
    if model == session.model:
        return replace(session, prompt_limit=prompt_limit)
    chat = _chat_client(session.chat.routes, model, settings, session.chat.template.dialect, note)
    return replace(session, chat=chat, model=model, choosing={}, prompt_limit=prompt_limit)


def _chat_client(
    routes: Routes, model: ModelSettings, settings: RunSettings, dialect: Dialect, note: Note
) -> ChatClient:
    limits = Limits(settings.max_retries, model.timeout_s, settings.wait_for_server)
    return ChatClient(routes, model, limits=limits, dialect=dialect, note=note)


def model_of(settings: RunSettings, config: str | None) -> ModelSettings | None:
    """The model of one of the settings' configs; some settings accept a model's name instead of a config."""
    if config is None:
        return None
    if isinstance(settings, ConfiguredSettings) and not names_config(config):
        return _model_settings(settings, None, config)
    return load_model(config)


def addressed(settings: RunSettings, model: ModelSettings | None) -> RunSettings:
    """The settings, with the config's address if they have none; no traceback shows the address."""
    if settings.base_url or model is None or model.base_url is None:
        return settings
    return dataclasses.replace(settings, base_url=model.base_url)


def named_model(settings: RunSettings, model: ModelSettings | None, served: str = "") -> ModelSettings | None:
    """The config's model, or one with default settings; options of the command line win.

    Its name is that of the settings, the config or the server (`served`); None if none of them gives one.
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
    settings: RunSettings, model: ModelSettings | None, servers: Sequence[Route], note: Note
) -> ModelSettings:
    served = servers[0].served
    chosen = named_model(settings, model, served.loaded or "")
    if chosen is None and served.models:
        raise UsageError(
            f"{servers[0].address} lists {len(served.models)} models",
            hint=f"choose one with {settings.name_option}: {', '.join(served.models[:MOST_LISTED])}"
            + (", ..." if len(served.models) > MOST_LISTED else ""),
        )
    if chosen is None:
        raise ServerUnusable(
            f"{servers[0].address} lists no models{served.instead and f' ({served.instead})'}",
            hint=f"is --base_url right? if it is, name the model with {settings.name_option}",
        )
    name = chosen.model_name
    if served.models and name not in served.models:
        listed = ", ".join(served.models[:5])
        note(f"warning: the server does not list {name}; it lists {listed} (choose with {settings.name_option})")
    return chosen


def _sent_to(model: ModelSettings, prompt_limit: int | None, where: str = "") -> str:
    max_tokens = f"{prompt_limit} (the benchmark's prompt)" if prompt_limit else model.max_tokens
    temperature = "not sent" if model.temperature is None else f"{model.temperature:g}"
    return f"model {model.model_name}{where}, max_tokens {max_tokens}, temperature {temperature}"


def _addresses(servers: Sequence[Route]) -> list[str]:
    return [route.address for route in servers]


def _server_record(servers: Sequence[Route], settings: RunSettings) -> dict[str, Any]:
    served, addresses = servers[0].served, _addresses(servers)
    return {
        "base_url": ", ".join(addresses),
        **({"endpoints": addresses} if len(addresses) > 1 else {}),
        "models": list(served.models[:20]),
        "context_length": served.context_length,
        "engine": settings.engine,
        "insecure": settings.insecure,
    }
