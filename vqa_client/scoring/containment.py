"""Does a reply contain the gold answer: the published measure of needles.

Both sides are folded alike: Unicode compatibility forms, quotes, dashes and spaces, and upper case unless case counts.
An empty gold answer is in no reply, and folding never strips words, so "the", "A" and "?" are looked for as they are.
"""

import unicodedata
from typing import Final

_FOLDED: Final = {
    **dict.fromkeys(map(ord, "‘’‚‛`´ʼ＇′"), "'"),
    **dict.fromkeys(map(ord, "“”„‟«»″〝〞＂"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-"),
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\ufe0e\ufe0f"), None),
}


def contains(gold: str, reply: str, *, case_sensitive: bool = False) -> bool:
    """Whether `gold` is a substring of `reply`, the published measure; blind to tokens: "5" is in "15"."""
    wanted = folded(gold, case_sensitive=case_sensitive)
    return bool(wanted) and wanted in folded(reply, case_sensitive=case_sensitive)


def folded(text: str, *, case_sensitive: bool = False) -> str:
    """The form in which two texts are compared; newlines become spaces."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_FOLDED))
    text = " ".join(text.replace("`", "'").split())
    if case_sensitive:
        return text
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text.casefold())
