"""Numbers in English words: "three thousand and forty-seven", "thirty-eight hundred", "three eight four"."""

import re
from typing import Final

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
SMALL: Final = {word: value for value, word in enumerate(f"{_ONES} eighteen nineteen".split())} | {
    word: 10 * tens for tens, word in enumerate(_TENS.split(), 2)
}
"""Single words for numbers, up to ninety."""


def digits_to(most: int) -> dict[str, str]:
    """The single words for numbers from zero to `most`, with their digits."""
    return {word: str(value) for word, value in SMALL.items() if value <= most}


_LARGE: Final = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_WORD = "|".join(sorted((*SMALL, "hundred", *_LARGE), key=len, reverse=True))
_WORDS = rf"(?<![\w-])(?:{_WORD})(?:(?:,? (?:and )?|-)(?:{_WORD})\b)"
SPELLED = re.compile(rf"{_WORDS}*(?![\w-])", re.IGNORECASE)
"""Words of numbers in a row; not every match is a number."""
FEW_WORDS: Final = rf"{_WORDS}{{0,6}}(?![\w-])"
"""Regex source for at most seven of them, which bounds the time that other words after them take."""
_DOZENS = re.compile(rf"\b(?:(half an?|a half|an?|\d{{1,3}}|{_WORD}) )?dozen\b", re.IGNORECASE)
_PARTS: Final = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
_FRACTION = re.compile(
    rf"\b(an?|{'|'.join(list(SMALL)[1:10])})[ -]({'|'.join(_PARTS)})(?:s(?<!quarters)\b|s?(?= of\b|\W*\Z))",
    re.IGNORECASE,
)
_AND_A_HALF = re.compile(rf"\b(\d{{1,9}}|{_WORD}) and (?:a|one)[ -]half\b", re.IGNORECASE)
_APART = re.compile(r"\d(?<![\w.,:/+-]\d)(?<!\d \d)(?:(?:, ?| - |[ -])\d){2,11}(?![\w/-]|[ .,:]\d)")
_SPLIT = re.compile(r"[\s,-]+(?:and )?")
_NOT_DIGIT = re.compile(r"\D+")
ONE = re.compile(
    r"\b(is|has|have|only|just|exactly|and(?= \w+ (?!\w+ing\b|is\b|was\b|has\b|on\b|in\b|at\b)[a-z])) one\b"
    r"(?! (?:of|number|answer|way|thing|value|option|choice|possib\w+|who|that|which|can|or)\b)",
    re.IGNORECASE,
)
"""Where "one" is a number; mostly it is a pronoun."""
DIGITS: Final = 12
"""Numbers with more digits are not looked for in words."""


def value_of(words: str) -> str | None:
    """The number that `words` spell, in digits; None if they aren't exactly one number."""
    return _value_of_words(_SPLIT.split(words.lower())) if SPELLED.fullmatch(words) else None


def with_dozens_and_fractions(text: str, counted: str) -> str:
    """Write "half a dozen", "two dozen", "two thirds" and "three quarters of" in digits: "6", "24", "2/3", "3/4".

    "four quarters" are four; "three quarters" are three if quarters are `counted`, and so with dozens.
    """

    def digits(match: re.Match[str]) -> str:
        count = (match[1] or "a").lower()
        if "half" in count:
            return "6"
        return str(12 * int(value_of(count) or (count if count.isdecimal() else 1)))

    def fraction(match: re.Match[str]) -> str:
        count, part = SMALL.get(match[1].lower(), 1), match[2].lower()
        return f"{count}/{_PARTS[part]}" if count < _PARTS[part] and part not in counted else match[0]

    lower = text.lower()
    if "dozen" in lower and "dozen" not in counted:
        text = _DOZENS.sub(digits, text)
    if not any(part in lower for part in _PARTS):
        return text
    return _FRACTION.sub(fraction, _AND_A_HALF.sub(lambda half: f"{value_of(half[1]) or half[1]}.5", text))


def with_digits(text: str, number: str) -> str:
    """Write `number` in digits where the text has it in words or as separate digits; other numbers stay as they are.

    Numbers below 10 stay words, too: "one" and "two" are in many sentences, and the question asks for digits.
    """

    def digits(match: re.Match[str]) -> str:
        return number if value_of(match[0]) == number else match[0]

    if not (number.isdecimal() and 1 < len(number) <= DIGITS):
        return text
    text = _APART.sub(lambda match: number if _NOT_DIGIT.sub("", match[0]) == number else match[0], text)
    return SPELLED.sub(digits, text)


def _value_of_words(words: list[str]) -> str | None:
    if len(words) > 1 and all(SMALL.get(word, 10) < 10 for word in words):
        return "".join(str(SMALL[word]) for word in words)
    total = group = 0
    last = 0
    for word in words:
        if word in _LARGE:
            if total % (1000 * _LARGE[word]) or not (group or word == words[0]):
                return None
            total, group, last = total + max(group, 1) * _LARGE[word], 0, 0
        elif word == "hundred":
            if group >= 100:
                return None
            group, last = max(group, 1) * 100, 100
        else:
            value = SMALL[word]
            if group and not (last == 100 or (last >= 20 and 0 < value < 10)):
                return None
            group, last = group + value, value
    return str(total + group)
