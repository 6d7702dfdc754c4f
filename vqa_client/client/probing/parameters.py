"""Whether a server honours request fields, counts tokens, separates reasoning, and knows images by a uuid.

Each field is sent with a value whose effect shows in the reply.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from vqa_client.client.probing.asks import Ask, ProbeImage, ProbeReply, draw_square
from vqa_client.client.probing.findings import PARAMETER, PROMPT, SHOWN, Finding, colour_asks
from vqa_client.client.wire import first_reported

Effect = Literal["honoured", "ignored", "refused", "unclear"]
UNLIKELY = ("zebra", "quartz")
"""Words that no model says of a red square."""
SHORT = 32
"""The token limit of a reply; models that think are cut off, which leaves most fields unclear."""


Fields: TypeAlias = dict[str, Any]
Judge: TypeAlias = Callable[[ProbeReply, ProbeReply, Fields], bool | None]
"""Takes the plain reply, the reply to the fields, and the fields; says whether they were honoured, None if unclear."""
_EFFECTS: dict[bool | None, Effect] = {True: "honoured", False: "ignored", None: "unclear"}


class Parameter(Struct, frozen=True):
    """A request field: the fields to send after the plain question was answered, and the judge of the reply."""

    name: str
    fields: Fields | Callable[[ProbeReply], Fields]
    judge: Judge

    def sent(self, plain: ProbeReply) -> Fields:
        """The fields, which may depend on the plain reply."""
        return self.fields(plain) if callable(self.fields) else self.fields


def ask_with(parameter: Parameter, plain: ProbeReply) -> Ask:
    """The plain question with the parameter's fields."""
    question, _ = colour_asks()
    return msgspec.structs.replace(question, fields={"max_tokens": SHORT, **parameter.sent(plain)})


def effect_of(parameter: Parameter, plain: ProbeReply, reply: ProbeReply, fields: Fields | None = None) -> Effect:
    """What the server did with the parameter, or with other `fields` of the same kind."""
    if reply.completion is None:
        return "refused" if reply.http_status else "unclear"
    return _EFFECTS[parameter.judge(plain, reply, parameter.sent(plain) if fields is None else fields)]


def parameter_findings(
    replies: Mapping[str, ProbeReply], plain: ProbeReply, config_fields: frozenset[str]
) -> list[Finding]:
    """A finding per parameter from the replies by its name; `config_fields` are the fields that the config sends."""
    effects = {row.name: effect_of(row, plain, replies[row.name]) for row in PARAMETERS.values() if row.name in replies}
    for switch, other in (SWITCHES, SWITCHES[::-1]):
        if effects.get(switch) == "honoured" and effects.get(other) == "unclear":
            effects[other] = "ignored"  # the template has the switch, but not under this name
    return [_finding(name, effect, replies[name], config_fields) for name, effect in effects.items()]


def _finding(name: str, effect: Effect, reply: ProbeReply, config_fields: frozenset[str]) -> Finding:
    is_needed = name in config_fields and effect in ("ignored", "refused")
    texts = {
        "honoured": "honoured",
        "ignored": "accepted, and ignored",
        "refused": f"refused ({reply.error})",
        "unclear": "no effect seen" if reply.completion is not None else f"not reported ({reply.error})",
    }
    return Finding(
        name=PARAMETER + name,
        level="warning" if is_needed else ("ok" if effect == "honoured" else "note"),
        value=effect,
        text=texts[effect],
        hint="the config sends it" if is_needed else "",
    )


def _second_half(plain: ProbeReply) -> Fields:
    """Stop at the second half of the plain answer."""
    text = _answer_of(plain).strip()
    return {"stop": [text[len(text) // 2 :] or "\n"]}


def _stops(plain: ProbeReply, reply: ProbeReply, fields: Fields) -> bool | None:
    (stop,) = fields["stop"]
    if stop not in _answer_of(plain) or _cut_in_thought(reply):
        return None
    return stop not in _answer_of(reply)


def _is_shorter(plain: ProbeReply, reply: ProbeReply, fields: Fields) -> bool | None:
    """Whether the limit of tokens shortened the reply; None if the plain reply is within the limit too."""
    if reply.completion and reply.completion.finish_reason == "length":
        return True
    allowed = fields.get("max_completion_tokens") or fields["max_tokens"]
    if plain.completion is None or (plain.completion.completion_tokens or 0) <= allowed:
        return None
    return _answer_of(reply).strip() != _answer_of(plain).strip()


def _has_count(plain: ProbeReply, reply: ProbeReply, fields: Fields) -> bool:
    return bool(len(reply.choices) == fields["n"])


def _is_choice(plain: ProbeReply, reply: ProbeReply, fields: Fields) -> bool | None:
    choices = fields.get("guided_choice") or fields["structured_outputs"]["choice"]
    return None if _cut_in_thought(reply) else _answer_of(reply).strip() in choices


def _is_json(plain: ProbeReply, reply: ProbeReply, fields: Fields) -> bool | None:
    return None if _cut_in_thought(reply) else _answer_of(reply).lstrip().startswith("{")


def _changes_prompt(plain: ProbeReply, reply: ProbeReply, fields: Fields) -> bool | None:
    """Whether the prompt has another number of tokens; None if the server counts none."""
    counts = plain.prompt_tokens, reply.prompt_tokens
    return None if None in counts else counts[0] != counts[1]


def _changes_template(plain: ProbeReply, reply: ProbeReply, fields: Fields) -> bool | None:
    """Unclear if the prompt stays the same: the template may have none of these variables."""
    return _changes_prompt(plain, reply, fields) or None


def _has_logprobs(plain: ProbeReply, reply: ProbeReply, fields: Fields) -> bool:
    """Whether there are logprobs, with as many alternatives as requested."""
    reported = alternatives(reply)
    return reported is not None and reported >= fields.get("top_logprobs", 0)


def _has_named_tokens(plain: ProbeReply, reply: ProbeReply, fields: Fields) -> bool:
    """Whether there are logprobs of the named tokens, and of at most one more, the sampled token."""
    named = len(fields["logprob_token_ids"])
    return alternatives(reply) in (named, named + 1)


def _answer_of(reply: ProbeReply) -> str:
    """The answer without the reasoning."""
    return reply.completion.text if reply.completion else ""


def _cut_in_thought(reply: ProbeReply) -> bool:
    """The answer is empty because the reasoning used up the tokens."""
    return reply.completion is not None and not _answer_of(reply) and reply.completion.finish_reason == "length"


def alternatives(reply: ProbeReply) -> int | None:
    """The number of alternatives to the first token with a logprob; None without logprobs."""
    token = first_reported(reply.choices[0].get("logprobs")) if reply.choices else None
    return None if token is None else len(token.get("top_logprobs") or ())


def answer_in_json(name: str, texts: Sequence[str]) -> Fields:
    """A response_format: an object whose answer is one of these texts."""
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": list(texts)}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": True}}


SWITCHES = ("chat_template_kwargs", "enable_thinking")
"""Two names for a variable of the chat template: vLLM's and mlx-vlm's."""
_TEMPLATE = {"enable_thinking": True, "thinking": True, "add_vision_id": True}
"""Variables of common templates that change the prompt's length; a template uses those that it knows."""
_LOGPROBS = {"logprobs": True, "max_tokens": 2}

_ROWS = (
    Parameter("max_tokens", {"max_tokens": 1}, _is_shorter),
    Parameter("max_completion_tokens", {"max_tokens": None, "max_completion_tokens": 1}, _is_shorter),
    Parameter("stop", _second_half, _stops),
    Parameter("n", {"n": 2, "temperature": 1.0}, _has_count),
    Parameter("structured_outputs", {"structured_outputs": {"choice": UNLIKELY}}, _is_choice),
    Parameter("guided_choice", {"guided_choice": UNLIKELY}, _is_choice),
    Parameter("response_format", {"response_format": answer_in_json("reply", UNLIKELY)}, _is_json),
    Parameter("chat_template_kwargs", {"chat_template_kwargs": _TEMPLATE}, _changes_template),
    Parameter("enable_thinking", {"enable_thinking": True}, _changes_template),
    Parameter("mm_processor_kwargs", {"mm_processor_kwargs": {"max_pixels": 56 * 56}}, _changes_prompt),
    Parameter("logprobs", _LOGPROBS, _has_logprobs),
    Parameter("top_logprobs", {**_LOGPROBS, "top_logprobs": 5}, _has_logprobs),
    Parameter("logprob_token_ids", {**_LOGPROBS, "logprob_token_ids": [5, 6]}, _has_named_tokens),
    Parameter("an unknown field", {"no_such_parameter": 1}, lambda *_: False),
)
PARAMETERS = {row.name: row for row in _ROWS}


REASONING_FIELDS = ("reasoning", "reasoning_content")
_MARKS = ("<think>", "</think>")


def uuid_asks() -> tuple[Ask, Ask]:
    """A picture with its bytes and a uuid, then the uuid alone; the uuid is the digest, so it can't be wrong."""
    png = draw_square(SHOWN[0])
    named = ProbeImage(png=png, uuid=sha256(png).hexdigest())
    unsent = ProbeImage(png=png, uuid=named.uuid, sent=False)
    return Ask(prompt=PROMPT, pictures=(named,)), Ask(prompt=PROMPT, pictures=(unsent,))


def uuid_finding(first: ProbeReply, again: ProbeReply) -> Finding:
    """Whether the server treated the request without the bytes as the one with them."""
    if first.completion is None:
        text = f"an image with a uuid is refused ({first.error})"
    elif again.completion is None and "cache miss" in again.refusal.lower():
        text = "known, but the server keeps no images"
    elif again.completion is None:
        text = f"images can't be named by uuid ({again.error})"
    elif again.prompt_tokens != first.prompt_tokens or again.text != first.text:
        text = "ignored: without its bytes an image is not seen"
    else:
        return Finding(name="uuid", value=True, text="an image sent once can be named by its uuid")
    return Finding(name="uuid", level="note", value=False, text=text)


def usage_finding(replies: Sequence[ProbeReply]) -> Finding:
    """Whether the server counts tokens."""
    if all(reply.prompt_tokens is not None for reply in replies):
        cached = any("cached_tokens" in _details(reply) for reply in replies)
        return Finding(name="usage", value=True, text="counted" + (", cached tokens too" if cached else ""))
    text = "the server counts no tokens, so they can't show a dropped image"
    return Finding(name="usage", level="note", value=False, text=text)


def _details(reply: ProbeReply) -> dict[str, object]:
    usage = reply.body.get("usage")
    details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
    return details if isinstance(details, dict) else {}


def reasoning_finding(replies: Sequence[ProbeReply]) -> Finding:
    """Where the model's reasoning is, if the replies have any."""
    for field in REASONING_FIELDS:
        if any(isinstance(reply.message.get(field), str) and reply.message[field] for reply in replies):
            return Finding(name="reasoning", value=field, text=f"in the field {field}")
    if any(mark in reply.text for reply in replies for mark in _MARKS):
        return Finding(
            name="reasoning",
            level="warning",
            value="text",
            text="thoughts come inside the answer's text",
            hint="start the server with its --reasoning-parser, so that they are separated",
        )
    return Finding(name="reasoning", text="none")
