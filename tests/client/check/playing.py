"""A server that sees colours and honours the given request fields, and checks of it."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx2

from tests.fakes.completions import usage_block
from tests.fakes.looking import looks_at_images
from tests.fakes.received import Received
from tests.fakes.replies import answer
from tests.fakes.script import Script
from vqa_client.client.check.examine import examine
from vqa_client.client.direct import DirectTransport
from vqa_client.client.endpoint import Endpoint, headers_for
from vqa_client.client.probing.asks import ProbeReply, parse_reply
from vqa_client.client.probing.findings import Checked, Finding
from vqa_client.client.url import candidates
from vqa_client.model_config import ModelSettings

EVERYTHING = frozenset(
    {"max_tokens", "max_completion_tokens", "stop", "n", "structured_outputs", "response_format", "logprobs", "uuid"}
    | {"chat_template_kwargs", "top_logprobs"}
)


def model(**fields: Any) -> ModelSettings:
    return ModelSettings(**{"model_name": "tiny-vlm", "max_tokens": 512, **fields})


def seeing(honoured: frozenset[str] = EVERYTHING, *, says: Callable[[str], str] = lambda colour: colour) -> Script:
    """Names the colours, counts 64 tokens per picture, and remembers images by uuid."""
    remembered: dict[str, Received] = {}

    def play(received: Received) -> Any:
        asked = received.json
        for image in received.images:
            if image.url and "uuid" in honoured:
                remembered.setdefault(image.uuid, received)
        shown = received if all(image.url for image in received.images) else remembered.get(received.images[0].uuid)
        if shown is None:
            return answer("I can't see any image.", usage=usage_block(20, 2))
        text = says(colour_of(shown))
        finish = "stop"
        if "structured_outputs" in honoured and "structured_outputs" in asked:
            text = asked["structured_outputs"]["choice"][0]
        if "response_format" in honoured and "response_format" in asked:
            text = '{"answer": "zebra"}'
        if "stop" in honoured and "stop" in asked:
            text = text.partition(asked["stop"][0])[0]
        for limit in {"max_tokens", "max_completion_tokens"} & honoured:
            if asked.get(limit) == 1:
                text, finish = text[:2], "length"
        thinks = "chat_template_kwargs" in honoured and "chat_template_kwargs" in asked
        usage = usage_block(20 + 64 * len(received.images) + 2 * thinks, 3)
        copies = asked.get("n", 1) if "n" in honoured else 1
        return answer(text, finish_reason=finish, usage=usage, extra=_more(asked, honoured, text, copies))

    return play


def _more(asked: Mapping[str, Any], honoured: frozenset[str], text: str, copies: int) -> dict[str, Any]:
    choice: dict[str, Any] = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    if asked.get("logprobs") and "logprobs" in honoured:
        many = asked.get("top_logprobs", 0) if "top_logprobs" in honoured else 0
        token = {"token": "x", "logprob": -0.1, "top_logprobs": [{"token": "x", "logprob": -0.1}] * many}
        return {"choices": [{**choice, "logprobs": {"content": [token]}}]}
    return {"choices": [choice] * copies} if copies > 1 else {}


def colour_of(received: Received) -> str:
    """The answer of `looks_at_images` to a picture."""
    script: Any = looks_at_images()
    return str(json.loads(script(received).body)["choices"][0]["message"]["content"])


async def examined(
    base_url: str, *, timeout_s: float = 5.0, note: Callable[[str], None] = lambda text: None, **fields: Any
) -> Checked:
    """The whole check of a server, as the command makes it."""
    base = candidates(base_url)[0]
    async with DirectTransport(None) as transport:
        endpoint = Endpoint(base, transport, headers_for(base, None))
        return await examine(endpoint, model(**fields), timeout_s=timeout_s, note=note)


def named(checked: Checked, name: str) -> Finding:
    """The one finding of that name."""
    (found,) = [finding for finding in checked.findings if finding.name == name]
    return found


def said(text: str, *, tokens: int | None = 84, finish: str = "stop", **message: Any) -> ProbeReply:
    """A good reply."""
    usage = {} if tokens is None else {"prompt_tokens": tokens, "completion_tokens": 3}
    choice = {"message": {"content": text, **message}, "finish_reason": finish}
    return parse_reply(
        200, {"Content-Type": "application/json"}, json.dumps({"choices": [choice], "usage": usage}).encode()
    )


def refused(status: int, message: str) -> ProbeReply:
    """A refusal in vLLM's form."""
    return parse_reply(status, {}, json.dumps({"error": {"message": message, "code": status}}).encode())


def endpoint_playing(play: Callable[[dict[str, Any], httpx2.Request], httpx2.Response]) -> Endpoint:
    """An endpoint whose transport is a function of the request's body."""

    async def handle(request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        return play(json.loads(body) if body else {}, request)

    base = httpx2.URL("http://server/v1")
    return Endpoint(base, httpx2.MockTransport(handle), headers_for(base, "SECRET-KEY-1"))
