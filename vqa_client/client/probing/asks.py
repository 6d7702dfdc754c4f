"""The requests of a check and their replies; a failed request is a reply too."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

import httpx2
import msgspec
from msgspec import Struct

from vqa_client.client.body import Dialect, RequestTemplate, by_bytes, by_name
from vqa_client.client.endpoint import Endpoint
from vqa_client.client.probe import json_object
from vqa_client.client.wire import NotACompletion, read_reply
from vqa_client.model_config import ModelSettings
from vqa_client.types import Completion, Image, Request, Status

if TYPE_CHECKING:
    from PIL import Image as PillowImage


class ProbeReply(Struct, frozen=True, kw_only=True):
    """A parsed reply; `http_status` is 0 if none came, and the names of `headers` are lower-case.

    If the reply is not a completion, `completion` is None, `refusal` is the message and `status` the kind of failure.
    """

    http_status: int = 0
    headers: dict[str, str] = {}
    body: dict[str, Any] = {}
    completion: Completion | None = None
    refusal: str = ""
    status: Status = "ok"

    @property
    def text(self) -> str:
        """The model's answer, or its reasoning if the answer is empty."""
        if self.completion is None:
            return ""
        return self.completion.text.strip() or (self.completion.reasoning or "").strip()

    @property
    def prompt_tokens(self) -> int | None:
        """The server's count."""
        return self.completion.prompt_tokens if self.completion else None

    @property
    def choices(self) -> list[dict[str, Any]]:
        choices = self.body.get("choices")
        return [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []

    @property
    def message(self) -> dict[str, Any]:
        """The first choice's message as the server sent it."""
        message = self.choices[0].get("message") if self.choices else None
        return message if isinstance(message, dict) else {}

    @property
    def error(self) -> str:
        """The refusal in one line."""
        words = " ".join(self.refusal.split())[:_WORDS]
        return f"HTTP {self.http_status}: {words or 'an empty body'}" if self.http_status else words


_WORDS = 200


def parse_reply(http_status: int, headers: Mapping[str, str], content: bytes) -> ProbeReply:
    """Parse a reply to a chat request."""
    named = {name.lower(): value for name, value in headers.items()}
    body = json_object(content)
    try:
        completion = read_reply(http_status, named.get("content-type", ""), content)
    except NotACompletion as reply:
        status = reply.verdict.status
        return ProbeReply(http_status=http_status, headers=named, body=body, refusal=reply.message, status=status)
    return ProbeReply(http_status=http_status, headers=named, body=body, completion=completion)


COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (255, 0, 0),
    "blue": (0, 0, 255),
    "green": (0, 200, 0),
    "yellow": (255, 255, 0),
    "black": (0, 0, 0),
    "gray": (128, 128, 128),
    "brown": (150, 75, 0),
    "teal": (0, 128, 128),
}
SIDE_PX = 112
PAGE_PX = 448


@lru_cache(maxsize=32)
def draw_square(colour: str, side_px: int = SIDE_PX) -> bytes:
    """A PNG file: a square of one of COLOURS on white, three fifths as wide as the picture."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (side_px, side_px), "white")
    edge = side_px // 5
    ImageDraw.Draw(picture).rectangle((edge, edge, side_px - edge - 1, side_px - edge - 1), fill=COLOURS[colour])
    return _png(picture)


@lru_cache(maxsize=32)
def draw_sentence(words: str, side_px: int = PAGE_PX) -> bytes:
    """A PNG file: a white page with one line of black text across it."""
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("RGB", (side_px, side_px), "white")
    font = ImageFont.load_default(side_px * 1.6 / len(words))
    ImageDraw.Draw(picture).text((side_px / 2, side_px / 2), words, fill="black", font=font, anchor="mm")
    return _png(picture)


def _png(picture: "PillowImage.Image") -> bytes:
    file = BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


MOST_TOKENS = 256
"""Enough for a model that thinks before it names a colour; others stop after a word."""


class ProbeImage(Struct, frozen=True, kw_only=True):
    """An image of a request: its PNG file, its `uuid` if it has one, and whether its bytes are sent."""

    png: bytes
    uuid: str = ""
    sent: bool = True


class Ask(Struct, frozen=True, kw_only=True):
    """One request; `fields` are added to it, and a field of None is removed from it."""

    prompt: str
    pictures: tuple[ProbeImage, ...] = ()
    fields: dict[str, Any] = {}


USUAL: dict[str, Any] = {"temperature": 0, "presence_penalty": None}
"""Settings of the config that a check overrides, so that its replies are always the same."""


def body_of(ask: Ask, model: ModelSettings, dialect: Dialect) -> bytes:
    """The body: a request as the model's config sends it, but greedy and short, with the fields of this ask."""
    short = replace(model, **USUAL, max_tokens=min(model.max_tokens, MOST_TOKENS))
    images = [*map(_image, ask.pictures)]
    parts = [
        by_bytes(image, picture.uuid) if picture.sent else by_name(picture.uuid)
        for image, picture in zip(images, ask.pictures, strict=True)
    ]
    request = Request(content=(*images, ask.prompt), parameters=ask.fields)
    return b"".join(RequestTemplate(short, dialect).body(request, parts).pieces())


def _image(picture: ProbeImage) -> Image:
    return Image(name="", sha256="", mime="image/png", size_bytes=len(picture.png), data=picture.png)


TIMEOUT_S = 30.0
GET_TIMEOUT_S = 3.0


class Asker:
    """Sends the requests of a check to one server; `answered` are the replies that were completions."""

    def __init__(self, endpoint: Endpoint, model: ModelSettings, *, timeout_s: float = TIMEOUT_S) -> None:
        self.endpoint = endpoint
        self.model = replace(model, thinking=None)  # the check finds out the form of this switch
        self.timeout_s = timeout_s
        self.dialect = Dialect()
        self.answered: list[ProbeReply] = []

    async def ask(self, ask: Ask) -> ProbeReply:
        """Ask; if the server wants a plain request in another form, adapt it and ask again."""
        sent = self.dialect
        reply = await self._ask(ask, sent)
        while (
            not ask.fields
            and reply.completion is None
            and (adapted := self.dialect.after(reply.refusal, USUAL, sent=sent))
        ):
            sent = self.dialect = adapted
            reply = await self._ask(ask, sent)
        if reply.completion is not None:
            self.answered.append(reply)
        return reply

    async def ask_all(self, asks: tuple[Ask, ...]) -> list[ProbeReply]:
        return list(await asyncio.gather(*map(self.ask, asks)))

    async def get(self, path: str, *, at_root: bool = False) -> dict[str, Any]:
        """GET a JSON object under the base address, or under the address before /v1; {} if none comes."""
        endpoint = self.endpoint.at_root() if at_root else self.endpoint
        try:
            response = await endpoint.get(path, timeout_s=GET_TIMEOUT_S)
        except httpx2.TransportError:
            return {}
        return json_object(response.content)

    async def _ask(self, ask: Ask, dialect: Dialect) -> ProbeReply:
        body = body_of(ask, self.model, dialect)
        try:
            async with asyncio.timeout(self.timeout_s):
                response = await self.endpoint.post(body)
        except (TimeoutError, httpx2.TimeoutException):
            return ProbeReply(refusal=f"no reply within {self.timeout_s:g} s", status="timeout")
        except httpx2.TransportError as error:
            return ProbeReply(refusal=str(error) or type(error).__name__, status="connection")
        reply = parse_reply(response.status_code, response.headers, response.content)
        return msgspec.structs.replace(reply, refusal=self.endpoint.redacted(reply.refusal))
