"""Usage, reasoning, images named by a uuid: what a run may rely on or can save by."""

from collections.abc import Sequence
from hashlib import sha256

from vqa_client.client.probing.asks import Ask, Picture, Reply, square
from vqa_client.client.probing.findings import Finding
from vqa_client.client.probing.sight import PROMPT, SHOWN

REASONING_FIELDS = ("reasoning", "reasoning_content")
_MARKS = ("<think>", "</think>")


def uuid_asks() -> tuple[Ask, Ask]:
    """A picture with its bytes and a uuid, then the uuid alone; the uuid is the picture's digest, so never wrong."""
    png = square(SHOWN[0])
    named = Picture(png=png, uuid=sha256(png).hexdigest())
    unsent = Picture(png=png, uuid=named.uuid, sent=False)
    return Ask(prompt=PROMPT, pictures=(named,)), Ask(prompt=PROMPT, pictures=(unsent,))


def found_uuid(first: Reply, again: Reply) -> Finding:
    """Whether the second request, without the bytes, was the first for the server."""
    name = "uuid"
    if first.completion is None:
        return Finding(name=name, level="note", value=False, text=f"an image with a uuid is refused ({first.told})")
    if again.completion is None and "cache miss" in again.refusal.lower():
        return Finding(name=name, level="note", value=False, text="known, but the server keeps no images")
    if again.completion is None:
        return Finding(name=name, level="note", value=False, text=f"images can't be named by uuid ({again.told})")
    if again.prompt_tokens != first.prompt_tokens or again.text != first.text:
        return Finding(name=name, level="note", value=False, text="ignored: without its bytes an image is not seen")
    return Finding(name=name, value=True, text="an image sent once can be named by its uuid")


def found_usage(replies: Sequence[Reply]) -> Finding:
    """Whether tokens are counted."""
    if all(reply.prompt_tokens is not None for reply in replies):
        cached = any("cached_tokens" in _details(reply) for reply in replies)
        return Finding(name="usage", value=True, text="counted" + (", cached tokens too" if cached else ""))
    text = "the server counts no tokens, so they can't show a dropped image"
    return Finding(name="usage", level="note", value=False, text=text)


def _details(reply: Reply) -> dict[str, object]:
    usage = reply.body.get("usage")
    details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
    return details if isinstance(details, dict) else {}


def found_reasoning(replies: Sequence[Reply]) -> Finding:
    """Where a model's thoughts are, if it has told any."""
    for field in REASONING_FIELDS:
        if any(isinstance(reply.message.get(field), str) and reply.message[field] for reply in replies):
            return Finding(name="reasoning", value=field, text=f"in the field {field}")
    if any(mark in reply.text for reply in replies for mark in _MARKS):
        return Finding(
            name="reasoning",
            level="warning",
            value="text",
            text="thoughts come inside the answer's text",
            hint="start the server with its --reasoning-parser, so that they are separated",
        )
    return Finding(name="reasoning", text="none")
