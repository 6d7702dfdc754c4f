"""Servers that can be limited to given texts, or return the probabilities of the first token."""

import json
from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import Any, TypeAlias

from tests.fakes.received import Received
from tests.fakes.replies import answer
from tests.fakes.request_rules import RequestRule
from tests.fakes.script import Reply, Script, json_reply

Weights: TypeAlias = Mapping[str, float] | Callable[[Received], Mapping[str, float]]
"""The probability of each token that may come first."""
HONOURED: dict[str, frozenset[str]] = {
    "vllm": frozenset({"structured_outputs", "response_format", "logprobs", "top_logprobs", "logprob_token_ids"}),
    "mlx-vlm": frozenset({"response_format", "logprobs", "top_logprobs"}),
    "llamacpp": frozenset({"response_format", "logprobs", "top_logprobs"}),
    "plain": frozenset({"response_format", "logprobs", "top_logprobs"}),
}
"""The fields that each kind of server obeys; it ignores all others."""
LEAST = 1e-9
"""Probability of a token that has no weight."""


def likeliest_token(
    weights: Weights,
    *,
    honours: frozenset[str] | None = None,
    most: int = 20,
    reasoning: str | None = None,
) -> RequestRule:
    """A model whose whole reply is a token drawn from `weights`, or the likeliest at temperature 0.

    If limited to texts, it chooses the likeliest of them, or the first if none has a weight. `honours` are the fields
    that the server obeys (default: its kind's), `most` is the number of alternatives that it returns for a token.
    """

    def weighed(received: Received) -> Mapping[str, float]:
        return weights(received) if callable(weights) else weights

    def script(received: Received) -> Script:
        asked = received.json
        obeyed = HONOURED[received.kind] if honours is None else honours
        of_token = weighed(received)
        if (choices := _choices(asked, obeyed)) is not None:
            said = max(choices, key=lambda text: of_token.get(text, 0.0))
            written = json.dumps({"answer": said}) if _json(asked, obeyed) else said
            return answer(written, reasoning=reasoning)
        token = max(of_token, key=of_token.__getitem__)
        cut = "length" if 1 in (asked.get("max_tokens"), asked.get("max_completion_tokens")) else "stop"
        reply: Reply = answer(token, reasoning=reasoning, finish_reason=cut)(received)
        if asked.get("logprobs") and "logprobs" in obeyed:
            return _with_logprobs(reply, _told(asked, obeyed, of_token, token, most))
        return reply

    def refuses(received: Received) -> Script | None:
        if received.route != "/tokenize" or received.kind != "vllm":
            return None
        return json_reply({"tokens": token_ids(received.json["prompt"]), "max_model_len": 2048, "token_strs": None})

    return RequestRule(refuses=refuses, then=script)


def token_ids(text: str) -> list[int]:
    """One token per character, and one for a letter with the character before it."""
    return [_number(text)] if len(text) <= 2 else [_number(letter) for letter in text]


def _number(token: str) -> int:
    return sum(ord(letter) << 8 * place for place, letter in enumerate(token))


def _token(number: int) -> str:
    return number.to_bytes(2, "little").rstrip(b"\0").decode()


def _choices(asked: Mapping[str, Any], obeyed: frozenset[str]) -> Sequence[str] | None:
    ways: dict[str, Callable[[Any], Sequence[str]]] = {
        "structured_outputs": lambda value: value["choice"],
        "guided_choice": lambda value: value,
        "response_format": lambda value: value["json_schema"]["schema"]["properties"]["answer"]["enum"],
    }
    return next((read(asked[name]) for name, read in ways.items() if name in obeyed and name in asked), None)


def _json(asked: Mapping[str, Any], obeyed: frozenset[str]) -> bool:
    return "response_format" in asked and "response_format" in obeyed


def _told(
    asked: Mapping[str, Any], obeyed: frozenset[str], of_token: Mapping[str, float], token: str, most: int
) -> dict[str, Any]:
    """The sampled token, and the named or likeliest alternatives."""
    many = min(asked.get("top_logprobs") or 0, most) if "top_logprobs" in obeyed else 0
    others = sorted(of_token, key=lambda each: -of_token[each])[:many]
    if "logprob_token_ids" in obeyed and "logprob_token_ids" in asked:
        others = list(dict.fromkeys([token, *map(_token, asked["logprob_token_ids"])]))
    return {**_entry(token, of_token), "top_logprobs": [_entry(other, of_token) for other in others]}


def _entry(token: str, of_token: Mapping[str, float]) -> dict[str, Any]:
    return {"token": token, "logprob": log(of_token.get(token, LEAST)), "bytes": list(token.encode())}


def _with_logprobs(reply: Reply, first: dict[str, Any]) -> Reply:
    content = json.loads(reply.body)
    content["choices"][0]["logprobs"] = {"content": [first]}
    return json_reply(content)
