"""Reads a chat request: its prompt and images, or an error worded like vLLM's."""

import base64
import binascii
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from reader import MODEL


class RequestError(Exception):
    """A request that can't be answered; `status` is the HTTP status, `param` the wrong field."""

    def __init__(self, message: str, *, status: HTTPStatus = HTTPStatus.BAD_REQUEST, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.param = param


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """The text of the last user message and the images of all messages, in order."""

    prompt: str
    images: tuple[bytes, ...]


def parse(body: Any, *, limit_images: int) -> ChatRequest:
    """Read a request body.

    Raises RequestError.
    """
    if not isinstance(body, dict):
        raise RequestError("The request body must be a JSON object.")
    _check_settings(body)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(each, dict) for each in messages):
        raise RequestError("Field required: a list of at least one message.", param="messages")
    parts = [_parts(message) for message in messages]
    urls = [part for message in parts for part in message if part["type"] == "image_url"]
    if len(urls) > limit_images:
        raise RequestError(f"At most {limit_images} image(s) may be provided in one prompt.", param="image")
    asked = [own for own, message in zip(parts, messages, strict=True) if message.get("role") == "user"]
    return ChatRequest(
        prompt="\n".join(part["text"] for part in asked[-1] if part["type"] == "text") if asked else "",
        images=tuple(_bytes(part["url"]) for part in urls),
    )


def _check_settings(body: dict[str, Any]) -> None:
    model = body.get("model") or MODEL
    if model != MODEL:
        raise RequestError(f"The model `{model}` does not exist.", status=HTTPStatus.NOT_FOUND, param="model")
    if body.get("stream"):
        raise RequestError("This server does not stream: leave out `stream`.", param="stream")
    if (body.get("n") or 1) != 1:
        raise RequestError("This server gives one choice: leave out `n`.", param="n")


def _parts(message: dict[str, Any]) -> list[dict[str, str]]:
    """The message's content as parts {"type": "text", "text"} and {"type": "image_url", "url"}."""
    content = message.get("content")
    if isinstance(content, str) or content is None:
        return [{"type": "text", "text": content or ""}]
    if not isinstance(content, list):
        raise RequestError("Input should be a string or a list of parts.", param="content")
    return [_part(part) for part in content]


def _part(part: Any) -> dict[str, str]:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if kind == "image_url":
        url = part.get("image_url")
        url = url.get("url") if isinstance(url, dict) else url
        if isinstance(url, str):
            return {"type": "image_url", "url": url}
        raise RequestError("Failed to load image: the part holds no URL.", param="image")
    raise RequestError(f"Unknown part type: {kind}", param="content")


def _bytes(url: str) -> bytes:
    header, comma, data = url.partition(",")
    if not url.startswith("data:") or not comma:
        raise RequestError(f"Failed to load image: {url[:40]!r} is not a data URL, and this server fetches nothing.")
    if not header.endswith(";base64"):
        raise RequestError("Only base64 data URLs are supported for now.", status=HTTPStatus.NOT_IMPLEMENTED)
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RequestError(f"Failed to load image: {error}") from None
