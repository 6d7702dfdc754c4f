"""Request fields that servers take and may ignore: each is sent where ignoring it shows in the reply."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from vqa_client.client.probing.asks import Ask, Reply
from vqa_client.client.probing.findings import PARAMETER, Finding
from vqa_client.client.probing.sight import colour_asks

Effect = Literal["honoured", "ignored", "refused", "unclear"]
UNLIKELY = ("zebra", "quartz")
"""What no model says of a red square by itself."""
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": list(UNLIKELY)}},
    "required": ["answer"],
    "additionalProperties": False,
}
SHORT = 32
"""Tokens of a reply here: models that think are cut, and most of what they would show stays unclear."""


Fields: TypeAlias = dict[str, Any]
Judge: TypeAlias = Callable[[Reply, Reply, Fields], Effect]
"""From the plain reply, the one with the fields, and the fields, to what was made of them."""


class Parameter(Struct, frozen=True, kw_only=True):
    """A field of a request: what is sent after the plain question was answered, and who judges the reply to that."""

    name: str
    fields: Callable[[Reply], Fields]
    judge: Judge


def asked_with(parameter: Parameter, plain: Reply) -> Ask:
    """The plain question with the parameter's fields."""
    question, _ = colour_asks()
    return msgspec.structs.replace(question, fields={"max_tokens": SHORT, **parameter.fields(plain)})


def effect_of(parameter: Parameter, plain: Reply, reply: Reply, fields: Fields | None = None) -> Effect:
    """What the server made of the parameter, or of other `fields` of the same kind."""
    if reply.completion is None:
        return "refused" if reply.http_status else "unclear"
    return parameter.judge(plain, reply, parameter.fields(plain) if fields is None else fields)


def found_parameters(replies: Mapping[str, Reply], plain: Reply, config_fields: frozenset[str]) -> list[Finding]:
    """A finding for each reply, by the parameter's name; `config_fields` are those that the model's config sends."""
    effects = {row.name: effect_of(row, plain, replies[row.name]) for row in PARAMETERS.values() if row.name in replies}
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
        "unclear": "no effect seen" if reply.completion is not None else f"not reported ({reply.told})",
    }
    return Finding(
        name=PARAMETER + name,
        level="warning" if wanted else ("ok" if effect == "honoured" else "note"),
        value=effect,
        text=told[effect],
        hint="the config sends it" if wanted else "",
    )


def _second_half(plain: Reply) -> Fields:
    """Stop at the second half of what the model says anyway, whatever that is."""
    text = _said(plain).strip()
    return {"stop": [text[len(text) // 2 :] or "\n"]}


def _stopped(plain: Reply, reply: Reply, fields: Fields) -> Effect:
    (stop,) = fields["stop"]
    if stop not in _said(plain) or _cut_in_thought(reply):
        return "unclear"
    return "ignored" if stop in _said(reply) else "honoured"


def _cut(plain: Reply, reply: Reply, fields: Fields) -> Effect:
    """Fewer tokens were allowed than the plain reply took."""
    if reply.completion and reply.completion.finish_reason == "length":
        return "honoured"
    allowed = fields.get("max_completion_tokens") or fields["max_tokens"]
    if plain.completion is None or (plain.completion.completion_tokens or 0) <= allowed:
        return "unclear"
    return "ignored" if _said(reply).strip() == _said(plain).strip() else "honoured"


def _several(plain: Reply, reply: Reply, fields: Fields) -> Effect:
    return "honoured" if len(reply.choices) == fields["n"] else "ignored"


def _chosen(plain: Reply, reply: Reply, fields: Fields) -> Effect:
    choices = fields.get("guided_choice") or fields["structured_outputs"]["choice"]
    if _cut_in_thought(reply):
        return "unclear"
    return "honoured" if _said(reply).strip() in choices else "ignored"


def _in_json(plain: Reply, reply: Reply, fields: Fields) -> Effect:
    if _cut_in_thought(reply):
        return "unclear"
    return "honoured" if _said(reply).lstrip().startswith("{") else "ignored"


def _other_prompt(plain: Reply, reply: Reply, fields: Fields) -> Effect:
    """A template that has none of these variables is no less honoured."""
    return "honoured" if _other_length(plain, reply) else "unclear"


def _other_picture(plain: Reply, reply: Reply, fields: Fields) -> Effect:
    if None in (plain.prompt_tokens, reply.prompt_tokens):
        return "unclear"
    return "honoured" if _other_length(plain, reply) else "ignored"


def _told_logprobs(plain: Reply, reply: Reply, fields: Fields) -> Effect:
    """As many alternatives as were asked for, or with none asked for any logprobs at all."""
    told = alternatives(reply)
    return "honoured" if told is not None and told >= fields.get("top_logprobs", 0) else "ignored"


def _named_tokens(plain: Reply, reply: Reply, fields: Fields) -> Effect:
    """The named tokens and at most the sampled one: a server that ignores them tells none or its usual number."""
    named = len(fields["logprob_token_ids"])
    return "honoured" if alternatives(reply) in (named, named + 1) else "ignored"


def _taken(plain: Reply, reply: Reply, fields: Fields) -> Effect:
    return "ignored"


def _said(reply: Reply) -> str:
    """The answer alone, without thoughts."""
    return reply.completion.text if reply.completion else ""


def _cut_in_thought(reply: Reply) -> bool:
    """Nothing was said, because there was no room after the thoughts."""
    return reply.completion is not None and not _said(reply) and reply.completion.finish_reason == "length"


def _other_length(plain: Reply, reply: Reply) -> bool:
    return None not in (plain.prompt_tokens, reply.prompt_tokens) and plain.prompt_tokens != reply.prompt_tokens


def alternatives(reply: Reply) -> int | None:
    """How many logprobs stand beside that of the first token; None where there are no logprobs at all."""
    logprobs = reply.choices[0].get("logprobs") if reply.choices else None
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(tokens, list) or not tokens or not isinstance(tokens[0], dict):
        return None
    return len(tokens[0].get("top_logprobs") or ())


def _always(fields: Fields) -> Callable[[Reply], Fields]:
    return lambda plain: fields


SWITCHES = ("chat_template_kwargs", "enable_thinking")
"""Two names for a variable of the chat template: one of them is vLLM's, the other mlx-vlm's."""
_TEMPLATE = {"enable_thinking": True, "thinking": True, "add_vision_id": True}
"""Variables of common templates that change the prompt's length; a template takes those that it knows."""
_JSON = {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}}
_LOGPROBS = {"logprobs": True, "max_tokens": 2}

_ROWS: tuple[tuple[str, Fields | Callable[[Reply], Fields], Judge], ...] = (
    ("max_tokens", {"max_tokens": 1}, _cut),
    ("max_completion_tokens", {"max_tokens": None, "max_completion_tokens": 1}, _cut),
    ("stop", _second_half, _stopped),
    ("n", {"n": 2, "temperature": 1.0}, _several),
    ("structured_outputs", {"structured_outputs": {"choice": UNLIKELY}}, _chosen),
    ("guided_choice", {"guided_choice": UNLIKELY}, _chosen),
    ("response_format", {"response_format": _JSON}, _in_json),
    ("chat_template_kwargs", {"chat_template_kwargs": _TEMPLATE}, _other_prompt),
    ("enable_thinking", {"enable_thinking": True}, _other_prompt),
    ("mm_processor_kwargs", {"mm_processor_kwargs": {"max_pixels": 56 * 56}}, _other_picture),
    ("logprobs", _LOGPROBS, _told_logprobs),
    ("top_logprobs", {**_LOGPROBS, "top_logprobs": 5}, _told_logprobs),
    ("logprob_token_ids", {**_LOGPROBS, "logprob_token_ids": [5, 6]}, _named_tokens),
    ("an unknown field", {"no_such_parameter": 1}, _taken),
)
PARAMETERS: dict[str, Parameter] = {
    name: Parameter(name=name, fields=fields if callable(fields) else _always(fields), judge=judge)
    for name, fields, judge in _ROWS
}
