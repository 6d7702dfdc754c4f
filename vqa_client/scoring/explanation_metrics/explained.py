"""What the metrics of explanations read and what they give."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

NGRAM_MAX = 4

Ngrams = Counter[tuple[str, ...]]
"""How often each n-gram of one length is there."""


class Explained(Struct, frozen=True, kw_only=True):
    """One question's explanation and its references: as texts, and as tokens in the same order."""

    text: str
    tokens: Sequence[str]
    references: Sequence[str]
    reference_tokens: Sequence[Sequence[str]]


class Scored(Struct, frozen=True, kw_only=True):
    """A metric over one scope: of the corpus, and of each question in the scope's order (None: it has no value).

    `reason` says why a value tells nothing.
    """

    corpus: float | None
    each: Sequence[float | None]
    reason: str = ""


Scopes = Sequence[Sequence[int]]
"""Scopes as the positions of their questions among the explained ones; none is empty."""


def ngrams(tokens: Sequence[str]) -> list[Ngrams]:
    """Count the n-grams of 1 to 4 tokens."""
    return [Counter(zip(*(tokens[start:] for start in range(n)), strict=False)) for n in range(1, NGRAM_MAX + 1)]


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of the values that are there; None without any."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None
