"""The requests of a check: pictures, a prompt, and the fields that are tried out."""

from binascii import b2a_base64
from typing import Any

import msgspec
from msgspec import Struct

from vqa_client.client.body import Dialect
from vqa_client.model_config import ModelSettings

MOST_TOKENS = 256
"""Room for a model that thinks before it names a colour; others stop after a word."""


class Picture(Struct, frozen=True, kw_only=True):
    """An image of a request: its PNG file, the `uuid` it is called by, and whether its bytes are sent at all."""

    png: bytes
    uuid: str = ""
    sent: bool = True


class Ask(Struct, frozen=True, kw_only=True):
    """One request; `fields` are set in it, and those that are None are left out."""

    prompt: str
    pictures: tuple[Picture, ...] = ()
    fields: dict[str, Any] = {}


def body_of(ask: Ask, model: ModelSettings, dialect: Dialect) -> bytes:
    """The body: what the model's config sends with every question, greedy and short, and the fields of this one."""
    usual = {"max_tokens": min(model.max_tokens, MOST_TOKENS), "temperature": 0, **(model.extra_body or {})}
    fields = {name: value for name, value in {**usual, **ask.fields}.items() if value is not None}
    if not dialect.send_temperature:
        fields.pop("temperature", None)
    if "max_tokens" in fields and dialect.max_tokens_name != "max_tokens":
        fields[dialect.max_tokens_name] = fields.pop("max_tokens")
    content = [*map(_part, ask.pictures), {"type": "text", "text": ask.prompt}]
    message = {"role": "user", "content": content}
    return msgspec.json.encode({"model": model.model_name, "messages": [message], **fields})


def _part(picture: Picture) -> dict[str, Any]:
    url = {"url": "data:image/png;base64," + b2a_base64(picture.png, newline=False).decode()} if picture.sent else None
    part: dict[str, Any] = {"type": "image_url", "image_url": url}
    return {**part, "uuid": picture.uuid} if picture.uuid else part
