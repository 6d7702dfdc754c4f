"""BLEU, ROUGE-L and CIDEr as coco-caption computes them, and the inputs and results of all explanation metrics.

BLEU-1 to BLEU-4: with c_k clipped matches and g_k n-grams of length k in the hypotheses, r the length of the closest
reference (of two equally close ones the shorter) and h that of the hypothesis, each summed over the corpus:

    BLEU-n = (product over k <= n of (c_k + 1e-15) / (g_k + 1e-9)) ^ (1 / n) * min(1, exp(1 - (r + 1e-9) / (h + 1e-15)))

A question's own value is the same formula on a corpus of one. The two constants are coco-caption's: because of them a
question without a common 4-gram has a BLEU-4 near 1e-4 instead of 0.
Source: Papineni et al., ACL 2002, for the measure.

ROUGE-L is an F score of the longest common subsequence, with beta 1.2. Precision and recall are each the best over the
references, not those of one reference; the corpus score is the mean.
Source: Lin, Text Summarization Branches Out (2004), for the measure.

CIDEr is the measure that its paper calls CIDEr-D, without stemming. For each n of 1 to 4 a text is a vector: the weight
of an n-gram is its count times log(N / max(1, df)), N being the number of questions in the scope and df the number of
those with the n-gram in any reference. A question's score is

    10 * mean over references, mean over n of  sum over n-grams of min(h, r) * r / (|h| |r|) * exp(-d^2 / (2 * 6^2))

with d the difference of the lengths, counted in bigrams as coco-caption does. The document frequencies are those of
the scope, so a question's score differs between scopes, and a corpus of one question scores 0: log(1 / 1) is 0.
Source: Vedantam et al., CVPR 2015.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import exp, log, sqrt
from typing import Final

from msgspec import Struct

NGRAM_MAX = 4
_TINY: Final = 1e-15
_SMALL: Final = 1e-9
BLEU_NAMES: Final = tuple(f"Bleu_{n}" for n in range(1, NGRAM_MAX + 1))
_BETA_SQUARED: Final = 1.2**2
_SIGMA_SQUARED: Final = 6.0**2
_SCALE: Final = 10.0
ALIKE: Final = "CIDEr is always 0: it weighs words by how few questions have them, and all questions have them all"
ALONE: Final = "CIDEr is always 0: it weighs words by how few questions have them, and there is one question"

Ngrams = Counter[tuple[str, ...]]
"""The counts of n-grams of one length."""


class Explained(Struct, frozen=True, kw_only=True):
    """One question's explanation and its references: as texts, and as tokens in the same order."""

    text: str
    tokens: Sequence[str]
    references: Sequence[str]
    reference_tokens: Sequence[Sequence[str]]


class ExplanationMetric(Struct, frozen=True, kw_only=True):
    """A metric over one scope: of the corpus, and of each question in the scope's order (None: no value).

    A missing value has a reason; a value with a reason is meaningless. The value of BLEU and of METEOR is not the mean
    of `each`; that of the others is.
    """

    value: float | None
    each: Sequence[float | None] = ()
    reason: str = ""

    @property
    def n(self) -> int:
        """The number of questions with a value."""
        return len(self.each) - self.each.count(None)


Scopes = Sequence[Sequence[int]]
"""Scopes as the positions of their questions among the explained ones; no scope is empty."""
ByScope = list[dict[str, ExplanationMetric]]
"""The metrics of each scope by name."""


def ngrams(tokens: Sequence[str]) -> list[Ngrams]:
    """Count the n-grams of 1 to 4 tokens."""
    return [Counter(zip(*(tokens[start:] for start in range(n)), strict=False)) for n in range(1, NGRAM_MAX + 1)]


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of the values that are not None; None without any."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def averaged(name: str, scores: Sequence[float | None], scopes: Scopes) -> ByScope:
    """A metric of each scope, whose corpus score is the mean of the questions' scores."""
    return [{name: _averaged([scores[at] for at in scope])} for scope in scopes]


def _averaged(each: Sequence[float | None]) -> ExplanationMetric:
    value = mean(each)
    return ExplanationMetric(value=value, each=each, reason="no question has a value" if value is None else "")


class _Matches(Struct, frozen=True):
    length: int
    reference_length: int
    clipped: Sequence[int]
    ngrams: Sequence[int]


def bleu(explained: Sequence[Explained], scopes: Scopes) -> ByScope:
    """BLEU-1 to BLEU-4 of each scope."""
    matches = [_matches(explanation) for explanation in explained]
    each = [_bleu_scores(explanation) for explanation in matches]
    scored = []
    for scope in scopes:
        corpus = _bleu_scores(_sum_of_matches(matches[at] for at in scope))
        names = enumerate(BLEU_NAMES)
        scored.append(
            {name: ExplanationMetric(value=corpus[n], each=[each[at][n] for at in scope]) for n, name in names}
        )
    return scored


def _matches(explanation: Explained) -> _Matches:
    length = len(explanation.tokens)
    references = [ngrams(tokens) for tokens in explanation.reference_tokens]
    closest = min((abs(len(tokens) - length), len(tokens)) for tokens in explanation.reference_tokens)[1]
    clipped = [
        _clipped_count(counted, [counts[k] for counts in references])
        for k, counted in enumerate(ngrams(explanation.tokens))
    ]
    return _Matches(length, closest, clipped, [max(0, length - k) for k in range(NGRAM_MAX)])


def _clipped_count(counted: Ngrams, references: Sequence[Ngrams]) -> int:
    """The number of the hypothesis's n-grams in references, each at most as often as the reference with most of it."""
    most: Ngrams = Counter()
    for reference in references:
        for ngram in counted.keys() & reference.keys():
            most[ngram] = max(most[ngram], reference[ngram])
    return sum(min(counted[ngram], count) for ngram, count in most.items())


def _sum_of_matches(matches: Iterable[_Matches]) -> _Matches:
    length = reference_length = 0
    clipped, counted = [0] * NGRAM_MAX, [0] * NGRAM_MAX
    for match in matches:
        length += match.length
        reference_length += match.reference_length
        for k in range(NGRAM_MAX):
            clipped[k] += match.clipped[k]
            counted[k] += match.ngrams[k]
    return _Matches(length, reference_length, clipped, counted)


def _bleu_scores(matches: _Matches) -> list[float]:
    ratio = (matches.length + _TINY) / (matches.reference_length + _SMALL)
    brevity = exp(1 - 1 / ratio) if ratio < 1 else 1.0
    product, scores = 1.0, []
    for n, (clipped, counted) in enumerate(zip(matches.clipped, matches.ngrams, strict=True), start=1):
        product *= (clipped + _TINY) / (counted + _SMALL)
        scores.append(product ** (1 / n) * brevity)
    return scores


def rouge(explained: Sequence[Explained], scopes: Scopes) -> ByScope:
    """ROUGE-L of each scope."""
    return averaged("ROUGE_L", [_rouge_score(explanation) for explanation in explained], scopes)


def _rouge_score(explanation: Explained) -> float:
    common = [(common_length(explanation.tokens, tokens), len(tokens)) for tokens in explanation.reference_tokens]
    most = max(length for length, _ in common)
    if not most:
        return 0.0
    precision = most / len(explanation.tokens)
    recall = max(length / total for length, total in common if total)
    return (1 + _BETA_SQUARED) * precision * recall / (recall + _BETA_SQUARED * precision)


def common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """The exact length of the longest common subsequence.

    Each token of the shorter text has a bit, and each token of the longer text takes one addition of long integers: two
    texts of 100,000 words take seconds, and a long reply against a short reference a few milliseconds.
    Source: Hyyrö, AWOCA 2004, the variant of Crochemore et al. (2001).
    """
    shorter, longer = sorted((first, second), key=len)
    places: dict[str, int] = {}
    for at, token in enumerate(shorter):
        places[token] = places.get(token, 0) | 1 << at
    every = (1 << len(shorter)) - 1
    open_places = every
    for token in longer:
        if matching := open_places & places.get(token, 0):
            open_places = (open_places + matching | open_places - matching) & every
    return len(shorter) - open_places.bit_count()


class _Weights(Struct, frozen=True):
    """The inverse document frequency: `most` for n-grams in at most one question, else by n-gram.

    `told_apart`: whether some n-gram isn't in all questions.
    """

    most: float
    common: Mapping[tuple[str, ...], float]
    told_apart: bool


class _Vectors(Struct, frozen=True):
    bigrams: int
    weights: Sequence[dict[tuple[str, ...], float]]
    norms: Sequence[float]


def cider(explained: Sequence[Explained], scopes: Scopes) -> ByScope:
    """CIDEr of each scope."""
    return [_cider_of_scope([explained[at] for at in scope]) for scope in scopes]


def _cider_of_scope(explained: Sequence[Explained]) -> dict[str, ExplanationMetric]:
    weights = _document_weights(explained)
    each = [_cider_score(explanation, weights) for explanation in explained]
    reason = ALONE if len(each) == 1 else "" if weights.told_apart else ALIKE
    return {"CIDEr": ExplanationMetric(value=mean(each), each=each, reason=reason)}


def _document_weights(explained: Sequence[Explained]) -> _Weights:
    frequency: Ngrams = Counter()
    for explanation in explained:
        frequency.update(
            {ngram for tokens in explanation.reference_tokens for counts in ngrams(tokens) for ngram in counts}
        )
    most = log(len(explained))
    common = {ngram: most - log(count) for ngram, count in frequency.items() if count > 1}
    return _Weights(most, common, min(frequency.values(), default=0) < len(explained))


def _cider_score(explanation: Explained, weights: _Weights) -> float:
    hypothesis = _vectors(explanation.tokens, weights)
    references = (_vectors(tokens, weights) for tokens in explanation.reference_tokens)
    return (
        _SCALE * sum(_similarity(hypothesis, reference) for reference in references) / len(explanation.reference_tokens)
    )


def _vectors(tokens: Sequence[str], weights: _Weights) -> _Vectors:
    most, common = weights.most, weights.common
    vectors = [{ngram: count * common.get(ngram, most) for ngram, count in counts.items()} for counts in ngrams(tokens)]
    norms = [sqrt(sum(weight * weight for weight in vector.values())) for vector in vectors]
    return _Vectors(max(0, len(tokens) - 1), vectors, norms)


def _similarity(hypothesis: _Vectors, reference: _Vectors) -> float:
    total = 0.0
    for n in range(NGRAM_MAX):
        if not (length := hypothesis.norms[n] * reference.norms[n]):
            continue
        ours, theirs = hypothesis.weights[n], reference.weights[n]
        # in the order of `ours`, so that the sum is always the same
        shared = [(weight, theirs[ngram]) for ngram, weight in ours.items() if ngram in theirs]
        total += sum(min(our, their) * their for our, their in shared) / length
    apart = hypothesis.bigrams - reference.bigrams
    return total / NGRAM_MAX * exp(-(apart**2) / (2 * _SIGMA_SQUARED))
