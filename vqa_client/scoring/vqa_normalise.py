"""How VQA's evaluator normalises answers: punctuation, then number words, articles and contractions.

The rules are those of VQAEval (visualqa.org, 2017 and 2021), with every quirk that its scores depend on:

* a mark is removed if it is next to a space anywhere in the text, or if the text has "digit,digit"; else it becomes a
  space;
* a full stop is removed unless a digit follows ("5." is "5", ".5" stays), but only the first 32 are;
* ":", "'", "$", "%", "&" and "*" stay, and a minus is a mark ("-1" is "1");
* articles are removed even if nothing is left, and "somebody'd" loses its apostrophe.

Normalising a text twice may change it again ("1,000 a-b"), so it is done exactly once.
"""

import re
from functools import lru_cache
from typing import Final

from vqa_client.scoring.number_words import digits_to
from vqa_client.scoring.patterns import in_ascii_digits
from vqa_client.scoring.plain import INVISIBLE

_MARK = re.compile(r"""[;/\[\]"{}()=+\\_\-><@`,?!]""")
_DIGIT_COMMA_DIGIT = re.compile(r"\d,\d")
_FULL_STOP = re.compile(r"\.(?!\d)")
STOP_BETWEEN_WORDS: Final = re.compile(r"(?<!\d)\.(?!\d)")
"""VLMEvalKit's rule: a full stop after a digit stays."""
_MOST_STOPS: Final = 32
"""VQAEval passes a flag to re.sub as the number of replacements."""
_ARTICLES: Final = frozenset({"a", "an", "the"})
_STEMS: Final = {
    "n't": "ai are ca could did does do had has have is might must need ought sha should was were wo would",
    "n't've": "could had might should would",
    "'ve": "could might must not should they we what where who would you",
    "'d": "he how it someone something there they where who you",
    "'d've": "he it she somebody someone something there they we who you y'all",
    "'s": "he how somebody someone that there what when where who why",
    "'ll": "how it somebody someone something they what who why you y'all",
    "'re": "there they what why you",
    "": "ma'am o'clock 'ow's'at 'twas y'all",
}


def _contractions() -> dict[str, str]:
    """Each contraction by its spellings without one of its apostrophes."""
    whole = [stem + ending for ending, stems in _STEMS.items() for stem in stems.split()]
    return {word[:at] + word[at + 1 :]: word for word in whole for at, sign in enumerate(word) if sign == "'"}


_WORDS: Final = {**_contractions(), "somebody'd": "somebodyd", "none": "0", **digits_to(10)}


_MARKS: Final = {
    **{0xFF00 + sign: 0x20 + sign for sign in range(1, 0x5F)},
    **str.maketrans("。｡、，؟،؛।।“”‘’\u3000", ".." + ",,?,;..\"\"'' ", INVISIBLE),
}
"""ASCII for full-width forms and for the marks of other scripts; invisible characters are removed."""


def in_ascii(text: str) -> str:
    """Write the marks and digits of other scripts, unknown to VQAEval, in ASCII; letters stay."""
    return text if text.isascii() else in_ascii_digits(text.translate(_MARKS))


@lru_cache(maxsize=1 << 16)
def normalised(text: str) -> str:
    """Normalise as VQAEval does: punctuation, then words."""
    return with_plain_words(without_punctuation(text))


@lru_cache(maxsize=1 << 16)
def plainest(text: str) -> str:
    """Normalise as VQAEval does, after marks and digits of other scripts are written in ASCII."""
    return normalised(in_ascii(text))


def without_punctuation(text: str) -> str:
    """VQAEval's first step: remove punctuation; letters keep their case and spaces stay."""
    return without_marks(text, _FULL_STOP)


def without_marks(text: str, full_stop: re.Pattern[str]) -> str:
    """VQAEval's first step with another rule for full stops."""
    marks = set(_MARK.findall(text))
    if marks:
        number = _DIGIT_COMMA_DIGIT.search(text) is not None
        gone = {mark for mark in marks if number or f"{mark} " in text or f" {mark}" in text}
        text = text.translate({ord(mark): "" if mark in gone else " " for mark in marks})
    return full_stop.sub("", text, count=_MOST_STOPS) if "." in text else text


def with_plain_words(text: str) -> str:
    """VQAEval's second step: lower case, digits for zero to ten and none, no articles, contractions corrected."""
    return " ".join([_WORDS.get(word, word) for word in text.lower().split() if word not in _ARTICLES])


@lru_cache(maxsize=1 << 16)
def on_one_line(text: str) -> str:
    """VQAEval's preparation of a text: line feeds and tabs become spaces, and those at its ends are removed."""
    return text.replace("\n", " ").replace("\t", " ").strip()


def evalai(text: str) -> str:
    """Normalise as the challenges on EvalAI do (TextVQA, VizWiz and OK-VQA; code in mmf).

    Before VQAEval's steps it removes commas and question marks and makes "'s" a separate word.
    """
    parted = text.lower().replace(",", "").replace("?", "").replace("'s", " 's").strip()
    return normalised(on_one_line(parted))


def vlmevalkit(text: str) -> str:
    """Normalise as VLMEvalKit does: VQAEval's steps, but a full stop after a digit stays."""
    return with_plain_words(without_marks(on_one_line(text), STOP_BETWEEN_WORDS))
