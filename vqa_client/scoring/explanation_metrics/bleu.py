"""BLEU-1 to BLEU-4 as coco-caption computes them.

With c_k clipped matches and g_k n-grams of length k in the hypotheses, r the length of the closest reference (of two
equally close ones the shorter) and h that of the hypothesis, each summed over the corpus:

    BLEU-n = (product over k <= n of (c_k + 1e-15) / (g_k + 1e-9)) ^ (1 / n) * min(1, exp(1 - (r + 1e-9) / (h + 1e-15)))

A question's own value is the same formula on a corpus of one. The two constants are coco-caption's: they keep a
missing n-gram from making 0, so a question without a common 4-gram has a BLEU-4 near 1e-4 and not 0.
Source: Papineni et al., ACL 2002, for the measure.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import exp
from typing import Final

from msgspec import Struct

from vqa_client.scoring.explanation_metrics.explained import NGRAM_MAX, Explained, Ngrams, Scopes, Scored, ngrams

_TINY: Final = 1e-15
_SMALL: Final = 1e-9
NAMES: Final = tuple(f"Bleu_{n}" for n in range(1, NGRAM_MAX + 1))


class _Matches(Struct, frozen=True):
    length: int
    reference_length: int
    clipped: Sequence[int]
    ngrams: Sequence[int]


def bleu(explained: Sequence[Explained], scopes: Scopes) -> list[dict[str, Scored]]:
    """BLEU-1 to BLEU-4 of each scope."""
    matches = [_matches(one) for one in explained]
    each = [_scores(one) for one in matches]
    scored = []
    for scope in scopes:
        corpus = _scores(_summed(matches[at] for at in scope))
        names = enumerate(NAMES)
        scored.append({name: Scored(corpus=corpus[n], each=[each[at][n] for at in scope]) for n, name in names})
    return scored


def _matches(one: Explained) -> _Matches:
    length = len(one.tokens)
    references = [ngrams(tokens) for tokens in one.reference_tokens]
    closest = min((abs(len(tokens) - length), len(tokens)) for tokens in one.reference_tokens)[1]
    clipped = [_clipped(said, [counts[k] for counts in references]) for k, said in enumerate(ngrams(one.tokens))]
    return _Matches(length, closest, clipped, [max(0, length - k) for k in range(NGRAM_MAX)])


def _clipped(said: Ngrams, references: Sequence[Ngrams]) -> int:
    """How many n-grams of the hypothesis a reference has, each at most as often as the one that has it most."""
    most: Ngrams = Counter()
    for reference in references:
        for ngram in said.keys() & reference.keys():
            most[ngram] = max(most[ngram], reference[ngram])
    return sum(min(said[ngram], count) for ngram, count in most.items())


def _summed(matches: Iterable[_Matches]) -> _Matches:
    length = reference_length = 0
    clipped, counted = [0] * NGRAM_MAX, [0] * NGRAM_MAX
    for one in matches:
        length += one.length
        reference_length += one.reference_length
        for k in range(NGRAM_MAX):
            clipped[k] += one.clipped[k]
            counted[k] += one.ngrams[k]
    return _Matches(length, reference_length, clipped, counted)


def _scores(matches: _Matches) -> list[float]:
    ratio = (matches.length + _TINY) / (matches.reference_length + _SMALL)
    brevity = exp(1 - 1 / ratio) if ratio < 1 else 1.0
    product, scores = 1.0, []
    for n, (clipped, counted) in enumerate(zip(matches.clipped, matches.ngrams, strict=True), start=1):
        product *= (clipped + _TINY) / (counted + _SMALL)
        scores.append(product ** (1 / n) * brevity)
    return scores
