"""Words that come before a script and check every request, including probes such as GET /v1/models."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Any

from tests.fakes.actions import Drain, End
from tests.fakes.completions import prompt_tokens
from tests.fakes.dialects import refusal
from tests.fakes.received import Received
from tests.fakes.replies import error
from tests.fakes.script import Script
from tests.fakes.wire_faults import connection_close


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadRule:
    """The treatment of a body while it arrives: it is read at `bytes_per_s`, and no further than `limit_bytes`."""

    limit_bytes: int | None = None
    script: Script = ()
    times: int | None = None
    bytes_per_s: float | None = None
    given_up: list[int] = field(default_factory=list)

    def gives_up(self, received: Received) -> bool:
        """Whether enough was read of a body that is too large."""
        if self.limit_bytes is None or (self.times is not None and len(self.given_up) >= self.times):
            return False
        too_large = (received.declared_bytes or received.size_bytes) > self.limit_bytes
        if too_large and received.size_bytes >= self.limit_bytes:
            self.given_up.append(received.number)
            return True
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRule:
    """A script that may refuse any request (`refuses` gives the script) before `then` sees the chats.

    `chat_paths` replaces the paths at which the server takes chats; `upload` is asked while a body comes in.
    """

    refuses: Callable[[Received], Script | None] = lambda received: None
    then: Script = ()
    chat_paths: tuple[str, ...] = ()
    upload: UploadRule | None = None

    def __call__(self, received: Received) -> Script:
        """Refuse the request or run `then`, for a rule inside another script."""
        verdict = self.refuses(received)
        return self.then if verdict is None else verdict


def only_path(*paths: str, then: Script = ()) -> RequestRule:
    """Accept chats only at these paths; /models is beside them, everything else is 404."""
    return RequestRule(chat_paths=paths, then=then)


def at_path(path: str, script: Script, then: Script = ()) -> RequestRule:
    """A script for one path, such as /v1/models or /health."""
    return RequestRule(refuses=lambda received: script if received.route == path else None, then=then)


def every_request(script: Script, then: Script = (), *, times: int | None = None) -> RequestRule:
    """A script for every request, or the first `times` of them."""
    turns = count()
    return RequestRule(refuses=lambda _: script if times is None or next(turns) < times else None, then=then)


def loading_for(seconds: float, then: Script = ()) -> RequestRule:
    """503 to everything until `seconds` after the first request, as while a model loads."""
    first_s: list[float] = []

    def refuses(received: Received) -> Script | None:
        first_s.append(monotonic())
        return refusal(received.kind, "loading") if monotonic() - first_s[0] < seconds else None

    return RequestRule(refuses=refuses, then=then)


def require_key(key: str, then: Script = ()) -> RequestRule:
    """401 without `Authorization: Bearer KEY`; vLLM and llama.cpp leave /health open, mlx-vlm doesn't."""

    def refuses(received: Received) -> Script | None:
        is_open = received.route == "/health" and received.kind != "mlx-vlm"
        if is_open or received.headers.get("authorization") == f"Bearer {key}":
            return None
        headers = (("www-authenticate", "Bearer"),) if received.kind == "mlx-vlm" else ()
        return refusal(received.kind, "wrong_key", headers=headers)

    return RequestRule(refuses=refuses, then=then)


def only_model(name: str, then: Script = ()) -> RequestRule:
    """Refuse chats that ask for another model."""

    def refuses(received: Received) -> Script | None:
        asked = _field(received, "model")
        wrong = received.is_chat and asked != name
        return refusal(received.kind, "unknown_model", model=asked, served=name) if wrong else None

    return RequestRule(refuses=refuses, then=then)


def unsupported_parameter(
    name: str = "max_tokens", *, use: str = "max_completion_tokens", then: Script = ()
) -> RequestRule:
    """400 if the request has that field, with the advice to use another."""
    message = f"Unsupported parameter: '{name}' is not supported with this model. Use '{use}' instead."
    script = error(400, message, shape="openai", type="invalid_request_error", param=name, code="unsupported_parameter")
    return RequestRule(refuses=lambda received: script if _has(received, name) else None, then=then)


def only_fields(*names: str, then: Script = ()) -> RequestRule:
    """422 if the request has a field that isn't one of these."""

    def refuses(received: Received) -> Script | None:
        extra = sorted(set(received.json or ()) - set(names)) if received.is_chat else []
        message = "Extra inputs are not permitted"
        return error(422, message, shape="detail_list", param=extra[0]) if extra else None

    return RequestRule(refuses=refuses, then=then)


def context_limit(tokens: int, then: Script = ()) -> RequestRule:
    """Refuse prompts of more tokens, counted as in `completions.prompt_tokens`, in the kind's words."""

    def refuses(received: Received) -> Script | None:
        asked = prompt_tokens(received)
        too_long = received.is_chat and asked > tokens
        return refusal(received.kind, "too_long", limit=tokens, tokens=asked) if too_long else None

    return RequestRule(refuses=refuses, then=then)


def image_limit(n: int, then: Script = ()) -> RequestRule:
    """Refuse more images than `n`, in the kind's words."""
    return RequestRule(
        refuses=lambda received: (
            refusal(received.kind, "too_many_images", limit=n) if len(received.images) > n else None
        ),
        then=then,
    )


def max_body(limit_bytes: int, script: Script | None = None, then: Script = ()) -> RequestRule:
    """Larger bodies are read to the end and get `script`, by default a gateway's 413 page."""
    refused = script or error(413, "413 Request Entity Too Large", shape="html")
    return RequestRule(refuses=lambda received: refused if received.size_bytes > limit_bytes else None, then=then)


def while_uploading(limit_bytes: int, script: Script, then: Script = (), *, times: int | None = None) -> RequestRule:
    """Do `script` once `limit_bytes` of a larger body are read, without reading the rest."""
    return RequestRule(upload=UploadRule(limit_bytes=limit_bytes, script=script, times=times), then=then)


def early_413_while_uploading(
    limit_bytes: int, then: Script = (), *, times: int | None = None, reads_on: bool = True
) -> RequestRule:
    """413 in the middle of the upload; with `reads_on` the rest is read and dropped, else the connection is reset."""
    refused = error(413, "413 Request Entity Too Large", shape="html")
    last = Drain(5.0) if reads_on else End("reset")
    return while_uploading(limit_bytes, (connection_close(), refused, last), then, times=times)


def slow_reading(bytes_per_s: float, then: Script = ()) -> RequestRule:
    """Read bodies no faster than that; a small `receive_buffer_bytes` of the server slows the client sooner."""
    return RequestRule(upload=UploadRule(bytes_per_s=bytes_per_s), then=then)


def beyond_in_flight(n: int, script: Script, then: Script = ()) -> RequestRule:
    """Do `script` with a chat that comes while `n` or more others are in flight."""
    return RequestRule(
        refuses=lambda received: script if received.is_chat and received.in_flight > n else None, then=then
    )


def _field(received: Received, name: str) -> Any:
    return received.json.get(name) if isinstance(received.json, dict) else None


def _has(received: Received, name: str) -> bool:
    return isinstance(received.json, dict) and name in received.json
