"""What is at the other end: wait until a server answers, find its address form and the model it serves."""

import asyncio
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

import httpx2
import msgspec

from vqa_client.client.endpoint import GET_TIMEOUT_S, Endpoint
from vqa_client.client.failures import error_message
from vqa_client.client.messages import Response
from vqa_client.client.url import port_of, without_secrets
from vqa_client.errors import UNDECODABLE, ServerAway, ServerUnusable

POLL_S = 0.5
_BUSY = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
IN_BATCHES = "mlx_vlm"
"""How the Server header begins of those that answer in batches."""


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """What /models says: the ids, the one that is loaded, and the base address that answered.

    `models` is empty if the server has no such path; `loaded` is None if none of several is; `context_length` is in
    tokens, None where it is not said;
    `in_batches` of a server whose batches take the settings of one request and fail together; `instead` is what came
    where no list of models did.
    """

    base: httpx2.URL
    models: tuple[str, ...] = ()
    loaded: str | None = None
    context_length: int | None = None
    in_batches: bool = False
    instead: str = ""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One server: the bases that its address may mean, and what it serves; `lost` says why it serves nothing yet."""

    endpoint: Endpoint
    bases: list[httpx2.URL]
    served: Served
    lost: str = ""


async def wait_for_server(
    endpoint: Endpoint,
    bases: list[httpx2.URL],
    *,
    patience_s: float,
    note: Callable[[str], None],
    model_is_named: bool = False,
) -> Served:
    """Ask until the server answers; raises ServerAway after `patience_s` seconds, ServerUnusable when waiting is vain.

    Where the model `model_is_named`, a key that may not list models (HTTP 403) is no obstacle.
    """
    started_s = time.monotonic()
    is_noted = False
    while True:
        left_s = max(1.0, patience_s - (time.monotonic() - started_s))
        served, reason = await _probe(endpoint, bases, min(left_s, GET_TIMEOUT_S), model_is_named)
        if served is not None:
            return served
        waited_s = time.monotonic() - started_s
        if waited_s + POLL_S > patience_s:
            raise ServerAway(
                f"no answer from {without_secrets(bases[0])}: {reason}",
                hint="is the server running there? --base_url names it, --wait_for_server SECONDS waits longer",
            )
        if not is_noted:
            note(f"waiting up to {patience_s:.0f} s for {without_secrets(bases[0])}: {reason}")
            is_noted = True
        await asyncio.sleep(min(POLL_S, patience_s - waited_s))


async def _probe(
    endpoint: Endpoint, bases: list[httpx2.URL], timeout_s: float, model_is_named: bool
) -> tuple[Served | None, str]:
    """One look at each address form; a server that answers but lists no models is taken as it is."""
    missing = True
    reason = ""
    for base in bases:
        try:
            response = await endpoint.at(base).get("/models", timeout_s=timeout_s)
        except httpx2.TransportError as error:
            if _is_tls(error):
                raise _untrusted(base, error) from None
            return None, _why_unreached(base, error)
        if response.status_code == HTTPStatus.FORBIDDEN and model_is_named:
            return Served(base=base), ""
        if response.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            refuses = "refuses the key" if "Authorization" in endpoint.headers else "wants an API key, and none is set"
            raise ServerUnusable(
                f"{without_secrets(base)} {refuses} (HTTP {response.status_code}): {_words(endpoint, response)}",
                hint="give it as --api_key, or in VQA_CLIENT_API_KEY",
            )
        if response.status_code == HTTPStatus.OK and (served := _read_models(base, response.content)) is not None:
            in_batches = response.headers.get("server", "").startswith(IN_BATCHES)
            return msgspec.structs.replace(served, in_batches=in_batches), ""
        busy = response.status_code in _BUSY or response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
        if not reason or (busy and missing):  # the first one that may yet change
            reason = f"HTTP {response.status_code}: {_words(endpoint, response)}"
        missing = missing and not busy
    return (Served(base=bases[0], instead=reason), "") if missing else (None, reason)


def _words(endpoint: Endpoint, response: Response) -> str:
    return endpoint.redacted(error_message(response.content))[:200]


def _read_models(base: httpx2.URL, body: bytes) -> Served | None:
    try:
        cards = msgspec.json.decode(body)["data"]
        models = [card for card in cards if isinstance(card, dict) and isinstance(card.get("id"), str)]
    except (*UNDECODABLE, KeyError, TypeError):
        return None
    loaded = _intended_card(models)
    return Served(
        base=base,
        models=tuple(card["id"] for card in models),
        loaded=loaded["id"] if loaded else None,
        context_length=context_of_card(loaded or {}),
    )


def _intended_card(cards: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The model that a server has loaded, or the only one; adapters and further names of one model are none of their
    own."""
    loaded = next((card for card in cards if card.get("loaded") is True), None)
    own = [card for card in cards if not card.get("parent")]
    roots = {card.get("root") or card["id"] for card in own}
    return loaded or (own[0] if len(roots) == 1 else None)


def context_of_card(card: Mapping[str, Any]) -> int | None:
    """Tokens of prompt and reply together, as vLLM and llama.cpp name them."""
    meta = card.get("meta")
    value = card.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else None)
    return value if isinstance(value, int) else None


def _why_unreached(base: httpx2.URL, error: Exception) -> str:
    """Why no connection came about, in words for its two usual causes."""
    text = str(error) or type(error).__name__
    if "Errno 111" in text or "refused" in text.lower():
        return f"nothing listens on {base.host}:{port_of(base)}"
    unknown = (
        "Name or service not known",
        "nodename nor servname",
        "No address associated",
        "getaddrinfo",
        "name resolution",
    )
    return f"there is no host {base.host!r}" if any(words in text for words in unknown) else text


def _is_tls(error: Exception) -> bool:
    text = f"{error!r} {error.__cause__!r}"
    return "CERTIFICATE_VERIFY_FAILED" in text or "SSLError" in text or "SSL:" in text


def _untrusted(base: httpx2.URL, error: Exception) -> ServerUnusable:
    return ServerUnusable(
        f"no trusted connection to {without_secrets(base)}: {error}",
        hint="is it an http:// address?"
        if "WRONG_VERSION_NUMBER" in str(error)
        else "--ca_bundle FILE trusts its authority; --insecure skips the check, and the run records it",
    )
