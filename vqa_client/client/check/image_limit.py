"""How many images one prompt may have: the number that a refusal names, or so many as were taken."""

import re
from collections.abc import Awaitable, Callable

from vqa_client.client.probing.asks import Ask, Picture, sentence, square
from vqa_client.client.probing.findings import Finding, Sight
from vqa_client.client.probing.replies import Reply
from vqa_client.client.probing.sight import PROMPT, SHOWN

LADDER = (64, 16, 4, 2)
SIDE_PX = 64
_LIMIT = re.compile(r"(?:at most|up to|maximum(?: is| of)?|limit(?: is| of)?)\D{0,20}(\d+)", re.IGNORECASE)
_HINT = "raise the server's --limit-mm-per-prompt, or use --max_pages"


def many_ask(count: int, sight: Sight) -> Ask:
    """A prompt with so many pictures: small ones, or for a server that only reads some with words."""
    png = sentence("one page") if sight == "text" else square(SHOWN[0], SIDE_PX)
    return Ask(prompt=PROMPT, pictures=(Picture(png=png),) * count, fields={"max_tokens": 1})


def limit_in(refusal: str) -> int | None:
    """The number that a refusal of too many images names."""
    found = _LIMIT.search(refusal)
    return int(found[1]) if found else None


async def find_image_limit(ask: Callable[[Ask], Awaitable[Reply]], sight: Sight, bare_tokens: int | None) -> Finding:
    """Ask with many pictures, and with fewer where it isn't their number that is refused."""
    reply = Reply()
    for count in LADDER:
        reply = await ask(many_ask(count, sight))
        finding = found_image_limit(count, reply, bare_tokens)
        if finding is not None:
            return finding
    return Finding(
        name="image_limit", level="warning", value=1, text=f"two images are refused ({reply.told})", hint=_HINT
    )


def found_image_limit(count: int, reply: Reply, bare_tokens: int | None) -> Finding | None:
    """What a reply to so many pictures says; None where fewer have to be tried."""
    if reply.completion is not None:
        return _taken(count, reply.prompt_tokens, bare_tokens)
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


def _taken(count: int, tokens: int | None, bare_tokens: int | None) -> Finding:
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
