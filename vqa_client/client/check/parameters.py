"""Request fields that servers take and may ignore: each is sent where ignoring it shows in the reply."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from vqa_client.client.check.asks import Ask
from vqa_client.client.check.findings import PARAMETER, Finding
from vqa_client.client.check.replies import Reply
from vqa_client.client.check.sight import colour_asks

Effect = Literal["honoured", "ignored", "refused", "unclear"]
UNLIKELY = ("zebra", "quartz")
"""What no model says of a red square by itself."""
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": list(UNLIKELY)}},
    "required": ["answer"],
    "additionalProperties": False,
}
ALTERNATIVES = 5
SHORT = 32
"""Tokens of a reply here: models that think are cut, and most of what they would show stays unclear."""


class Parameter(Struct, frozen=True, kw_only=True):
    """A field, how it is sent after the plain question was answered, and what its reply says beside the plain one."""

    name: str
    fields: Callable[[Reply], dict[str, Any]]
    effect: Callable[[Reply, Reply], Effect]


def asked_with(parameter: Parameter, plain: Reply) -> Ask:
    """The plain question with the parameter's fields."""
    question, _ = colour_asks()
    return msgspec.structs.replace(question, fields={"max_tokens": SHORT, **parameter.fields(plain)})


def effect_of(parameter: Parameter, plain: Reply, reply: Reply) -> Effect:
    """What the server made of the parameter."""
    if reply.completion is not None:
        return parameter.effect(plain, reply)
    return "refused" if reply.http_status else "unclear"


def found_parameters(replies: dict[str, Reply], plain: Reply, config_fields: frozenset[str]) -> list[Finding]:
    """A finding for each reply, by the parameter's name; `config_fields` are those that the model's config sends."""
    effects = {row.name: effect_of(row, plain, replies[row.name]) for row in PARAMETERS if row.name in replies}
    for one, other in (SWITCHES, SWITCHES[::-1]):
        if effects.get(one) == "honoured" and effects.get(other) == "unclear":
            effects[other] = "ignored"  # the template has the switch, and this name for it doesn't reach it
    return [_finding(name, effect, replies[name], config_fields) for name, effect in effects.items()]


def _finding(name: str, effect: Effect, reply: Reply, config_fields: frozenset[str]) -> Finding:
    wanted = name in config_fields and effect in ("ignored", "refused")
    told = {
        "honoured": "honoured",
        "ignored": "accepted, and ignored",
        "refused": f"refused ({reply.told})",
        "unclear": "no effect seen" if reply.completion is not None else f"not told ({reply.told})",
    }
    return Finding(
        name=PARAMETER + name,
        level="warning" if wanted else ("ok" if effect == "honoured" else "note"),
        value=effect,
        text=told[effect],
        hint="the config sends it" if wanted else "",
    )


def _piece(plain: Reply) -> dict[str, Any]:
    """Stop at the second half of what the model says anyway, whatever that is."""
    text = plain.completion.text.strip() if plain.completion else ""
    return {"stop": [text[len(text) // 2 :] or "\n"]}


def _stopped(plain: Reply, reply: Reply) -> Effect:
    stop = _piece(plain)["stop"][0]
    assert reply.completion
    if not stop.strip() or _cut_short(reply):
        return "unclear"
    return "ignored" if stop in reply.completion.text else "honoured"


def _cut_short(reply: Reply) -> bool:
    """Nothing was said, because there was no room after the thoughts."""
    return reply.completion is not None and not reply.completion.text and reply.completion.finish_reason == "length"


def _cut(plain: Reply, reply: Reply) -> Effect:
    """One token was allowed where the plain reply took more (an end token counts as one)."""
    assert plain.completion
    assert reply.completion
    if reply.completion.finish_reason == "length":
        return "honoured"
    if (plain.completion.completion_tokens or 0) < 2:
        return "unclear"
    return "ignored" if reply.completion.text.strip() == plain.completion.text.strip() else "honoured"


def _chosen(plain: Reply, reply: Reply) -> Effect:
    assert reply.completion
    if _cut_short(reply):
        return "unclear"
    return "honoured" if reply.completion.text.strip() in UNLIKELY else "ignored"


def _in_json(plain: Reply, reply: Reply) -> Effect:
    assert reply.completion
    if _cut_short(reply):
        return "unclear"
    return "honoured" if reply.completion.text.lstrip().startswith("{") else "ignored"


def _other_prompt(plain: Reply, reply: Reply) -> Effect:
    return "unclear" if None in (plain.prompt_tokens, reply.prompt_tokens) or _as_long(plain, reply) else "honoured"


def _other_picture(plain: Reply, reply: Reply) -> Effect:
    if None in (plain.prompt_tokens, reply.prompt_tokens):
        return "unclear"
    return "ignored" if _as_long(plain, reply) else "honoured"


def _as_long(plain: Reply, reply: Reply) -> bool:
    return plain.prompt_tokens == reply.prompt_tokens


def alternatives(reply: Reply) -> int | None:
    """How many logprobs stand beside that of the first token; None where there are no logprobs at all."""
    logprobs = reply.choices[0].get("logprobs") if reply.choices else None
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(tokens, list) or not tokens or not isinstance(tokens[0], dict):
        return None
    return len(tokens[0].get("top_logprobs") or ())


def _named_tokens(plain: Reply, reply: Reply) -> Effect:
    """Two tokens were named; the sampled one may stand beside them, and no more."""
    return "honoured" if alternatives(reply) in (2, 3) else "ignored"


def _always(fields: dict[str, Any]) -> Callable[[Reply], dict[str, Any]]:
    return lambda plain: fields


def _holds(test: Callable[[Reply], bool]) -> Callable[[Reply, Reply], Effect]:
    return lambda plain, reply: "honoured" if test(reply) else "ignored"


SWITCHES = ("chat_template_kwargs", "enable_thinking")
"""Two names for a variable of the chat template: one of them is vLLM's, the other mlx-vlm's."""
_TEMPLATE = {"enable_thinking": True, "thinking": True, "add_vision_id": True}
"""Variables of common templates that change the prompt's length; a template takes those that it knows."""
_JSON = {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}}
_LOGPROBS = {"logprobs": True, "max_tokens": 2}

PARAMETERS: tuple[Parameter, ...] = tuple(
    Parameter(name=name, fields=fields if callable(fields) else _always(fields), effect=effect)
    for name, fields, effect in (
        ("max_tokens", {"max_tokens": 1}, _cut),
        ("max_completion_tokens", {"max_tokens": None, "max_completion_tokens": 1}, _cut),
        ("stop", _piece, _stopped),
        ("n", {"n": 2, "temperature": 1.0}, _holds(lambda reply: len(reply.choices) == 2)),
        ("structured_outputs", {"structured_outputs": {"choice": UNLIKELY}}, _chosen),
        ("guided_choice", {"guided_choice": UNLIKELY}, _chosen),
        ("response_format", {"response_format": _JSON}, _in_json),
        ("chat_template_kwargs", {"chat_template_kwargs": _TEMPLATE}, _other_prompt),
        ("enable_thinking", {"enable_thinking": True}, _other_prompt),
        ("mm_processor_kwargs", {"mm_processor_kwargs": {"max_pixels": 56 * 56}}, _other_picture),
        ("logprobs", _LOGPROBS, _holds(lambda reply: alternatives(reply) is not None)),
        (
            "top_logprobs",
            {**_LOGPROBS, "top_logprobs": ALTERNATIVES},
            _holds(lambda reply: (alternatives(reply) or 0) >= ALTERNATIVES),
        ),
        ("logprob_token_ids", {**_LOGPROBS, "logprob_token_ids": [5, 6]}, _named_tokens),
        ("an unknown field", {"no_such_parameter": 1}, _holds(lambda reply: False)),
    )
)
