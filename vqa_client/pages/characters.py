"""What of a text can be drawn: what is invisible goes, what no font has is replaced, and both are counted."""

import re
import unicodedata
from collections import Counter

from msgspec import Struct

from vqa_client.pages.fonts import REPLACEMENT, Chain

TAB = "    "
_LINE_BREAK = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_REMOVED = (
    r"\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u180e\u200b\u2060-\u2065\u206a-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e0fff"
)
_INVISIBLE = re.compile(f"[{_REMOVED}]")
"""Controls, soft hyphens, zero-width spaces, variation selectors and tags. The marks that say which way a text runs
stay until its lines are set, and so do joiners."""
_GUIDES = r"\u061c\u200c-\u200f\u202a-\u202e\u2066-\u2069"
UNDRAWN = re.compile(f"[{_GUIDES}]")
_VISIBLE = re.compile(rf"[^\s{_REMOVED}{_GUIDES}]")
_BROKEN_LINES = re.compile(r"[ \t]*\n\s*")


class Prepared(Struct, frozen=True, kw_only=True):
    """A text of which every character is drawn or guides the drawing, and by character what was not kept as it was."""

    text: str
    missing: dict[str, int]
    removed: dict[str, int]


def is_blank(text: str) -> bool:
    """Say whether its pages would be white."""
    return not _VISIBLE.search(text)


def prepare(text: str, chain: Chain, *, remove_line_breaks: bool = False) -> Prepared:
    """Make a text drawable; all line ends become "\\n", or spaces with `remove_line_breaks`."""
    text = _LINE_BREAK.sub("\n", text)
    removed = Counter(_INVISIBLE.findall(text))
    if removed:
        text = _INVISIBLE.sub("", text)
    text = unicodedata.normalize("NFC", text.replace("\t", TAB))
    if remove_line_breaks:
        text = _BROKEN_LINES.sub(" ", text)
    missing = {mark: text.count(mark) for mark in sorted(set(text)) if _is_missing(mark, chain)}
    if missing:
        text = text.translate({ord(mark): REPLACEMENT for mark in missing})
    return Prepared(text=text, missing=missing, removed=dict(sorted(removed.items())))


def _is_missing(mark: str, chain: Chain) -> bool:
    return mark != "\n" and not UNDRAWN.match(mark) and chain.face_of(mark) < 0
