"""Words for replies: answers, errors, and replies that only look like one."""

import json
from collections.abc import Callable, Mapping
from email.utils import formatdate
from time import time
from typing import Any

from tests.fakes.completions import COUNTED, Mark, Usage, completion
from tests.fakes.dialects import KINDS, refusal
from tests.fakes.received import Received
from tests.fakes.script import Choose, Reply, Script, json_reply
from tests.fakes.shapes import HTML_TYPE, JSON_TYPE, Fault, page, shaped
from tests.fakes.wire_form import Header

Text = str | None | Callable[[Received], str | None]


def answer(
    text: Text = "B",
    *,
    reasoning: str | None = None,
    finish_reason: str | Mark | None = "stop",
    usage: Usage = COUNTED,
    message: Mapping[str, Any] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Callable[[Received], Reply]:
    """A completion in the shape of the server's kind.

    `text` may be a function of the request; `usage` a block, None, ABSENT, COUNTED or a function of the request;
    `message` and `extra` add or replace fields of the message and of the whole reply (ABSENT removes one of `extra`).
    """

    def reply(received: Received) -> Reply:
        said = text(received) if callable(text) else text
        return json_reply(
            completion(
                received,
                said,
                reasoning=reasoning,
                finish_reason=finish_reason,
                usage=usage,
                message=message or {},
                extra=extra or {},
            )
        )

    return reply


def error(
    status: int,
    message: str = "something went wrong",
    *,
    shape: str | None = None,
    type: str = "BadRequestError",
    param: str | None = None,
    code: str | None = None,
    headers: tuple[Header, ...] = (),
) -> Choose:
    """An error in one of `shapes.SHAPES`; without a shape, in that of the server's kind."""

    def reply(received: Received) -> Reply:
        own = shape or KINDS[received.kind].shape
        fault = Fault(status=status, message=message, type=type, param=param, code=code, shape=own)
        return shaped(fault, headers)

    return reply


def retry_after(
    status: int = 429,
    value: str | None = None,
    *,
    ms: int | None = None,
    date_in_s: float | None = None,
    message: str = "Too many requests",
) -> Choose:
    """An error that says when to try again: Retry-After as given or as a date, or retry-after-ms."""

    def reply(received: Received) -> Script:
        hints = {
            "retry-after": value if date_in_s is None else formatdate(time() + date_in_s, usegmt=True),
            "retry-after-ms": None if ms is None else str(ms),
        }
        headers = tuple((name, hint) for name, hint in hints.items() if hint is not None)
        return error(status, message, type="RateLimitError", headers=headers)

    return reply


def http_200_error(code: int = 429, message: str = "Provider returned error") -> Reply:
    """An upstream's error in the body of a success."""
    return json_reply({"choices": None, "error": {"message": message, "code": code}})


def html(status: int = 502, title: str = "502 Bad Gateway", *, content_type: str = HTML_TYPE) -> Reply:
    """A proxy's page, also under another content type."""
    return Reply(status=status, body=page(title).encode(), headers=(("content-type", content_type),))


def empty_body(status: int = 200) -> Reply:
    """No body instead of JSON."""
    return Reply(status=status, headers=(("content-type", JSON_TYPE),))


def body_of(data: bytes, status: int = 200, *, content_type: str = JSON_TYPE) -> Reply:
    """A body of exactly these bytes."""
    return Reply(status=status, body=data, headers=(("content-type", content_type),))


def redirect(location: str, status: int = 307) -> Reply:
    """A redirection."""
    return Reply(status=status, headers=(("location", location),))


def bad_image(message: str | None = None) -> Choose:
    """The kind's reply to an undecodable image, or `message` with the data URL for {url}; mlx-vlm echoes that too."""

    def reply(received: Received) -> Reply:
        url = next((image.url for image in received.images), "")
        return refusal(received.kind, "bad_image", message=message, url=url)

    return reply


def engine_dead() -> Choose:
    """A server whose engine died but not its front end: /health and /v1/models still answer."""
    return lambda received: refusal(received.kind, "engine_dead")


def busy() -> Choose:
    """The kind's reply if its queue is full, without a time to try again."""
    return lambda received: refusal(received.kind, "busy")


def echo_authorization_in_400() -> Choose:
    """An error that repeats the caller's credentials."""

    def reply(received: Received) -> Script:
        headers = json.dumps(dict(received.headers))
        return error(400, f"bad credentials {received.headers.get('authorization')!r} in {headers}")

    return reply
