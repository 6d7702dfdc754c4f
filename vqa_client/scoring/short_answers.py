"""Whether a short answer equals a reference: rules that several benchmarks share, each a score in [0, 1]."""

import re
import string
from collections import Counter
from collections.abc import Callable

from vqa_client.types import Question

_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))
Rule = Callable[[str, str], float]
"""Scores an answer against one reference."""

_TOLERANCE = 0.05
_NUMBER = re.compile(
    r"[$€£¥]?\s?([-+]?)\s?[$€£¥]?\s?((?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:e[-+]?\d+)?)\s?(%?)\s?[$€£¥]?",
    re.IGNORECASE,
)


def best_of(rule: Rule) -> Callable[[str, Question], float]:
    """The best score over a question's references."""
    return lambda answer, question: float(max(rule(answer, reference) for reference in question.references))


def in_thirds(prepare: Callable[[str], str] = str) -> Callable[[str, Question], float]:
    """A third for each reference that the answer equals once both are prepared, at most 1. Source: A-OKVQA's script."""
    return lambda answer, question: min(1.0, [*map(prepare, question.references)].count(prepare(answer)) / 3)


def equal(answer: str, reference: str) -> float:
    """1 for the same text, letter by letter, else 0."""
    return float(answer == reference)


def equal_stripped(answer: str, reference: str) -> float:
    """1 for the same text but for spaces around the answer, else 0."""
    return equal(answer.strip(), reference)


def relaxed_published(answer: str, reference: str) -> float:
    """The published relaxed rule, to the letter: a number within 5 %, else the same text but for case.

    "62%" is 0.62, so "62" is wrong for it; a reference of 0 is compared as text. Source: ChartQA (Masry et al., ACL
    Findings 2022, section 5.1) as pix2struct and its followers compute it.
    """
    said, wanted = _published_number(answer), _published_number(reference)
    if said is not None and wanted:
        return float(abs(said - wanted) / abs(wanted) <= _TOLERANCE)
    return float(answer.lower() == reference.lower())


def relaxed(answer: str, reference: str) -> float:
    """A number within 5 %, else the same words: thousands commas, currency signs and outer punctuation don't count.

    Where only one side has a per cent sign, "62" and "0.62" both answer "62%", and "62%" answers both.
    """
    said, wanted = _number(answer), _number(reference)
    if said is None or wanted is None:
        return float(same_words(answer, reference))
    value, percent = said
    target, target_percent = wanted
    scales = (1.0,) if percent == target_percent else (1.0, 0.01) if percent else (1.0, 100.0)
    return float(any(abs(value * scale - target) <= abs(target) * _TOLERANCE for scale in scales))


def word_f1(answer: str, reference: str) -> float:
    """F1 of the words that both have, without articles and punctuation.

    Source: Rajpurkar et al., SQuAD (EMNLP 2016), section 6.1, as its evaluation script counts.
    """
    said, wanted = Counter(_bare_words(answer)), Counter(_bare_words(reference))
    shared = (said & wanted).total()
    if not said or not wanted:
        return float(said == wanted)
    return 2 * shared / (said.total() + wanted.total())


def _bare_words(text: str) -> list[str]:
    return _ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def _number(text: str) -> tuple[float, bool] | None:
    """The number that a text is, as people write one, and whether it is in per cent."""
    found = _NUMBER.fullmatch(text.strip().rstrip(".").replace("\u2212", "-"))
    if not found or not found[2][:2].strip(".eE"):
        return None
    return float(found[1] + found[2].replace(",", "")), bool(found[3])


def same_words(one: str, other: str) -> bool:
    """Whether two texts are the same but for case, spaces and outer punctuation."""
    return _words(one) == _words(other)


def _words(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .,;:!?\"'")


def _published_number(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None
