"""A request body as pieces: JSON text, and images that are read and encoded while they are sent."""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence

import httpx2
import msgspec

from vqa_client.data_url import encoded_pieces, encoded_size
from vqa_client.model_config import ModelSettings
from vqa_client.types import Image, Parts, Request, without_none


class Body:
    """One chat request; its length is known before any image is read, and each attempt reads it again."""

    __slots__ = ("_segments", "size_bytes")

    def __init__(self, segments: Sequence[bytes | Image]) -> None:
        self._segments = segments
        self.size_bytes = sum([len(s) if isinstance(s, bytes) else encoded_size(s.size_bytes) for s in segments])

    def pieces(self) -> Iterator[bytes]:
        """The body in pieces; base64 never passes through a JSON encoder.

        Raises QuestionFailed "bad_image" if a file has changed.
        """
        for segment in self._segments:
            if isinstance(segment, bytes):
                yield segment
            else:
                yield from encoded_pieces(segment)


class Upload(httpx2.AsyncByteStream):
    """The upload of a body; calls `on_start` when the first piece is taken."""

    def __init__(self, body: Body, on_start: Callable[[], None]) -> None:
        self._body = body
        self._on_start = on_start
        self.size_bytes = body.size_bytes

    def pieces(self) -> Iterator[bytes]:
        """The pieces for a transport that needs no await between them."""
        self._on_start()
        return self._body.pieces()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces():
            yield piece


_OTHER_LIMIT = re.compile(
    r"max_tokens.{0,80}(unsupported|not supported|deprecated|instead).{0,80}max_completion_tokens|"
    r"(unsupported|unknown|unrecogni[sz]ed).{0,60}max_tokens.{0,120}max_completion_tokens|"
    r"use ['\"`]?max_completion_tokens",
    re.IGNORECASE | re.DOTALL,
)
"""A complaint about the name of the limit, not about its size."""
_NO_TEMPERATURE = re.compile(
    r"temperature.{0,80}(unsupported|not support|only the default|deprecated)|"
    r"(unsupported|does not support).{0,80}temperature",
    re.IGNORECASE | re.DOTALL,
)


THINKING = {"mlx-vlm": "enable_thinking", "ollama": "reasoning_effort", "unknown": "reasoning_effort"}
"""The field that switches thinking, by kind of server; other kinds use their chat template."""


class Dialect(msgspec.Struct, frozen=True):
    """The request format that this server accepts; the run file keeps it."""

    max_tokens_name: str = "max_tokens"
    send_temperature: bool = True
    thinking: str = "chat_template_kwargs"
    stream: bool = False

    def after(self, complaint: str, parameters: Mapping[str, object], *, sent: "Dialect") -> "Dialect | None":
        """The dialect for the next attempt, after a complaint about `parameters` sent in the dialect `sent`.

        None if no dialect helps against the complaint.
        """
        if sent != self:  # another worker has changed the dialect meanwhile
            return self
        if self.max_tokens_name == "max_tokens" and _OTHER_LIMIT.search(complaint):
            return msgspec.structs.replace(self, max_tokens_name="max_completion_tokens")
        if self.send_temperature and "temperature" in parameters and _NO_TEMPERATURE.search(complaint):
            return msgspec.structs.replace(self, send_temperature=False)
        return None

    def described(self) -> list[str]:
        """The changes to the plain request, in words."""
        changes = {
            "max_completion_tokens instead of max_tokens": self.max_tokens_name != "max_tokens",
            "temperature not sent": not self.send_temperature,
        }
        return [change for change, made in changes.items() if made]


BodyPart = tuple[bytes, Image | None, bytes]
"""An image's JSON before its base64 text, the image, and the JSON after it; without base64 all JSON is before it."""


def by_bytes(image: Image, name: str = "") -> BodyPart:
    """The image's bytes, or its address if it has one, and the name by which the server may keep it."""
    if image.address:
        return by_address(image.address, name)
    before = b'{"type":"image_url","image_url":{"url":"data:' + image.mime.encode() + b";base64,"
    return before, image, _uuid_field(name) if name else b'"}},'


def by_name(name: str) -> BodyPart:
    """The name of an image that the server has."""
    return b'{"type":"image_url","image_url":null,"uuid":' + msgspec.json.encode(name) + b"},", None, b""


def by_address(address: str, name: str = "") -> BodyPart:
    """The address of an image that the server reads itself."""
    url = b'{"type":"image_url","image_url":{"url":' + msgspec.json.encode(address)
    return url + (_uuid_field(name)[1:] if name else b"}},"), None, b""


def _uuid_field(name: str) -> bytes:
    return b'"},"uuid":' + msgspec.json.encode(name) + b"},"


class RequestTemplate:
    """The parts of a request that are the same for all questions, encoded once."""

    def __init__(self, model: ModelSettings, dialect: Dialect) -> None:
        self.parameters = _parameters(model, dialect)
        self.dialect = dialect
        self._head = b'{"model":' + msgspec.json.encode(model.model_name) + b',"messages":['
        self._tail = self._tail_with({})

    def _tail_with(self, own: Mapping[str, object]) -> bytes:
        limit = self.dialect.max_tokens_name
        named = {limit if name == "max_tokens" else name: value for name, value in own.items()}
        if not self.dialect.send_temperature:
            named.pop("temperature", None)
        return b"]," + msgspec.json.encode(without_none({**self.parameters, **named}))[1:]

    def body(self, request: Request, parts: Iterable[BodyPart] | None = None) -> Body:
        """The messages in order, then the parameters.

        `parts` are the images' JSON, if they are not all sent as plain bytes.
        """
        segments: list[bytes | Image] = []
        image_parts = None if parts is None else iter(parts)
        text = self._head
        if request.system:
            text += b'{"role":"system","content":' + _text(request.system) + b"},"
        for example in request.examples:
            text = _turn(example.content, image_parts, text, segments)
            text += b',{"role":"assistant","content":' + _text(example.reply) + b"},"
        text = _turn(request.content, image_parts, text, segments)
        segments.append(text + (self._tail_with(request.parameters) if request.parameters else self._tail))
        return Body(segments)


def _turn(content: Parts, image_parts: Iterator[BodyPart] | None, text: bytes, segments: list[bytes | Image]) -> bytes:
    """Append a user's message to `text`; text and images up to the last image go into `segments`, returns the rest."""
    text += b'{"role":"user","content":['
    for part in content:
        if isinstance(part, str):
            text += b'{"type":"text","text":' + _text(part) + b"},"
            continue
        before, image, after = by_bytes(part) if image_parts is None else next(image_parts)
        text += before
        if image is not None:
            segments += (text, image)
            text = after
    return text[:-1] + b"]}"


def _text(prompt: str) -> bytes:
    try:
        return msgspec.json.encode(prompt)
    except UnicodeEncodeError:  # a lone surrogate in the data file has no UTF-8 form
        return msgspec.json.encode(prompt.encode("utf-8", "replace").decode())


def _parameters(model: ModelSettings, dialect: Dialect) -> dict[str, object]:
    named: dict[str, object] = {
        dialect.max_tokens_name: model.max_tokens,
        "temperature": model.temperature if dialect.send_temperature else None,
        "presence_penalty": model.presence_penalty,
    }
    streamed = {"stream": True, "stream_options": {"include_usage": True}} if dialect.stream else {}
    return without_none({**named, **_thinking(model.thinking, dialect), **streamed, **(model.extra_body or {})})


def _thinking(switch: str | None, dialect: Dialect) -> dict[str, object]:
    """The switch of thinking in the server's form."""
    forms: dict[str, object] = {
        "chat_template_kwargs": {"enable_thinking": switch == "on"},
        "enable_thinking": switch == "on",
        "reasoning_effort": "medium" if switch == "on" else "none",
    }
    return {dialect.thinking: forms[dialect.thinking]} if switch else {}
