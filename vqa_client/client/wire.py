"""Read a server's reply as a Completion or as a failure: HTTP 200 alone doesn't mean success."""

import math
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct

from vqa_client.client.failures import (
    FILTERING,
    GLITCH,
    Verdict,
    codes_of,
    error_message,
    excerpt,
    hidden_status,
    judge,
    lenient_json,
    words_of,
)
from vqa_client.errors import UNDECODABLE
from vqa_client.scoring.finish import is_blocked, is_cut, meaning_of
from vqa_client.types import Completion

FILTERED = "content_filter"
"""The finish reason of a reply that a content filter refused."""
_THINKS = re.compile("think|thought|reason", re.IGNORECASE)
"""Matches the type of a part that is reasoning."""


class _Message(Struct):
    content: Any = None
    reasoning: Any = None
    reasoning_content: Any = None
    reasoning_details: Any = None
    thinking: Any = None
    refusal: Any = None


class _Choice(Struct):
    message: _Message | None = None
    text: Any = None
    finish_reason: Any = None
    error: Any = None
    logprobs: Any = None


class _Reply(Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None
    object: Any = None
    model: Any = None


_NO_LOGPROB = 1e6
"""A logprob this far from 0 is invalid, as NaN and infinity are."""
_MOST_NESTED = 20
_MOST_TOKENS = 1e9
"""A larger count is invalid."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_decode = msgspec.json.Decoder(_Reply).decode


class NotACompletion(Exception):
    """The reply is not a completion; `message` is the server's, `verdict` is the outcome of the question.

    The caller of `read_reply` adds `http_status` and `headers`.
    """

    http_status = 0
    headers: Mapping[str, str] = MappingProxyType({})

    def __init__(self, message: str, verdict: Verdict, body: str) -> None:
        super().__init__(message)
        self.message = message
        self.verdict = verdict
        self.body = body


def read_reply(http_status: int, content_type: str, body: bytes, size_bytes: int = 0, location: str = "") -> Completion:
    """Read a reply to a chat request; raises NotACompletion if it is not a model's answer.

    A content filter's refusal is an answer, in every provider's form. `location` is the target of a redirection.
    """
    if not 200 <= http_status < 300:
        return _filtered(http_status, body, size_bytes, location)
    reply = _decode_leniently(content_type, body)
    choice = reply.choices[0] if reply.choices else None
    if reply.error or (choice and choice.error) or reply.object == "error":
        return _filtered(None, body, size_bytes)
    if choice is None or not (choice.message or _ended_before_a_word(choice)):
        return _without_message(content_type, body)
    return _completion(reply, choice, choice.message or _Message(), content_type, body)


def _ended_before_a_word(choice: _Choice) -> bool:
    """Whether the limit or a filter ended the reply before any text. A reply to a chat has no `text` field."""
    word = _word(choice.finish_reason)
    return choice.text is None and (is_cut(word) or is_blocked(word))


def _completion(reply: _Reply, choice: _Choice, message: _Message, content_type: str, body: bytes) -> Completion:
    text, thought, declined = _parts(message.content)
    fields = (message.reasoning, message.reasoning_content, message.reasoning_details, message.thinking)
    reasoning = next(filter(None, map(_text_of, filter(None, fields))), thought) or None
    finish = _word(choice.finish_reason)
    meaning = meaning_of(finish)
    if refusal := _text_of(message.refusal) or declined:
        text, finish = text or refusal, finish if meaning == "filtered" else "refusal"
    elif meaning == "cut":
        finish = "length"
    elif meaning == "exhausted":
        words = f"the server lacks the resources for a reply, finish_reason is {finish!r}"
        raise NotACompletion(words, Verdict("server_error", retry=True), excerpt(body))
    elif meaning == "broken" or (meaning == "called" and not text and not reasoning):
        raise _unreadable(f"no text in the reply, finish_reason is {finish!r}", content_type, body)
    usage = reply.usage if isinstance(reply.usage, dict) else {}
    return Completion(
        text=text,
        reasoning=reasoning,
        finish_reason=finish,
        first_token=None if choice.logprobs is None else _first_token(choice.logprobs),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        model=reply.model if isinstance(reply.model, str) else "",
    )


def _decode_leniently(content_type: str, body: bytes) -> _Reply:
    try:
        return _decode(body)
    except UNDECODABLE:
        pass
    try:
        return msgspec.convert(lenient_json(body), _Reply)
    except UNDECODABLE:
        raise _unreadable("the reply is not a chat completion", content_type, body) from None


def _filtered(http_status: int | None, body: bytes, size_bytes: int, location: str = "") -> Completion:
    """A filter's refusal; raises NotACompletion for other errors. For an error in an HTTP 200 `http_status` is None."""
    codes = codes_of(body)
    message = error_message(body)
    if location:
        message = f"redirected to {location}" + (f": {message}" if message else "")
    elif not message:
        message = f"HTTP {http_status} with an empty body"
    http_status = http_status or hidden_status(codes)
    verdict = judge(http_status, words_of(codes, message), size_bytes)
    if verdict.status == "refused" or (http_status in FILTERING and any(map(is_blocked, codes))):
        return Completion(text="", finish_reason=FILTERED)
    raise NotACompletion(message, verdict, excerpt(body))


def _without_message(content_type: str, body: bytes) -> Completion:
    """An HTTP 200 without a choice or a message; its code may show that it is an error."""
    codes = codes_of(body)
    refused = judge(200, words_of(codes, "")).status == "refused" or any(map(is_blocked, codes))
    if refused or hidden_status(codes) != 200:
        return _filtered(None, body, 0)
    raise _unreadable("no choices in the reply", content_type, body)


def _unreadable(reason: str, content_type: str, body: bytes) -> NotACompletion:
    message = f"{reason} (HTTP 200, {content_type or 'no content type'}): {error_message(body)!r}"
    return NotACompletion(message, GLITCH, excerpt(body))


def _word(finish_reason: Any) -> str | None:
    if isinstance(finish_reason, dict):
        finish_reason = finish_reason.get("type")
    return finish_reason if isinstance(finish_reason, str) and finish_reason else None


def _parts(content: Any) -> tuple[str, str, str]:
    """The text, the reasoning and the refusal in the parts of a message."""
    if not isinstance(content, list):
        return _text_of(content), "", ""
    texts: dict[str, list[str]] = {"text": [], "thought": [], "refusal": []}
    for part in content:
        fields = part if isinstance(part, dict) else {}
        of = str(fields.get("type"))
        thinks = fields.get("thought") is True or _THINKS.search(of)
        texts["thought" if thinks else "refusal" if of == "refusal" else "text"].append(_text_of(part))
    text, thought, refusal = ("".join(pieces) for pieces in texts.values())
    return text, thought, refusal


_TEXTS = ("text", "thinking", "reasoning", "reasoning_content", "summary", "refusal", "content", "value")
"""The fields of a part that may contain its text, or more parts."""


def _text_of(content: Any, depth: int = 0) -> str:
    if depth < _MOST_NESTED:
        if isinstance(content, dict):
            return _text_of(next((content[name] for name in _TEXTS if content.get(name)), ""), depth + 1)
        if isinstance(content, list):
            return "".join(_text_of(part, depth + 1) for part in content)
    if not isinstance(content, str):
        return ""
    return content if content.isascii() else _LONE_SURROGATE.sub("\ufffd", content)


def _first_token(logprobs: Any) -> dict[str, float] | None:
    """The logprob of each possible first token; tokens with the same text are added up.

    The sampled token is usually one of its own alternatives, and counts once.
    """
    token = first_reported(logprobs)
    if token is None:
        return None
    others, totals = token.get("top_logprobs"), dict[str, float]()
    for text, logprob in _logprobs(others if isinstance(others, list) else []):
        totals[text] = _logprob_of_either(totals[text], logprob) if text in totals else logprob
    for text, logprob in _logprobs([token]):
        totals.setdefault(text, logprob)
    return totals or None


def first_reported(logprobs: Any) -> dict[str, Any] | None:
    """The first token in a choice's logprobs, as the server reports it; None without logprobs."""
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    return tokens[0] if isinstance(tokens, list) and tokens and isinstance(tokens[0], dict) else None


def _logprobs(tokens: list[Any]) -> Iterator[tuple[str, float]]:
    for token in tokens:
        text, logprob = (token.get("token"), token.get("logprob")) if isinstance(token, dict) else (None, None)
        if isinstance(text, str) and isinstance(logprob, int | float) and abs(logprob) < _NO_LOGPROB:
            yield _text_of(text), min(0.0, logprob)


def _logprob_of_either(one: float, other: float) -> float:
    """The logprob of either of two tokens."""
    return min(0.0, max(one, other) + math.log1p(math.exp(-abs(one - other))))


def _count(value: Any) -> int | None:
    """A number of tokens; None if it can't be one."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if number and 0 <= value < _MOST_TOKENS else None
