"""The two scores of the published VQA 2.0 framework ("vqa2_enhanced_v1.2"), and both again by whole words.

The published scores compare texts after `prepared`, and look for keywords and gold answers as substrings: "no" is in
"another" and "0" in "10". They are for comparison with published numbers only; their partial credit (0.1 to 0.3 for
replies with both or neither of yes and no) isn't a standard. By whole words, a yes/no question is read by `yes_no` and
scores 1 or 0, and numbers and words must be whole and not denied. An empty reply scores 0, and an empty gold answer is
in no reply.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from vqa_client.scoring.denials import denied_before
from vqa_client.scoring.number_words import digits_to
from vqa_client.scoring.short_answers import folded
from vqa_client.scoring.yes_no import yes_or_no

VERSION: Final = "vqa2_enhanced_v1.2"
_YES: Final = ("yes", "yeah", "yep", "correct", "true", "right", "sure", "okay")
_NO: Final = ("no", "false", "wrong", "incorrect", "negative")  # "nope" and "not" have "no" in them
_NUMBERS: Final = digits_to(20)
_NO_WORD = re.compile(r"[^\w\s]")
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_NUMBERS)})\b")
_TOKEN = re.compile(r"(?:(?<![\w.])-)?\d+(?:[.,:/]\d+)*%?|[^\W\d_]+(?:'[^\W\d_]+)*")
_APART = re.compile(r"\n+|№")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_LADDER: Final = ((1.0, 0.9), (0.7, 0.7), (0.3, 0.3))
"""The least share of the gold answer's words, and the score for it."""
_YES_NO: Final = ("yes", "no")


def compared(gold: str, reply: str) -> dict[str, Any]:
    """What the published scores compare, in the fields of the published result file."""
    return {
        "model_answer_lower": prepared(reply),
        "gt_answer_lower": prepared(gold),
        "is_yes_no_question": gold.lower() in _YES_NO,
    }


@lru_cache(maxsize=1024)
def prepared(text: str) -> str:
    """Lower case, with a space for every other sign, and digits for the words zero to twenty."""
    words = " ".join(_NO_WORD.sub(" ", text.lower().strip()).split())
    return _NUMBER_WORD.sub(lambda match: _NUMBERS[match.group()], words)


def simple_correct(gold: str, reply: str) -> bool:
    """The published simple score: whether the reply contains the gold answer, or only the right yes/no keywords."""
    wanted, text = prepared(gold), prepared(reply)
    if wanted not in _YES_NO:
        return bool(wanted) and wanted in text
    return _has_yes_and_no(text) == (wanted == "yes", wanted == "no")


def enhanced_score(gold: str, reply: str) -> float:
    """The published enhanced score: 1, 0.9, 0.7, 0.5, 0.3 or 0 by shared words, 0.1 or 0.2 for an unclear yes/no."""
    wanted, text = prepared(gold), prepared(reply)
    if not reply.strip() or not wanted:
        return 0.0
    if wanted in _YES_NO:
        yes, no = _has_yes_and_no(text)
        if yes == no:
            return 0.1 if yes else 0.2
        return float(yes == (wanted == "yes"))
    if text == wanted:
        return 1.0
    return _by_shared_words(wanted.split(), text.split()) or (0.5 if wanted in text else 0.0)


def simple_correct_by_words(gold: str, reply: str) -> bool:
    """Whether the reply has the polarity of a yes/no gold answer, or states another gold answer in whole words."""
    wanted = _words(gold)
    if wanted in (("yes",), ("no",)):
        return yes_or_no(reply) == wanted[0]
    return _states(reply, wanted)


def enhanced_score_by_words(gold: str, reply: str) -> float:
    """The enhanced score by whole words; a yes/no question scores 1 or 0, and an empty reply 0."""
    wanted, words = _words(gold), _words(reply)
    if not wanted or not words:
        return 0.0
    if wanted in (("yes",), ("no",)):
        return float(yes_or_no(reply) == wanted[0])
    return 1.0 if words == wanted else _by_shared_words(wanted, words)


def _has_yes_and_no(text: str) -> tuple[bool, bool]:
    return any(word in text for word in _YES), any(word in text for word in _NO)


def _by_shared_words(wanted: Sequence[str], words: Sequence[str]) -> float:
    distinct = set(wanted)
    shared = len(distinct.intersection(words)) / len(distinct)
    return next((score for least, score in _LADDER if shared >= least), 0.0)


@lru_cache(maxsize=1024)
def _words(text: str) -> tuple[str, ...]:
    """Words and numbers, with digits for number words; "3.5", "-1", "10:30" and "20%" are one item each."""
    return tuple(_TOKEN.findall(_in_digits(text)))


def _in_digits(text: str) -> str:
    plain = _NUMBER_WORD.sub(lambda match: _NUMBERS[match.group()], folded(text))
    return _THOUSANDS.sub("", plain)


def _states(reply: str, run: tuple[str, ...]) -> bool:
    """Whether the reply has these words in a row, not denied."""
    text, size = _in_digits(_APART.sub(" | ", reply)), len(run)
    tokens = list(_TOKEN.finditer(text))
    words = tuple(token[0] for token in tokens)
    places = (tokens[at].start() for at in range(len(words) - size + 1) if words[at : at + size] == run)
    return bool(run) and any(not denied_before(text, place) for place in places)
