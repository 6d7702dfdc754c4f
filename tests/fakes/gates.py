"""Words that stand before a script and look at every request, probes such as GET /v1/models too."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Any

from tests.fakes.acts import Drain, End
from tests.fakes.completions import prompt_tokens
from tests.fakes.dialects import refusal
from tests.fakes.line import Play
from tests.fakes.manners import connection_close
from tests.fakes.received import Received
from tests.fakes.replies import error


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadRule:
    """What happens while a body is still coming: it is read at `bytes_per_s`, and given up after `limit_bytes`."""

    limit_bytes: int | None = None
    play: Play = ()
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
class Gate:
    """A script that may refuse any request (`refuses` gives the play) before `then` sees the chats.

    `chat_paths` replaces the paths at which the server takes chats; `upload` is asked while a body comes in.
    """

    refuses: Callable[[Received], Play | None] = lambda received: None
    then: Play = ()
    chat_paths: tuple[str, ...] = ()
    upload: UploadRule | None = None

    def __call__(self, received: Received) -> Play:
        """Refuse or go on; what a gate inside another script still does."""
        verdict = self.refuses(received)
        return self.then if verdict is None else verdict


def only_path(*paths: str, then: Play = ()) -> Gate:
    """Take chats at these paths alone; /models moves along, everything else is 404."""
    return Gate(chat_paths=paths, then=then)


def at(path: str, play: Play, then: Play = ()) -> Gate:
    """One path, such as /v1/models or /health, one way."""
    return Gate(refuses=lambda received: play if received.route == path else None, then=then)


def everywhere(play: Play, then: Play = (), *, times: int | None = None) -> Gate:
    """Every request one way, or the first `times` of them."""
    turns = count()
    return Gate(refuses=lambda _: play if times is None or next(turns) < times else None, then=then)


def loading_for(seconds: float, then: Play = ()) -> Gate:
    """503 to everything until `seconds` after the first request, as while a model loads."""
    first_s: list[float] = []

    def refuses(received: Received) -> Play | None:
        first_s.append(monotonic())
        return refusal(received.kind, "loading") if monotonic() - first_s[0] < seconds else None

    return Gate(refuses=refuses, then=then)


def require_key(key: str, then: Play = ()) -> Gate:
    """401 without `Authorization: Bearer KEY`; vLLM and llama.cpp leave /health open, mlx-vlm doesn't."""

    def refuses(received: Received) -> Play | None:
        is_open = received.route == "/health" and received.kind != "mlx-vlm"
        if is_open or received.headers.get("authorization") == f"Bearer {key}":
            return None
        headers = (("www-authenticate", "Bearer"),) if received.kind == "mlx-vlm" else ()
        return refusal(received.kind, "wrong_key", headers=headers)

    return Gate(refuses=refuses, then=then)


def only_model(name: str, then: Play = ()) -> Gate:
    """Refuse chats that ask for another model."""

    def refuses(received: Received) -> Play | None:
        asked = _field(received, "model")
        wrong = received.is_chat and asked != name
        return refusal(received.kind, "unknown_model", model=asked, served=name) if wrong else None

    return Gate(refuses=refuses, then=then)


def unsupported_parameter(name: str = "max_tokens", *, use: str = "max_completion_tokens", then: Play = ()) -> Gate:
    """400 where the request has that field, with the advice to use another."""
    message = f"Unsupported parameter: '{name}' is not supported with this model. Use '{use}' instead."
    play = error(400, message, shape="openai", type="invalid_request_error", param=name, code="unsupported_parameter")
    return Gate(refuses=lambda received: play if _has(received, name) else None, then=then)


def only_fields(*names: str, then: Play = ()) -> Gate:
    """422 where the request has a field that isn't one of these."""

    def refuses(received: Received) -> Play | None:
        extra = sorted(set(received.json or ()) - set(names)) if received.is_chat else []
        message = "Extra inputs are not permitted"
        return error(422, message, shape="detail_list", param=extra[0]) if extra else None

    return Gate(refuses=refuses, then=then)


def context_limit(tokens: int, then: Play = ()) -> Gate:
    """Refuse prompts of more tokens, counted as in `completions.prompt_tokens`, in the kind's words."""

    def refuses(received: Received) -> Play | None:
        asked = prompt_tokens(received)
        too_long = received.is_chat and asked > tokens
        return refusal(received.kind, "too_long", limit=tokens, tokens=asked) if too_long else None

    return Gate(refuses=refuses, then=then)


def image_limit(n: int, then: Play = ()) -> Gate:
    """Refuse more images than `n`, in the kind's words."""
    return Gate(
        refuses=lambda received: (
            refusal(received.kind, "too_many_images", limit=n) if len(received.images) > n else None
        ),
        then=then,
    )


def max_body(limit_bytes: int, play: Play | None = None, then: Play = ()) -> Gate:
    """Larger bodies are read to the end and get `play`, a gateway's 413 page if none is given."""
    refused = play or error(413, "413 Request Entity Too Large", shape="html")
    return Gate(refuses=lambda received: refused if received.size_bytes > limit_bytes else None, then=then)


def while_uploading(limit_bytes: int, play: Play, then: Play = (), *, times: int | None = None) -> Gate:
    """Do `play` once `limit_bytes` of a larger body are read, without reading the rest."""
    return Gate(upload=UploadRule(limit_bytes=limit_bytes, play=play, times=times), then=then)


def early_413_while_uploading(
    limit_bytes: int, then: Play = (), *, times: int | None = None, reads_on: bool = True
) -> Gate:
    """413 in the middle of the upload; with `reads_on` the rest is read and dropped, else the connection is reset."""
    refused = error(413, "413 Request Entity Too Large", shape="html")
    last = Drain(5.0) if reads_on else End("reset")
    return while_uploading(limit_bytes, (connection_close(), refused, last), then, times=times)


def slow_reading(bytes_per_s: float, then: Play = ()) -> Gate:
    """Take bodies in no faster than that; `receive_buffer_bytes` of the server makes the client feel it sooner."""
    return Gate(upload=UploadRule(bytes_per_s=bytes_per_s), then=then)


def beyond_in_flight(n: int, play: Play, then: Play = ()) -> Gate:
    """Do `play` with a chat that comes while `n` or more others are in flight."""
    return Gate(refuses=lambda received: play if received.is_chat and received.in_flight > n else None, then=then)


def _field(received: Received, name: str) -> Any:
    return received.json.get(name) if isinstance(received.json, dict) else None


def _has(received: Received, name: str) -> bool:
    return isinstance(received.json, dict) and name in received.json
