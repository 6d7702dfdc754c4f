"""The limit of images per prompt, and the tokens of a picture by its size."""

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from itertools import pairwise

from vqa_client.client.probing.asks import Ask, ProbeImage, ProbeReply, draw_sentence, draw_square
from vqa_client.client.probing.findings import PROMPT, SHOWN, Finding, Sight

LADDER = (64, 16, 4, 2)
SIDE_PX = 64
_LIMIT = re.compile(r"(?:at most|up to|maximum(?: is| of)?|limit(?: is| of)?)\D{0,20}(\d+)", re.IGNORECASE)
_HINT = "raise the server's --limit-mm-per-prompt, or use --max_pages"


def limit_in(refusal: str) -> int | None:
    """The limit in a refusal of too many images."""
    match = _LIMIT.search(refusal)
    return int(match[1]) if match else None


async def find_image_limit(
    ask: Callable[[Ask], Awaitable[ProbeReply]], sight: Sight, bare_tokens: int | None
) -> Finding:
    """Ask with many pictures, then with fewer while the refusal doesn't name a limit."""
    png = draw_sentence("one page") if sight == "text" else draw_square(SHOWN[0], SIDE_PX)  # "text": it only reads text
    for count in LADDER:
        reply = await ask(Ask(prompt=PROMPT, pictures=(ProbeImage(png=png),) * count, fields={"max_tokens": 1}))
        finding = image_limit_finding(count, reply, bare_tokens)
        if finding is not None:
            return finding
    return Finding(
        name="image_limit", level="warning", value=1, text=f"two images are refused ({reply.error})", hint=_HINT
    )


def image_limit_finding(count: int, reply: ProbeReply, bare_tokens: int | None) -> Finding | None:
    """The finding from a reply to a number of pictures; None if fewer have to be tried."""
    if reply.completion is not None:
        return _accepted_images(count, reply.prompt_tokens, bare_tokens)
    limit = limit_in(reply.refusal) if reply.status == "too_many_images" else None
    if limit is None:
        return None
    return Finding(
        name="image_limit",
        level="warning" if limit == 1 else "note",
        value=limit,
        text=f"{limit} image{'s' * (limit != 1)} in one prompt at most",
        hint=_HINT if limit == 1 else "",
    )


def _accepted_images(count: int, tokens: int | None, bare_tokens: int | None) -> Finding:
    if tokens is not None and bare_tokens is not None and tokens - bare_tokens < count:
        return Finding(
            name="image_limit",
            level="warning",
            text=f"{count} images cost {tokens - bare_tokens} prompt tokens: are some of them dropped?",
            hint="ask a question about the last page of a document before a long run",
        )
    most = count == LADDER[0]
    return Finding(
        name="image_limit",
        level="ok" if most else "note",
        text=f"{count} {'or more ' if most else 'small '}images in one prompt"
        + ("" if most else "; more are too long"),
    )


SIDES_PX = (256, 512, 1024, 2048)
SHRUNK = 1.5
"""If four times the pixels cost less than this factor in tokens, the image was shrunk. The factor is below 4 because
models that see an image in tiles count a few tiles more or less."""
SLOW_S = 5.0
"""A size that takes longer is the last one: the next would take over four times as long."""
NAME = "picture_tokens_by_size"


async def find_sizes(ask: Callable[[Ask], Awaitable[ProbeReply]], bare_tokens: int | None) -> Finding:
    """Ask with larger and larger pictures until one is refused, slow, or hardly costs more than the last."""
    replies: dict[int, ProbeReply] = {}
    for side_px in SIDES_PX:
        started_s = time.monotonic()
        picture = ProbeImage(png=draw_square(SHOWN[0], side_px))
        replies[side_px] = await ask(Ask(prompt=PROMPT, pictures=(picture,), fields={"max_tokens": 1}))
        slow = time.monotonic() - started_s > SLOW_S
        if slow or replies[side_px].completion is None or _stopped_growing(_tokens(replies, bare_tokens)):
            break
    return sizes_finding(replies, bare_tokens)


def sizes_finding(replies: Mapping[int, ProbeReply], bare_tokens: int | None) -> Finding:
    """The finding from the replies by the picture's side; `bare_tokens` are those of the text alone."""
    tokens = _tokens(replies, bare_tokens)
    value = {str(side): count for side, count in tokens.items()}
    costs = [f"{count:,} at {side} px" for side, count in tokens.items()]
    refused = next((side for side, reply in replies.items() if reply.completion is None), None)
    if refused is not None:
        costs.append(f"{refused} x {refused} is refused ({replies[refused].error})")
    text = ", ".join(costs) or "the server counts no prompt tokens"
    if _stopped_growing(tokens):
        *_, side, _ = tokens
        return Finding(
            name=NAME,
            level="warning",
            value=value,
            text=f"{text}: images larger than about {side} x {side} are shrunk before the model sees them",
            hint="small text is lost: raise the processor's max_pixels where the server is started, or send crops",
        )
    return Finding(name=NAME, level="ok" if tokens and refused is None else "note", value=value or None, text=text)


def _tokens(replies: Mapping[int, ProbeReply], bare_tokens: int | None) -> dict[int, int]:
    counted = {side: reply.prompt_tokens for side, reply in replies.items()}
    return {side: count - (bare_tokens or 0) for side, count in counted.items() if count is not None}


def _stopped_growing(tokens: Mapping[int, int]) -> bool:
    """Whether the last size hardly cost more than the one before it."""
    return any(large < SHRUNK * small for small, large in list(pairwise(tokens.values()))[-1:])
