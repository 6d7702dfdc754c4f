"""The requests and tokens that may be sent per minute, from --rpm, --tpm and the server's own headers."""

import asyncio
import math
import re
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from vqa_client.types import Completion, Image, Note, Request

BURST_S = 1.0
"""At most the unused allowance of this time may be sent at once: servers count in windows that short."""
BYTES_A_TOKEN = 4
PIXELS_A_TOKEN = 28 * 28
UNKNOWN_IMAGE_TOKENS = 1_000
REQUESTS, TOKENS = "requests", "tokens"
_LEFT = {name: f"x-ratelimit-remaining-{name}" for name in (REQUESTS, TOKENS)}
_SPAN = re.compile(r"([0-9.]+)(ms|s|m|h|d)")
_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST_S = 1e7
"""A larger number is a time of day, which some servers send instead of a span."""
SLOW_S = 30.0
"""A server's limit that lets one request through in a longer time is noted."""


class Bucket:
    """A token bucket, kept as the time since which it has been filling.

    A request may take more than is left and leaves the bucket in debt; the next request waits until the debt is paid.
    With `whole`, a request waits until its whole amount is there.
    """

    def __init__(self, a_second: float, *, whole: bool = False) -> None:
        self._a_second, self._burst_s, self._whole = a_second, BURST_S, whole
        self._free_s = -math.inf

    def take(self, amount: float) -> float:
        """Take an amount; returns the seconds to wait before sending."""
        now_s = time.monotonic()
        self._free_s = max(self._free_s, now_s - self._burst_s)
        debt_s = self._free_s - now_s
        self._free_s += amount / self._a_second
        return max(0.0, self._free_s - now_s if self._whole else debt_s)

    def correct(self, more: float) -> None:
        """Correct the amount taken by `more`, which is negative if it was too large."""
        self._free_s += more / self._a_second

    def set(self, left: float, limit: float, a_second: float) -> None:
        """Set how much is `left` of the `limit`, and how much comes back per second."""
        self._a_second, self._burst_s = a_second, limit / a_second
        self._free_s = time.monotonic() - left / a_second


class TokenEstimate(NamedTuple):
    """Tokens of a request: of its `prompt` by its length and pixels, and of `all` as far as it is known."""

    prompt: float
    all: float


UNKNOWN = TokenEstimate(0.0, 0.0)


class Allowance:
    """The buckets of all workers: those of the settings, and the server's as its headers describe them.

    A limit of the settings takes the place of the server's. `waiting` counts the workers that wait for a bucket; `note`
    gets what the user should know, once.
    """

    def __init__(self, rpm: float | None = None, tpm: float | None = None, note: Note = lambda text: None) -> None:
        self._given = {name: Bucket(limit / 60) for name, limit in ((REQUESTS, rpm), (TOKENS, tpm)) if limit}
        self._stated: dict[str, Bucket] = {}
        self._out = dict.fromkeys((REQUESTS, TOKENS), 0.0)
        self._replies = self._reply_tokens = 0
        self._prompt_tokens = self._estimated_prompts = 0.0
        self._note, self._noted = note, False
        self.waiting = 0

    async def enter(self, request: Request, max_tokens: int) -> TokenEstimate:
        """Wait until the request may be sent; returns its estimated tokens, for `leave`."""
        if not (self._given or self._stated):
            self._out[REQUESTS] += 1
            return UNKNOWN
        tokens = self._estimate(request, request.parameters.get("max_tokens", max_tokens))
        amounts = {REQUESTS: 1.0, TOKENS: tokens.all}
        buckets = [(name, bucket) for of in (self._given, self._stated) for name, bucket in of.items()]
        wait_s = max(bucket.take(amounts[name]) for name, bucket in buckets)
        for name, amount in amounts.items():
            self._out[name] += amount
        if wait_s:
            self.waiting += 1
            try:
                await asyncio.sleep(wait_s)
            except asyncio.CancelledError:
                self.leave(tokens, None)
                raise
            finally:
                self.waiting -= 1
        return tokens

    def leave(self, tokens: TokenEstimate, outcome: object) -> None:
        """End a request: replace its estimate by the tokens that the server counted."""
        self._out[REQUESTS] -= 1
        self._out[TOKENS] -= tokens.all
        if not isinstance(outcome, Completion) or outcome.prompt_tokens is None:
            return
        reply = outcome.completion_tokens or 0
        self._replies += 1
        self._reply_tokens += reply
        if tokens.prompt:
            self._estimated_prompts += tokens.prompt
            self._prompt_tokens += outcome.prompt_tokens
            if bucket := self._given.get(TOKENS):
                bucket.correct(outcome.prompt_tokens + reply - tokens.all)

    def read_headers(self, headers: Mapping[str, str]) -> None:
        """Set the server's buckets from a reply's x-ratelimit headers, less the requests in flight."""
        for name, header in _LEFT.items():
            if header not in headers or name in self._given:
                continue
            left, limit = number(headers[header]), number(headers.get(f"x-ratelimit-limit-{name}"))
            if left is None or not limit:
                continue
            reset_s = seconds(headers.get(f"x-ratelimit-reset-{name}", ""))
            a_second = (limit - left) / reset_s if reset_s and left < limit else limit / 60
            self._stated.setdefault(name, Bucket(a_second, whole=True)).set(left - self._out[name], limit, a_second)
            if name == REQUESTS and not self._noted and left < 1 and a_second * SLOW_S < 1:
                self._noted = True
                pace = f"one request in {1 / a_second:,.0f} s"
                self._note(f"the server's x-ratelimit headers allow {pace}; --rpm sets another pace")

    def _estimate(self, request: Request, max_tokens: int) -> TokenEstimate:
        """Tokens of prompt, images and reply, by what the server counted for earlier prompts and replies."""
        reply = min(self._reply_tokens / self._replies, max_tokens) if self._replies else max_tokens
        prompt = sum(map(_tokens, request.parts()))
        counted = self._prompt_tokens / self._estimated_prompts if self._estimated_prompts else 1.0
        return TokenEstimate(prompt, counted * prompt + reply)


def _tokens(part: str | Image) -> float:
    if isinstance(part, str):
        return len(part.encode("utf-8", "surrogatepass")) / BYTES_A_TOKEN
    return part.width * part.height / PIXELS_A_TOKEN or UNKNOWN_IMAGE_TOKENS


def seconds(text: str) -> float | None:
    """A time such as "6m0s" or "20ms", or a number of seconds; None for anything else, such as a time of day."""
    spans = _SPAN.findall(text)
    if spans and "".join(number + unit for number, unit in spans) == text:
        return sum(float(number) * _SECONDS[unit] for number, unit in spans if number.count(".") < 2)
    span_s = number(text)
    return span_s if span_s is not None and span_s < _LONGEST_S else None


def number(value: Any) -> float | None:
    """A finite number of at least 0, from text too; None for anything else."""
    try:
        value = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if 0 <= value < math.inf else None
