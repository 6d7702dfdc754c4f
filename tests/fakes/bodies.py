"""Reads request bodies strictly: faults that a lenient server accepts are reported."""

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.fakes.received import ReceivedImage

try:
    from pybase64 import b64decode
except ImportError:  # a third of the speed, and nothing else to install
    b64decode = base64.b64decode

MAGIC: tuple[tuple[bytes, int, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF8", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
    (b"ftypavif", 4, "image/avif"),
    (b"BM", 0, "image/bmp"),
    (b"II*\x00", 0, "image/tiff"),
    (b"MM\x00*", 0, "image/tiff"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A chat body's parts, and its faults."""

    json: Any = None
    prompt: str = ""
    images: tuple[ReceivedImage, ...] = ()
    faults: tuple[str, ...] = ()


def read_chat(body: bytes) -> Chat:
    """Read a chat body; for a body that isn't a JSON object with messages there are only faults."""
    try:
        content = strict_json(body)
    except ValueError as error:
        return Chat(faults=(f"the body is not valid JSON: {error}",))
    messages = content.get("messages") if isinstance(content, dict) else None
    if not isinstance(messages, list):
        return Chat(json=content, faults=("the body has no list of messages",))
    faults: list[str] = []
    texts: list[str] = []
    images: list[ReceivedImage] = []
    for part in _parts(messages, faults):
        if part.get("type") in ("text", "input_text"):
            texts.append(str(part.get("text")))
        elif part.get("type") in ("image_url", "input_image"):
            images.append(_image(part, f"image {len(images) + 1}", faults))
        else:
            faults.append(f"a content part of type {part.get('type')!r}")
    prompt = "\n".join(texts)
    if any("\ud800" <= letter <= "\udfff" for letter in prompt):
        faults.append("the prompt holds a lone surrogate")
    return Chat(json=content, prompt=prompt, images=tuple(images), faults=tuple(faults))


def strict_json(body: bytes) -> Any:
    """Decode UTF-8 JSON; ValueError for NaN and Infinity, for a repeated key, and for anything else that isn't JSON."""
    return json.loads(body.decode(), object_pairs_hook=_object, parse_constant=_no_constant)


def sniff(data: bytes) -> str:
    """The MIME type by an image's first bytes, "" if unknown."""
    return next((mime for magic, offset, mime in MAGIC if data.startswith(magic, offset)), "")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError(f"a key is given twice in {[name for name, _ in pairs]}")
    return content


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _parts(messages: list[Any], faults: list[str]) -> Iterator[dict[str, Any]]:
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            yield {"type": "text", "text": content}
        elif isinstance(content, list):
            yield from (part for part in content if isinstance(part, dict))
        else:
            faults.append("a message without content")


def _image(part: dict[str, Any], name: str, faults: list[str]) -> ReceivedImage:
    holder, uuid = part.get("image_url"), str(part.get("uuid") or "")
    url = holder.get("url") if isinstance(holder, dict) else holder
    if url is None and uuid:
        return ReceivedImage(uuid=uuid)
    if not isinstance(url, str):
        faults.append(f"{name} has no URL")
        return ReceivedImage(uuid=uuid)
    head, _, payload = url.partition(",")
    if not (head.startswith("data:") and head.endswith(";base64")):
        return ReceivedImage(url=url, uuid=uuid)
    mime = head.removeprefix("data:").removesuffix(";base64")
    try:
        data = b64decode(payload, validate=True)
    except ValueError as error:
        faults.append(f"{name} is not valid base64: {error}")
        return ReceivedImage(mime=mime, uuid=uuid)
    if not data:
        faults.append(f"{name} is empty")
    if sniff(data) not in ("", mime):
        faults.append(f"{name} is declared {mime} and is {sniff(data)}")
    return ReceivedImage(mime=mime, sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data), url=url, uuid=uuid)
