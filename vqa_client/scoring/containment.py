"""Does a reply contain the gold answer: as the published script asks, and as a careful reader would.

Both readings fold the two sides alike (`folded`): Unicode compatibility forms, quotes, dashes and spaces, and upper
case unless case counts. An empty gold answer is in no reply, and folding never strips words, so "the", "A" and "?" are
looked for as they are. All time is linear in the length of the reply.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from vqa_client.scoring.boundary import is_whole
from vqa_client.scoring.commitment import commits_to_number, commits_to_text, lists_lines
from vqa_client.scoring.numbers import Number, number, numbers_in, separated

_FOLDED: Final = {
    **dict.fromkeys(map(ord, "‘’‚‛`´ʼ＇′"), "'"),
    **dict.fromkeys(map(ord, "“”„‟«»″〝〞＂"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-"),
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\ufe0e\ufe0f"), None),
}
_POWERS: Final = {ord(power): f"^{digit}" for digit, power in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
"""Only the strict reading: NFKC makes "10²" the number 102."""
_OTHER_DIGIT = re.compile(r"[^\D0-9]")
_DASH_BETWEEN_WORDS = re.compile(r"(?<=\w)[—―](?=\w)")
_NARROW_THOUSANDS = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_FRACTION = re.compile(r"(?<=\d)(?=[¼½¾⅐-⅞])")
_MARKER = re.compile(r"^[ \t]*(?:[-*•][ \t]+)?\(?\d{1,3}[.)][ \t]+(?=\S)", re.MULTILINE)
_DIGIT = re.compile(r"\d")


def contains(gold: str, reply: str, *, case_sensitive: bool = False) -> bool:
    """Whether `gold` is a substring of `reply`, the published measure; blind to tokens: "5" is in "15"."""
    wanted = folded(gold, case_sensitive=case_sensitive)
    return bool(wanted) and wanted in folded(reply, case_sensitive=case_sensitive)


def contains_strict(gold: str, reply: str, *, case_sensitive: bool = False) -> bool:
    """Whether `reply` gives `gold` as a whole token and stands by it.

    Numbers are compared as `numbers` describes: "12" is not in "12,500", "12500" is, "5" is not in "5.0" or "-5". A
    gold number without a unit is also found with one ("20" in "20%", in "$20" and in "20 km"); "20%" and "$20" need
    theirs. The reply must commit to it, as `commitment` describes; what comes before a "</think>" is not read.
    """
    wanted, asked = _asked(gold, case_sensitive=case_sensitive)
    if not wanted:
        return False
    said = _without_markers(reply.rpartition("</think>")[2])
    text = read(said, case_sensitive=case_sensitive)
    if asked:
        return asked.value.lstrip("-0.") in text and commits_to_number(text, numbers_in(text), asked)
    return _gives(text, wanted) and not lists_lines(said)


def count_numbers(reply: str) -> int:
    """How many numbers a reply writes; a date, a time or a range is one, digits inside a word are none."""
    return sum(1 for _ in numbers_in(read(reply, case_sensitive=True)))


def folded(text: str, *, case_sensitive: bool = False) -> str:
    """The form in which two texts are compared; newlines become spaces."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_FOLDED))
    text = " ".join(text.replace("`", "'").split())
    if case_sensitive:
        return text
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text.casefold())


def read(text: str, *, case_sensitive: bool) -> str:
    """Fold for the strict reading: powers, fractions, dashes and narrow spaces keep what they say of a number."""
    if not text.isascii():
        text = _FRACTION.sub(" ", _NARROW_THOUSANDS.sub("", text.translate(_POWERS)))
        text = _DASH_BETWEEN_WORDS.sub(" - ", text)
        text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
    return separated(folded(text, case_sensitive=case_sensitive)).strip()


@lru_cache(maxsize=1024)
def _asked(gold: str, *, case_sensitive: bool) -> tuple[str, Number | None]:
    wanted = _trimmed(read(gold, case_sensitive=case_sensitive))
    return wanted, number(wanted)


def _trimmed(gold: str) -> str:
    """Drop the quotes around a gold answer and the punctuation after it, unless nothing else is there."""
    return gold.lstrip("\"'*").rstrip(" .,;:!\"'*") or gold


def _without_markers(reply: str) -> str:
    """Drop the numbers of a numbered list, unless the reply has no others."""
    if not _DIGIT.search(reply):
        return reply
    bare = _MARKER.sub("\n", reply)
    return bare if _DIGIT.search(bare) else reply


def _gives(text: str, wanted: str) -> bool:
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if is_whole(text, at, end) and commits_to_text(text, at, end):
            return True
        at = text.find(wanted, at + 1)
    return False
