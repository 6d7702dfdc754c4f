"""CIDEr as coco-caption's `Cider` computes it, which is the measure that its paper calls CIDEr-D, without stemming.

For each n of 1 to 4 a text is a vector: the weight of an n-gram is its count times log(N / max(1, df)), N being the
number of questions in the scope and df the number of those with the n-gram in any reference. A question's score is

    10 * mean over references, mean over n of  sum over n-grams of min(h, r) * r / (|h| |r|) * exp(-d^2 / (2 * 6^2))

with d the difference of the lengths, counted in bigrams as coco-caption does. The document frequencies are those of
the scope, so a question's score differs between scopes, and a corpus of one question scores 0: log(1 / 1) is 0.
Source: Vedantam et al., CVPR 2015.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp, log, sqrt
from typing import Final

from msgspec import Struct

from vqa_client.scoring.explanation_metrics.explained import NGRAM_MAX, Explained, Ngrams, Scopes, Scored, mean, ngrams

_SIGMA_SQUARED: Final = 6.0**2
_SCALE: Final = 10.0
NAMES: Final = ("CIDEr",)
ALIKE: Final = "CIDEr is always 0: it weighs words by how few questions have them, and all questions have them all"
ALONE: Final = "CIDEr is always 0: it weighs words by how few questions have them, and there is one question"


class _Weights(Struct, frozen=True):
    """The inverse document frequency: `most` where at most one question has the n-gram, else by n-gram.

    `told_apart` says whether any n-gram is not in all questions.
    """

    most: float
    common: Mapping[tuple[str, ...], float]
    told_apart: bool


class _Vectors(Struct, frozen=True):
    bigrams: int
    weights: Sequence[dict[tuple[str, ...], float]]
    norms: Sequence[float]


def cider(explained: Sequence[Explained], scopes: Scopes) -> list[dict[str, Scored]]:
    """CIDEr of each scope."""
    return [_scope([explained[at] for at in scope]) for scope in scopes]


def _scope(explained: Sequence[Explained]) -> dict[str, Scored]:
    weights = _document_weights(explained)
    each = [_score(one, weights) for one in explained]
    return {NAMES[0]: Scored(corpus=mean(each), each=each, reason=_reason(weights, len(each)))}


def _reason(weights: _Weights, n: int) -> str:
    """Why a corpus can't score above 0, "" where it can."""
    if n == 1:
        return ALONE
    return "" if weights.told_apart else ALIKE


def _document_weights(explained: Sequence[Explained]) -> _Weights:
    frequency: Ngrams = Counter()
    for one in explained:
        frequency.update({ngram for tokens in one.reference_tokens for counts in ngrams(tokens) for ngram in counts})
    most = log(len(explained))
    common = {ngram: most - log(count) for ngram, count in frequency.items() if count > 1}
    return _Weights(most, common, min(frequency.values(), default=0) < len(explained))


def _score(one: Explained, weights: _Weights) -> float:
    said = _vectors(one.tokens, weights)
    references = (_vectors(tokens, weights) for tokens in one.reference_tokens)
    return _SCALE * sum(_similarity(said, reference) for reference in references) / len(one.reference_tokens)


def _vectors(tokens: Sequence[str], weights: _Weights) -> _Vectors:
    most, common = weights.most, weights.common
    vectors = [{ngram: count * common.get(ngram, most) for ngram, count in counts.items()} for counts in ngrams(tokens)]
    norms = [sqrt(sum(weight * weight for weight in vector.values())) for vector in vectors]
    return _Vectors(max(0, len(tokens) - 1), vectors, norms)


def _similarity(said: _Vectors, reference: _Vectors) -> float:
    total = 0.0
    for n in range(NGRAM_MAX):
        if not (length := said.norms[n] * reference.norms[n]):
            continue
        ours, theirs = said.weights[n], reference.weights[n]
        shared = [(weight, theirs[ngram]) for ngram, weight in ours.items() if ngram in theirs]  # in one order, always
        total += sum(min(our, their) * their for our, their in shared) / length
    apart = said.bigrams - reference.bigrams
    return total / NGRAM_MAX * exp(-(apart**2) / (2 * _SIGMA_SQUARED))
