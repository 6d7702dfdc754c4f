"""Compare an answer with a reference: rules that several benchmarks share."""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from vqa_client.scoring.number_words import value_of
from vqa_client.types import Question

_OTHER: Final = re.compile(r"[^a-z0-9\s]")
_ARTICLES: Final = frozenset({"a", "an", "the"})
ARTICLE: Final = re.compile(r"\b(?:a|an|the)\b")
NO_PUNCTUATION: Final = dict.fromkeys(map(ord, string.punctuation))
Rule = Callable[[str, str], float]
"""Scores an answer against one reference."""

_FOLDED: Final = {
    **dict.fromkeys(map(ord, "‘’‚‛`´ʼ＇′"), "'"),
    **dict.fromkeys(map(ord, "“”„‟«»″〝〞＂"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-"),
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\ufe0e\ufe0f"), None),
}
_TOLERANCE = 0.05
_CURRENCY: Final = r"(?:US\$|[$€£¥₹]|(?:USD|EUR|GBP|INR|Rs)\b\.?|(?:dollar|euro|pound|rupee)s?\b)"
_NUMBER = re.compile(
    rf"(?:(?:about|approximately|approx\.|around|roughly)\s|[~≈])?\s?{_CURRENCY}?\s?([-+]?)\s?{_CURRENCY}?\s?"
    r"((?:\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+(?!\d)|\d+)?(?:\.\d*)?(?:e[-+]?\d+)?)"
    rf"(?:\s?(%|per ?cent\b)|\s?(k|thousand|million|billion|trillion)\b)?\s?{_CURRENCY}?",
    re.IGNORECASE,
)
_SCALES: Final = {"k": 1e3, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}


def best_of(rule: Rule) -> Callable[[str, Question], float]:
    """The best score over a question's references."""
    return lambda answer, question: float(max(rule(answer, reference) for reference in question.references))


def in_thirds(prepare: Callable[[str], str] = str) -> Callable[[str, Question], float]:
    """A third for each reference that equals the answer, both after `prepare`; at most 1. Source: A-OKVQA's script."""
    return lambda answer, question: min(1.0, [*map(prepare, question.references)].count(prepare(answer)) / 3)


def equal(answer: str, reference: str) -> float:
    """1 for exactly the same text, else 0."""
    return float(answer == reference)


def equal_stripped(answer: str, reference: str) -> float:
    """1 for the same text without spaces around the answer, else 0."""
    return equal(answer.strip(), reference)


def relaxed_published(answer: str, reference: str) -> float:
    """The published relaxed rule, exactly: a number within 5 %, else the same text in any case.

    "62%" is 0.62, so "62" is a wrong answer to it; a reference of 0 is compared as text. Source: ChartQA (Masry et al.,
    ACL Findings 2022, section 5.1) as pix2struct and its followers compute it.
    """
    number, target = _published_number(answer), _published_number(reference)
    if number is not None and target:
        return float(abs(number - target) / abs(target) <= _TOLERANCE)
    return float(answer.lower() == reference.lower())


def relaxed(answer: str, reference: str) -> float:
    """A number within 5 %, else the same words; thousands commas, currencies and outer punctuation are ignored.

    Numbers may be words, and "about 12 thousand" is 12000. If only one side has a per cent sign, "62" and "0.62" both
    equal "62%".
    """
    number, target_number = _number(answer), _number(reference)
    if number is None or target_number is None:
        return float(same_words(answer, reference))
    value, percent = number
    target, target_percent = target_number
    scales = (1.0,) if percent == target_percent else (1.0, 0.01) if percent else (1.0, 100.0)
    return float(any(abs(value * scale - target) <= abs(target) * _TOLERANCE for scale in scales))


def word_f1(answer: str, reference: str) -> float:
    """F1 of the shared words, without articles and punctuation.

    Source: Rajpurkar et al., SQuAD (EMNLP 2016), section 6.1, as its evaluation script counts.
    """
    words, reference_words = Counter(_bare_words(answer)), Counter(_bare_words(reference))
    total = words.total() + reference_words.total()
    return 2 * (words & reference_words).total() / total if total else 1.0


def _bare_words(text: str) -> list[str]:
    return ARTICLE.sub(" ", text.lower().translate(NO_PUNCTUATION)).split()


def _number(text: str) -> tuple[float, bool] | None:
    """The number of a text that is only a number, and whether it is in per cent; None for other texts."""
    plain = text.strip().rstrip(".").replace("\u2212", "-")
    match = _NUMBER.fullmatch(value_of(plain) or plain)
    if not match or not match[2][:2].strip(".eE"):
        return None
    digits = match[1] + match[2].replace(",", "").replace(" ", "")
    return float(digits) * _SCALES.get((match[4] or "").lower(), 1), bool(match[3])


def same_words(first: str, second: str) -> bool:
    """Whether two texts are the same, ignoring case, spaces and outer punctuation."""
    return _words(first) == _words(second)


def _words(text: str) -> str:
    return _bare(text).strip(" .,;:!?\"'")


def _published_number(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None


def contains(gold: str, reply: str, *, case_sensitive: bool = False) -> bool:
    """Whether `gold` is a substring of `reply`, both folded: the published measure of needles.

    It ignores where words end: "5" is in "15". An empty gold answer is in no reply.
    """
    needle = folded(gold, case_sensitive=case_sensitive)
    return bool(needle) and needle in folded(reply, case_sensitive=case_sensitive)


def folded(text: str, *, case_sensitive: bool = False) -> str:
    """The form in which two texts are compared: one form for each Unicode character, quote, dash and space.

    Newlines become spaces, and capitals become small letters unless `case_sensitive`. No word is removed: "the", "A"
    and "?" stay.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_FOLDED))
    text = " ".join(text.replace("`", "'").split())
    if case_sensitive:
        return text
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text.casefold())


class Majority(Struct, frozen=True, kw_only=True):
    """The answer of most annotators, normalised; `tied`: whether another answer is equally frequent."""

    answer: str
    tied: bool


def normalise(answer: str) -> str:
    """Lower case, only letters and digits, without articles: the published form for comparing answers."""
    words = _OTHER.sub(" ", answer.lower()).split()
    return " ".join(word for word in words if word not in _ARTICLES)


def same(answer: str, gold: str) -> bool:
    """Whether two answers are equal, normalised; if that leaves nothing ("寿司", "a"), only ignoring case.

    For the published script, any two answers that normalising empties are equal.
    """
    plain, plain_gold = normalise(answer), normalise(gold)
    return plain == plain_gold if plain or plain_gold else _bare(answer) == _bare(gold) != ""


def majority(answers: Sequence[str]) -> Majority | None:
    """The most frequent answer, in any order of the answers; None without an answer.

    Of equally frequent answers it is the first in the alphabet; the published script takes the first in the list.
    """
    counts = Counter(filter(None, (normalise(answer) or _bare(answer) for answer in answers)))
    if not counts:
        return None
    most = max(counts.values())
    first, *others = sorted(answer for answer, count in counts.items() if count == most)
    return Majority(answer=first, tied=bool(others))


def _bare(answer: str) -> str:
    return " ".join(answer.casefold().split())
