"""Replies that are constrained to a question's labels, and the request fields for that on each server."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import httpx2
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from vqa_client.client.chat import ChatClient
from vqa_client.client.endpoint import GET_TIMEOUT_S, Endpoint
from vqa_client.client.probe import json_object
from vqa_client.client.probing.asks import MOST_TOKENS, Ask, Asker, ProbeReply
from vqa_client.client.probing.findings import colour_asks
from vqa_client.client.probing.parameters import (
    PARAMETERS,
    UNLIKELY,
    alternatives,
    answer_in_json,
    effect_of,
    reasoning_finding,
)
from vqa_client.errors import ServerUnusable
from vqa_client.model_config import ModelSettings
from vqa_client.scoring.choices.modes import constrained, label_probabilities, thinks
from vqa_client.types import Asks, Choosing, Completion, Note, Request

BEFORE: Final = ("", " ", "\n", "(")
"""Characters before a label: the last token of " A" is " A" in one vocabulary and "A" in another."""


async def ids_of_labels(endpoint: Endpoint, model_name: str, labels: Sequence[str]) -> list[int]:
    """All tokens that end in a one-letter label; none if the server can't tokenise or two labels share a token."""
    ids_by_label: dict[str, set[int]] = {}
    if not await _tokenise(endpoint, model_name, "".join(labels)):
        return []
    for label in labels if all(len(label) == 1 for label in labels) else ():
        tokenised = [await _tokenise(endpoint, model_name, before + label) for before in BEFORE]
        ids_by_label[label] = {tokens[-1] for tokens in tokenised if tokens}
    ids = sorted(set[int]().union(*ids_by_label.values()))
    return ids if all(ids_by_label.values()) and len(ids) == sum(map(len, ids_by_label.values())) else []


async def _tokenise(endpoint: Endpoint, model_name: str, text: str) -> list[int]:
    """The tokens of a text; none if the server doesn't tokenise."""
    body = msgspec.json.encode({"model": model_name, "prompt": text, "add_special_tokens": False})
    try:
        async with asyncio.timeout(GET_TIMEOUT_S):
            response = await endpoint.at_root().post(body, "/tokenize")
    except (TimeoutError, httpx2.TransportError):
        return []
    tokens = json_object(response.content).get("tokens") if response.status_code == HTTPStatus.OK else None
    if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
        return []
    return tokens


TOP_LOGPROBS: Final = (20, 5)
"""The most alternatives of vLLM, mlx-vlm and OpenAI, and a number for services that refuse that many."""
PUT_OFF_S: Final = (1.0, 3.0, 9.0, 27.0)
"""Waits between attempts at a server that limits the rate of requests or is full."""
NO_FORM = (
    "vLLM from 0.12 on takes structured_outputs, older ones guided_choice, others a JSON schema in response_format; "
    "--choice_mode logprob needs logprobs alone, and text nothing"
)
NO_LOGPROBS = "start mlx-vlm with --top-logprobs-k 20; a service may report none: then leave --choice_mode out"
THINKS = (
    'it has to answer at once: switch its thinking off ("extra_body": {"chat_template_kwargs": {"enable_thinking": '
    "false}} in the config), start the server without its --reasoning-parser, or leave --choice_mode out"
)


class ChoiceForm(Struct, frozen=True, kw_only=True):
    """The request fields that make a server choose among labels; `name` is the form's name."""

    name: str
    fields: dict[str, Any]


CONSTRAINED: Mapping[str, Callable[[Sequence[str]], dict[str, Any]]] = {
    "structured_outputs": lambda labels: {"structured_outputs": {"choice": list(labels)}},
    "guided_choice": lambda labels: {"guided_choice": list(labels)},
    "response_format": lambda labels: {"response_format": answer_in_json("choice", labels)},
}
"""Forms that constrain a reply to some texts, the shortest reply first: vLLM, vLLM before 0.12, JSON."""


async def choice_form(endpoint: Endpoint, model: ModelSettings, choosing: Choosing) -> ChoiceForm:
    """The form that this server honours; if it honours none, raises ServerUnusable with its replies."""
    asker = Asker(endpoint, model, timeout_s=model.timeout_s)
    plain = await _ask(asker, colour_asks()[0])
    if plain.completion is None:
        raise _unusable(endpoint, choosing, f"it completes nothing ({plain.error})", "see what the server's log says")
    find = _constrained_form if choosing.mode == "structured" else _logprobs_form
    return await find(asker, choosing, plain)


async def _constrained_form(asker: Asker, choosing: Choosing, plain: ProbeReply) -> ChoiceForm:
    """The first form that makes the model call a picture of a square a zebra or a quartz."""
    reasons = []
    for name, form in CONSTRAINED.items():
        reply = await _ask(asker, _picture_ask({"max_tokens": asker.model.max_tokens, **form(UNLIKELY)}))
        if reply.completion is not None and constrained(reply.completion.text, UNLIKELY) is not None:
            return ChoiceForm(name=name, fields=form(choosing.labels))
        reasons.append(f"{name} is {_effect_in_words(reply)}")
    raise _unusable(asker.endpoint, choosing, "; ".join(reasons), NO_FORM)


async def _logprobs_form(asker: Asker, choosing: Choosing, plain: ProbeReply) -> ChoiceForm:
    if await _thinks_first(asker, plain):
        raise _unusable(asker.endpoint, choosing, "the model thinks before it answers", THINKS)
    if form := await _by_token_ids(asker, choosing, plain):
        return form
    for most in TOP_LOGPROBS:
        fields = _one_token_fields(asker, {"logprobs": True, "top_logprobs": most})
        reply = await _ask(asker, _picture_ask(fields))
        if (alternatives(reply) or 0) >= min(TOP_LOGPROBS):
            return ChoiceForm(name="top_logprobs", fields=fields)
    raise _unusable(asker.endpoint, choosing, _why_no_logprobs(reply), NO_LOGPROBS)


async def _thinks_first(asker: Asker, plain: ProbeReply) -> bool:
    """Whether the model thinks first; if its template opens the reasoning, only the reasoning's end shows it."""
    replies = [plain]
    if plain.completion and plain.completion.finish_reason == "length" and asker.model.max_tokens > MOST_TOKENS:
        replies.append(await _ask(asker, _picture_ask({"max_tokens": asker.model.max_tokens})))
    first = await _ask(asker, _picture_ask(_one_token_fields(asker, {"logprobs": True})))
    return bool(reasoning_finding([*replies, first]).value) or bool(first.completion and thinks(first.completion))


async def _by_token_ids(asker: Asker, choosing: Choosing, plain: ProbeReply) -> ChoiceForm | None:
    """The form for exact probabilities of the labels' own tokens, if the server takes tokens by their ids."""
    ids = await ids_of_labels(asker.endpoint, asker.model.model_name, choosing.labels)
    if not ids:
        return None
    fields = _one_token_fields(asker, {"logprobs": True, "logprob_token_ids": ids})
    reply = await _ask(asker, _picture_ask(fields))
    if effect_of(PARAMETERS["logprob_token_ids"], plain, reply, fields) != "honoured" or reply.completion is None:
        return None
    known = label_probabilities(reply.completion.first_token or {}, choosing.labels)
    return ChoiceForm(name="logprob_token_ids", fields=fields) if len(known) == len(choosing.labels) else None


async def _ask(asker: Asker, ask: Ask) -> ProbeReply:
    """The reply; a server that is busy is asked again, because its refusal doesn't show what it accepts."""
    for wait_s in PUT_OFF_S:
        reply = await asker.ask(ask)
        if reply.status != "rate_limited" and reply.http_status != HTTPStatus.SERVICE_UNAVAILABLE:
            return reply
        await asyncio.sleep(wait_s)
    return await asker.ask(ask)


def _picture_ask(fields: dict[str, Any]) -> Ask:
    return msgspec.structs.replace(colour_asks()[0], fields=fields)


def _one_token_fields(asker: Asker, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields and a limit of one token, under the name that the server accepts."""
    return {asker.dialect.max_tokens_name: 1, **fields}


def _why_no_logprobs(reply: ProbeReply) -> str:
    if reply.completion is None:
        return f"logprobs are refused ({reply.error})"
    others = alternatives(reply)
    if others is None:
        return "it reports no logprobs"
    return f"of a first token it reports {others} alternatives, and {min(TOP_LOGPROBS)} at least are needed"


def _effect_in_words(reply: ProbeReply) -> str:
    if reply.completion is None:
        return f"refused ({reply.error})"
    cut = not reply.completion.text and reply.completion.finish_reason == "length"
    return "not reported (the reply ends inside its thoughts)" if cut else f"ignored (it says {reply.text[:40]!r})"


def _unusable(endpoint: Endpoint, choosing: Choosing, reason: str, way_out: str) -> ServerUnusable:
    return ServerUnusable(
        f"{endpoint.address} can't be asked with --choice_mode {choosing.mode}: {reason}", hint=way_out
    )


async def common_form(endpoints: Sequence[Endpoint], model: ModelSettings, choosing: Choosing) -> ChoiceForm:
    """The form of all servers of a run; raises ServerUnusable if their forms differ."""
    first, *others = await asyncio.gather(*(choice_form(endpoint, model, choosing) for endpoint in endpoints))
    for endpoint, form in zip(endpoints[1:], others, strict=True):
        if form != first:
            reason = f"it takes {form.name}, and {endpoints[0].address} {first.name}"
            raise _unusable(endpoint, choosing, reason, "serve the same model by the same server everywhere")
    return first


class ChoosingClient:
    """Asks through a client, with the fields of the form that its servers honour."""

    def __init__(self, chat: Asks, form: ChoiceForm, choosing: Choosing) -> None:
        self.form = form
        self._chat = chat
        self._one_token = choosing.mode == "logprob"

    async def complete(self, request: Request) -> Completion:
        """Complete as the client does; a reply of one token is whole, so its finish reason "length" is removed."""
        completion = await self._chat.complete(replace(request, parameters={**request.parameters, **self.form.fields}))
        cut = completion.finish_reason == "length"
        return replace(completion, finish_reason=None) if cut and self._one_token else completion


async def choosing_client(chat: ChatClient, choosing: Choosing, note: Note) -> ChoosingClient:
    """Find the form of all servers; raises ServerUnusable if a server has none, or if they differ."""
    routes = [route for route in chat.routes.all if not route.lost]
    form = await common_form([route.endpoint for route in routes], chat.model, choosing)
    note(f"--choice_mode {choosing.mode}: asked by {form.name}")
    return ChoosingClient(chat, form, choosing)
