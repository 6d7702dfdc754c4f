"""A request as a line of a batch's file, and a line of its results as the reply; no files, no network."""

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from vqa_client.client.body import Body
from vqa_client.client.failures import Verdict, codes_of, error_message, excerpt
from vqa_client.client.wire import NotACompletion, read_reply
from vqa_client.types import Completion, Image, Question, Request

URL: Final = "/v1/chat/completions"
LATE = frozenset({"batch_expired", "batch_cancelled"})
"""Codes of requests that were not tried, and are not charged."""
_KEY_CHARACTERS = 17
_MIDDLE = b'","method":"POST","url":"%b","body":' % URL.encode()
_NULL = b"null"


class Unasked(Exception):
    """A question without a usable result: the batch ended first, or the question has changed. No record is kept."""


def key_of(question: Question) -> str:
    """How the custom ids of a question begin, whatever it is asked."""
    return f"v{_digest((question.id, question.variant))}"


def key_in(custom_id: str) -> str:
    """The key of the question that a custom id is of."""
    return custom_id[:_KEY_CHARACTERS]


def run_digest(identity: dict[str, Any]) -> str:
    """What `custom_id` needs of a run's identity."""
    return _digest(msgspec.json.encode(identity, order="sorted"))


def custom_id(question: Question, request: Request, run: str) -> str:
    """The same for the same question, request and run, wherever it is made: 33 characters of [a-z0-9]."""
    asked = {name: value for name, value in msgspec.structs.asdict(request).items() if name != "document"}
    return key_of(question) + _digest((run, _with_digests(asked)))


def _with_digests(value: Any) -> Any:
    """A request's content, with digests in place of images."""
    if isinstance(value, Image):
        return "image", value.sha256
    if isinstance(value, Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, dict):
        return [(name, _with_digests(inner)) for name, inner in sorted(value.items())]
    return [_with_digests(inner) for inner in value] if isinstance(value, tuple | list) else value


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def line_pieces(custom_id: str, body: Body) -> Iterator[bytes]:
    """A line of a batch's file, with images encoded as they are read; raises QuestionFailed as `Body.pieces`."""
    yield b'{"custom_id":"' + custom_id.encode() + _MIDDLE
    yield from body.pieces()
    yield b"}\n"


def line_bytes(custom_id: str, body: Body) -> int:
    """The length of that line, known before any image is read."""
    return body.size_bytes + len(custom_id) + len(_MIDDLE) + len(b'{"custom_id":"}\n')


class _Response(Struct):
    status_code: int | None = None
    body: Raw = Raw(_NULL)


class Result(Struct):
    """A line of a batch's results."""

    custom_id: str
    response: _Response | None = None
    error: Raw = Raw(_NULL)

    @property
    def answered(self) -> bool:
        """Whether the server counts it as an answer."""
        return self.response is not None and self.response.status_code == 200 and bytes(self.error) == _NULL


read_result = msgspec.json.Decoder(Result).decode


def reply_of(result: Result, size_bytes: int) -> Completion:
    """The reply in a result, whether the status or the error says what it is.

    Raises NotACompletion for a refusal, Unasked where the request was not tried. `size_bytes` is of its body.
    """
    error, response = bytes(result.error), result.response
    if response is None or response.status_code is None:
        codes = codes_of(error)
        if LATE.intersection(codes):
            raise Unasked(codes[0])
        if "request_timeout" in codes:
            raise NotACompletion(error_message(error), Verdict("timeout", retry=True), excerpt(error))
        return _reply(200, b'{"error":' + error + b"}", size_bytes)
    body = bytes(response.body)
    if response.status_code == 200 and error != _NULL:
        return _reply(200, b'{"error":' + error + b"}", size_bytes)
    return _reply(response.status_code, error if body == _NULL else body, size_bytes)


def _reply(http_status: int, body: bytes, size_bytes: int) -> Completion:
    try:
        return read_reply(http_status, "application/json", body, size_bytes)
    except NotACompletion as refused:
        refused.http_status = http_status
        raise
