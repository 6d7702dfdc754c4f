"""Splits text into sentences and roots of words, and weighs a root by how rare it is."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+")
WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
HYPHEN_AT_LINE_END = re.compile(r"(?<=[a-z])-\n(?=[a-z])")
ROOT_LENGTH = 6

Roots = frozenset[str]


def one_line(text: str) -> str:
    """The text without line breaks; words that were hyphenated at the end of a line are joined."""
    return " ".join(HYPHEN_AT_LINE_END.sub("", text).split())


def sentences(text: str) -> list[str]:
    """The sentences of a page text."""
    return [sentence for sentence in SENTENCE_END.split(one_line(text)) if WORD.search(sentence.lower())]


def roots(text: str) -> Roots:
    """The distinct words in lower case, cut to ROOT_LENGTH letters so that most endings don't matter."""
    return frozenset(word[:ROOT_LENGTH] for word in WORD.findall(text.lower()))


class Rarity:
    """Inverse document frequency with sentences as documents: log((N + 1) / (n + 1)), never below 0."""

    def __init__(self, documents: Sequence[Roots]) -> None:
        self._of = Counter(root for each in documents for root in each)
        self._total = len(documents)

    def weight(self, wanted: Iterable[str]) -> float:
        """The sum of the roots' rarities; a root that occurs nowhere counts most."""
        return sum(math.log((self._total + 1) / (self._of[root] + 1)) for root in sorted(wanted))
