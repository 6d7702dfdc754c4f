"""Whether a reply gives the gold answer, as a careful reader would judge: as a whole token, in any spelling.

Both sides are folded as for plain containment. In addition:

* accents on Latin and Greek letters don't count ("cafe" gives "café"); ø, ł, đ, æ, œ equal o, l, d, ae, oe;
* hyphens, spaces and underscores between the words of an answer are the same ("New-York" gives "New York"), but a word
  in a compound is another word ("fox-like", "teal-green", "C++", "Node.js", "R&D"), and so is an inflected form
  ("foxes"); the possessive ("fox's") is not;
* a lower-case article at the start of the gold answer is optional ("the golden key" gives "a golden key");
* a number may be grouped by commas, spaces, apostrophes or dots ("3 847", "3.847"), have a decimal comma or the digits
  of any script, be spelled out in English ("thirty-eight hundred and forty-seven", "three eight four seven"), or have
  spaces between its digits ("3 8 4 7"); "5.0" isn't "5";
* a word may be spelled out ("l-a-n-t-e-r-n"), and "3:45 PM" may be "3:45pm" or "3:45 p.m.".

`commitment` decides whether the reply stands by the answer. Time is linear in the length of the reply.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from vqa_client.scoring.number_words import value_of, with_digits
from vqa_client.scoring.patterns import in_ascii_digits, is_whole, lazily, without_accents
from vqa_client.scoring.plain import plain
from vqa_client.scoring.refusal import may_refuse, refuses
from vqa_client.scoring.reply import said_in
from vqa_client.scoring.short_answers import folded
from vqa_client.scoring.strict.commitment import commits_to_number, commits_to_text, lists_lines
from vqa_client.scoring.strict.numbers import Number, count_in, follows_place, number, numbers_in, separated

_STRICTLY: Final = {
    **{ord(power): f"^{digit}" for digit, power in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    **str.maketrans({"٬": ",", "٫": ".", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i"}),
    **str.maketrans({"№": "#", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE"}),
}
"""Folded only here; powers because NFKC turns "10²" into the number 102."""
_ARTICLE = lazily(r"\A\s*(?:an?|the) (?=\w{3})")
_DASH_BETWEEN_WORDS = lazily(r"(?<=\w)[—―](?=\w)")
_NARROW_THOUSANDS = lazily(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
SPACED_THOUSANDS = lazily(r"(?<![\w.,:/^])(?<!\d )\d{1,3}(?:[ '’\u00a0\u2009\u202f]\d{3})+(?![\w/]|[.,:]\d| \d)")
_FRACTION = lazily(r"(?<=\d)(?=[¼½¾⅐-⅞])")
_MARKER = lazily(r"^[ \t]*(?:[-*•][ \t]+)?\(?\d{1,3}[.)][ \t]+(?=\S)", re.MULTILINE)
_DIGIT = lazily(r"\d")
_EMPHASIS = lazily(r"\*{2,3}|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)|^[ \t]*(?:#{1,6}|>+)[ \t]+", re.MULTILINE)
_TAKEN_OFF = lazily(
    r"~~[^~\n]{1,400}~~|<(?P<struck>del|s|strike)>[^<]{0,400}</(?P=struck)>|```\w*"
    r"|</?(?:final_)?(?:answer|[biu]|strong|em|p|br|span|div|code|mark)\b[^<>]{0,40}>|<\|?(?P<box>box|bbox|quad|point)(?:_start)?\|?>[^<]{0,400}<(?:/(?P=box)|\|(?P=box)_end\|)>",
    re.IGNORECASE,
)
"""Struck-out text, and coordinates of a text in the image."""
_BOXED = lazily(r"\\[()\[\]]|\\boxed ?\{(?P<said>[^{}]{0,400})\}")
_HALF_DAY = lazily(r"(?<=\d) ?([ap])(?:\. ?)?(m)(?!\w)(?:\.(?!\s*\Z|\s+(?-i:[A-Z])))?", re.IGNORECASE)
_SPELLED_OUT = lazily(r"(?<![\w-])(?<!['’])(?:[^\W\d_]([ -])[^\W\d_](?:\1[^\W\d_]){2,30})(?![\w'’-])")
_GAP = lazily(r"[\s_-]+")
_INSIDE_BEFORE = lazily(r"(?<=[^\W_][-&@/])|(?<=[^\W_]\.)|(?<=[#@])")
_INSIDE_AFTER = lazily(r"[-&@/.][^\W_]|[+#]|--(?!\w)")
_SETS_OFF: Final = "<[◁"
"""Every delimiter of a thought begins with one of these."""
LONGEST: Final = 16_000
"""Only the first and the last half of this number of characters are read of a longer reply."""


def contains_strict(gold: str, reply: str, *, case_sensitive: bool = False, secret: bool = True) -> bool:
    """Whether `reply` gives `gold` as a whole token and stands by it.

    Numbers are compared as `numbers` describes: "12,500" contains "12500" and not "12"; "5.0" and "-5" don't contain
    "5". A gold number without a unit is also found with one ("20" in "20%", "$20" and "20 km"); "20%" and "$20" need
    theirs. Thoughts are not read. A `secret` is never a page, a date or an amount; other answers may be.
    """
    needle, number_asked = _needle_of(gold, case_sensitive=case_sensitive)
    if not needle:
        return False
    meant = _meant_text(said_in(reply) if any(sign in reply for sign in _SETS_OFF) else reply)
    text = read(_without_markers(meant), case_sensitive=case_sensitive)
    declines = may_refuse(meant) and refuses(plain(meant))
    if number_asked:
        text = with_digits(text, number_asked.value)
        numbers = list(numbers_in(text))
        return any(number.answers(number_asked) for number in numbers) and commits_to_number(
            text, numbers, number_asked, declines=declines, secret=secret
        )
    if not any(map(str.isalnum, needle)):
        return needle in text
    if needle.isalpha():
        text = _SPELLED_OUT.sub(lambda word: word[0].replace(word[1], ""), text)
    spans = list(_places(text, needle))
    return bool(spans) and not lists_lines(meant) and commits_to_text(text, spans, declines=declines)


def count_numbers(reply: str) -> int:
    """Count the numbers of a reply; a date, a time or a range is one, digits inside a word are none."""
    return count_in(read(reply, case_sensitive=True))


def read(text: str, *, case_sensitive: bool) -> str:
    """Fold a text for the strict reading, line by line, without accents and without changing a number's value."""
    text = _HALF_DAY.sub(r" \1\2", text.replace("!=", "≠"))
    if not text.isascii():
        text = _FRACTION.sub(" ", _NARROW_THOUSANDS.sub("", text.translate(_STRICTLY)))
        text = _DASH_BETWEEN_WORDS.sub(" - ", text)
        text = without_accents(in_ascii_digits(text))
    text = "\n".join(folded(line, case_sensitive=case_sensitive) for line in text.splitlines())
    if _DIGIT.search(text):
        text = separated(SPACED_THOUSANDS.sub(_without_spaces, text))
    return text.strip()


def _without_spaces(thousands: re.Match[str]) -> str:
    place = follows_place(thousands.string[max(0, thousands.start() - 40) : thousands.start()])
    return thousands[0] if place else thousands[0].replace(" ", "")


@lru_cache(maxsize=1024)
def _needle_of(gold: str, *, case_sensitive: bool) -> tuple[str, Number | None]:
    needle = _trim(" ".join(read(_ARTICLE.sub("", gold), case_sensitive=case_sensitive).split()))
    return needle, number(value_of(needle) or needle)


@lru_cache(maxsize=1024)
def _pattern(needle: str) -> re.Pattern[str]:
    return lazily(r"[\s_-]+".join(map(re.escape, filter(None, _GAP.split(needle)))) or re.escape(needle))


def _places(text: str, needle: str) -> Iterator[tuple[int, int]]:
    """Where the needle is a whole word of the text, or several words with hyphens or spaces between them."""
    for match in _pattern(needle).finditer(text):
        start, end = match.span()
        if is_whole(text, start, end) and not _is_inside(text, start, end):
            yield start, end


def _is_inside(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] is part of a compound: "fox-like", "C++", "Node.js", "KX-44-B"."""
    if not (text[start].isalpha() and text[end - 1].isalnum()):
        return False
    return _INSIDE_BEFORE.match(text, start) is not None or _INSIDE_AFTER.match(text, end) is not None


def _meant_text(reply: str) -> str:
    """The reply without markup and struck-out text; JSON as one line per value."""
    if len(reply) > LONGEST:
        reply = f"{reply[: LONGEST // 2]}\n{reply[-LONGEST // 2 :]}"
    if "|" in reply:
        reply = _TABLE.sub(_without_bars, reply)
    if "~~" in reply or "<" in reply or "```" in reply:
        reply = _TAKEN_OFF.sub(" ", reply)
    if "\\" in reply:
        reply = _BOXED.sub(r"\g<said>", reply)
    opened = reply.lstrip()
    if opened[:1] in ("{", "["):
        try:
            value, end = _DECODER.raw_decode(opened)
        except (ValueError, RecursionError):
            pass
        else:
            reply = "\n".join((*_lines(value), opened[end:]))
    return _EMPHASIS.sub("", reply)


_TABLE = lazily(
    r"^[ \t]*\|(?P<head>[^\n]+)\|[ \t]*\n[ \t]*\|[-|: \t]+\|[ \t]*(?P<rows>(?:\n[ \t]*\|[^\n]+\|[ \t]*)+)", re.MULTILINE
)
_NAMES_SECRET = lazily(r"\b(?:secret|hidden)\b(?! ?\?)", re.IGNORECASE)


def _without_bars(table: re.Match[str]) -> str:
    """A table as lines: "column: cell" if a column is the secret's or a place, otherwise "cell: cell"."""
    head, *rows = (
        [cell.strip(" *`_") for cell in row.strip().strip("|").split("|")]
        for row in (table["head"], *table["rows"].split("\n")[1:])
    )
    keys_first = head[-1].lower() in ("value", "answer")
    if follows_place(f"{head[0]}:") or (_NAMES_SECRET.search(table["head"]) and not keys_first):
        return "\n".join(f"{column}: {cell}" for row in rows for column, cell in zip(head, row, strict=False))
    return "\n".join(": ".join(row) for row in rows)


_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str)


def _lines(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _lines(item, str(name))
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for item in value:
            yield from _lines(item, key)
    else:
        text = " and ".join(map(str, value)) if isinstance(value, list) else "null" if value is None else str(value)
        yield f"{key}: {text}" if key else text


def _trim(gold: str) -> str:
    """Drop the quotes around a gold answer and the punctuation after it, unless it has nothing else."""
    return gold.lstrip("\"'*").rstrip(" .,;:!\"'*") or gold


def _without_markers(reply: str) -> str:
    """Drop the numbers of a numbered list, unless the reply has no other numbers."""
    if not _DIGIT.search(reply):
        return reply
    bare = _MARKER.sub("\n", reply)
    return bare if _DIGIT.search(bare) else reply
