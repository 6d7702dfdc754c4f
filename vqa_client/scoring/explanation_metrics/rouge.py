"""ROUGE-L as coco-caption computes it: an F score of the longest common subsequence, with beta 1.2.

Precision and recall are each the best over the references, not those of one reference; the corpus score is the mean.
Source: Lin, Text Summarization Branches Out (2004), for the measure.
"""

from collections.abc import Sequence
from typing import Final

from vqa_client.scoring.explanation_metrics.explained import Explained, Scopes, Scored, mean

_BETA_SQUARED: Final = 1.2**2
NAMES: Final = ("ROUGE_L",)


def rouge(explained: Sequence[Explained], scopes: Scopes) -> list[dict[str, Scored]]:
    """ROUGE-L of each scope."""
    scores = [_score(one) for one in explained]
    scored = []
    for scope in scopes:
        each = [scores[at] for at in scope]
        scored.append({NAMES[0]: Scored(corpus=mean(each), each=each)})
    return scored


def _score(one: Explained) -> float:
    common = [(common_length(one.tokens, tokens), len(tokens)) for tokens in one.reference_tokens]
    most = max((length for length, _ in common), default=0)
    if not most:
        return 0.0
    precision = most / len(one.tokens)
    recall = max(length / total for length, total in common if total)
    return (1 + _BETA_SQUARED) * precision * recall / (recall + _BETA_SQUARED * precision)


def common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence, exactly.

    One bit for each token of the shorter text, so that a step over a token of the longer one is one addition of long
    integers: two texts of 100,000 words take seconds, and a long reply against a short reference a few milliseconds.
    Source: Hyyrö, AWOCA 2004, the variant of Crochemore et al. (2001).
    """
    shorter, longer = sorted((first, second), key=len)
    places: dict[str, int] = {}
    for at, token in enumerate(shorter):
        places[token] = places.get(token, 0) | 1 << at
    every = (1 << len(shorter)) - 1
    open_places = every
    for token in longer:
        if found := open_places & places.get(token, 0):
            open_places = (open_places + found | open_places - found) & every
    return len(shorter) - open_places.bit_count()
