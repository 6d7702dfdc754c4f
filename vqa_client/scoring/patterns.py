"""Patterns that are compiled when first used, and where a word, a number or a label ends.

One reply needs few of all patterns, and compiling them all takes longer than reading a thousand replies.
"""

import re
import unicodedata
from collections import deque
from typing import Any, Final, cast

_BETWEEN_WORDS: Final = re.compile(r"\n|\|(?![^()]*\))")


class _Pattern:
    def __init__(self, source: str, flags: int) -> None:
        self._given = source, flags

    def __getattr__(self, name: str) -> Any:
        method = getattr(re.compile(*self._given), name)
        setattr(self, name, method)
        return method


def lazily(source: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, but compile at the first use."""
    return cast("re.Pattern[str]", _Pattern(source, flags))


def any_word(*sources: str) -> str:
    """Regex source for any of the words, grouped by first letter for a fast search.

    Lines and "|" separate the words; each word after its first letter is regex source.
    """
    groups: dict[str, list[str]] = {}
    for word in filter(None, map(str.strip, _BETWEEN_WORDS.split("|".join(sources)))):
        groups.setdefault(word[0], []).append(word[1:])
    grouped = (f"{first}(?:{'|'.join(rest)})" for first, rest in groups.items())
    return f"(?=[{''.join(groups)}])(?:{'|'.join(grouped)})"


JOINER: Final = r"(?:(?=[^\W_])[0-9A-Za-z\u00aa-\u0dff\u10a0-\u10ff\u1200-\u167f\u1e00-\u1fff\u2c00-\u2dff])"
"""A letter or digit that continues the token next to it.

Only in scripts with spaces between words: a Latin token ends next to a Chinese, Japanese, Korean or Thai letter. `re`
compiles these few ranges four times as fast as all letters without those scripts.
"""
TRIES: Final = 200
"""Places of one literal to look at; bounds the time for a degenerate text."""

_ACCENT = re.compile(r"(?<=[A-Za-z\u0370-\u03ff])[\u0300-\u036f]+")
_OTHER_DIGIT = re.compile(r"[^\D0-9]")
_joins = re.compile(JOINER)
_NUMBER_STARTS = re.compile(rf"(?<!{JOINER})(?<!{JOINER}_)(?<!\d[.,:/])(?<!-)(?<!-[$€£¥])")
_SIGN_STARTS = re.compile(rf"(?<![)\]])(?<!{JOINER})")
_WORD_STARTS = re.compile(rf"(?<!{JOINER})(?<!{JOINER}_)(?<!{JOINER}{JOINER}')(?<![oO]')")
_NUMBER_ENDS = re.compile(rf"(?!{JOINER})(?!_{JOINER})(?![.,:/-]\d)(?!\^)")
_WORD_ENDS = re.compile(rf"(?!{JOINER})(?!_{JOINER})(?!'(?!s(?!{JOINER})){JOINER})(?![\u0300-\u036f])")


def without_accents(text: str) -> str:
    """The text without accents on Latin and Greek letters: "nao" for "não"."""
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text)))


def in_ascii_digits(text: str) -> str:
    """The text with 0 to 9 for the digits of other scripts."""
    return _OTHER_DIGIT.sub(lambda digit: str(int(digit[0])), text)


def behind(opening: re.Pattern[str], text: str) -> str:
    """The text after `opening`; the whole text if it doesn't begin with it."""
    match = opening.match(text)
    return text[match.end() :] if match else text


def last_match(pattern: re.Pattern[str], text: str, start: int = 0) -> re.Match[str] | None:
    """The last of the places from `start` on that the pattern matches, if any."""
    return next(iter(deque(pattern.finditer(text, start), maxlen=1)), None)


def line_end(text: str, at: int) -> int:
    """The end of the line that contains `at`."""
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def joins(character: str) -> bool:
    """Whether `character` continues a token; "" doesn't."""
    return _joins.match(character) is not None


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` is not part of a longer word or number.

    "5" is whole in "5 km" and "5%", but not in "15", "5.0", "12:5", "-5" or "3-5", nor is "gold" in "golden". French
    elisions ("l'or") and the English possessive ("gold's") end a word; "O'Hara" is one word.
    """
    return _starts(text, start) and _ends(text, end)


def find_whole(text: str, literal: str) -> list[tuple[int, int]]:
    """Places, without overlap, where `text` has `literal` as a whole; looks at no more than `TRIES`."""
    places, start = [], 0
    for _ in range(TRIES):
        at = text.find(literal, start)
        if at < 0 or not literal:
            break
        start = at + 1
        if is_whole(text, at, at + len(literal)):
            places.append((at, start := at + len(literal)))
    return places


def _starts(text: str, start: int) -> bool:
    if text[start].isdecimal():
        return _NUMBER_STARTS.match(text, start) is not None
    if text[start] in "+-" and text[start + 1 : start + 2].isdecimal():
        return _SIGN_STARTS.match(text, start) is not None
    return not joins(text[start]) or _WORD_STARTS.match(text, start) is not None


def _ends(text: str, end: int) -> bool:
    if text[end - 1].isdecimal():
        return _NUMBER_ENDS.match(text, end) is not None
    return not joins(text[end - 1]) or _WORD_ENDS.match(text, end) is not None
