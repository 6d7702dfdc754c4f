"""Wait until a server answers, and find which form of its address works and which models it lists."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import httpx2
import msgspec

from vqa_client.client.endpoint import GET_TIMEOUT_S, Endpoint
from vqa_client.client.failures import error_message
from vqa_client.client.messages import Response
from vqa_client.client.url import port_of, without_secrets
from vqa_client.errors import UNDECODABLE, ServerAway, ServerUnusable
from vqa_client.types import Note

POLL_S = 0.5
_BUSY = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
IN_BATCHES = "mlx_vlm"
"""The start of the Server header of servers that answer in batches."""


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to GET /models: the model cards, and the base address that answered.

    Without a list of models, `cards` is empty and `instead` describes the reply. `in_batches`: the server answers in
    batches, whose requests share the sampling settings of one request and fail together.
    """

    base: httpx2.URL
    cards: tuple[dict[str, Any], ...] = ()
    in_batches: bool = False
    instead: str = ""

    @property
    def models(self) -> tuple[str, ...]:
        """The ids of all models."""
        return tuple(card["id"] for card in self.cards)

    @property
    def loaded(self) -> str | None:
        """The model that the server has loaded, or its only one; else None."""
        return self._loaded_card.get("id")

    @property
    def context_length(self) -> int | None:
        """The most tokens of prompt and reply together, if the card of `loaded` says so."""
        return context_of_card(self._loaded_card)

    @property
    def _loaded_card(self) -> dict[str, Any]:
        """The card of the loaded model, or of the only one; adapters and second names of a model don't count."""
        loaded = next((card for card in self.cards if card.get("loaded") is True), {})
        own = [card for card in self.cards if not card.get("parent")]
        roots = {str(card.get("root") or card["id"]) for card in own}
        return loaded or (own[0] if len(roots) == 1 else {})


async def wait_for_server(
    endpoint: Endpoint, bases: Sequence[httpx2.URL], *, patience_s: float, note: Note, model_is_named: bool
) -> Served:
    """Ask until the server answers; raises ServerAway after `patience_s` seconds, ServerUnusable if waiting can't help.

    If the model `model_is_named`, the key need not be allowed to list models (HTTP 403).
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
    endpoint: Endpoint, bases: Sequence[httpx2.URL], timeout_s: float, model_is_named: bool
) -> tuple[Served | None, str]:
    """Try each form of the address once; a server that answers without a list of models is accepted."""
    missing = True
    reason = ""
    for base in bases:
        try:
            response = await endpoint.at(base).get("/models", timeout_s=timeout_s)
        except httpx2.TransportError as error:
            if _is_tls(error):
                raise _untrusted(base, error) from None
            return None, why_unreached(base, error)
        if response.status_code == HTTPStatus.FORBIDDEN and model_is_named:
            return Served(base=base), ""
        if response.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            refuses = "refuses the key" if "Authorization" in endpoint.headers else "wants an API key, and none is set"
            raise ServerUnusable(
                f"{without_secrets(base)} {refuses} (HTTP {response.status_code}): {_words(endpoint, response)}",
                hint="give it as --api_key, or in VQA_CLIENT_API_KEY",
            )
        listed = json_object(response.content) if response.status_code == HTTPStatus.OK else {}
        if isinstance(listed.get("data"), list):
            in_batches = response.headers.get("server", "").startswith(IN_BATCHES)
            return Served(base=base, cards=cards_of(listed), in_batches=in_batches), ""
        busy = response.status_code in _BUSY or response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
        if not reason or (busy and missing):  # the first reason that may change while we wait
            reason = f"HTTP {response.status_code}: {_words(endpoint, response)}"
        missing = missing and not busy
    return (Served(base=bases[0], instead=reason), "") if missing else (None, reason)


def _words(endpoint: Endpoint, response: Response) -> str:
    return endpoint.redacted(error_message(response.content))[:200]


def json_object(content: bytes) -> dict[str, Any]:
    """The JSON object in a body; {} if the body is anything else."""
    try:
        value = msgspec.json.decode(content)
    except UNDECODABLE:
        return {}
    return value if isinstance(value, dict) else {}


def cards_of(models: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The model cards with an id in the body of /models."""
    data = models.get("data")
    cards = data if isinstance(data, list) else []
    return tuple(card for card in cards if isinstance(card, dict) and isinstance(card.get("id"), str))


def context_of_card(card: Mapping[str, Any]) -> int | None:
    """The most tokens of prompt and reply together, from the fields of vLLM and llama.cpp."""
    meta = card.get("meta")
    value = card.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else None)
    return value if isinstance(value, int) else None


def why_unreached(base: httpx2.URL, error: Exception) -> str:
    """Why there is no connection, in words for the two usual causes."""
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
