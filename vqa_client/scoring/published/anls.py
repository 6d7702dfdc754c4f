"""Normalised edit similarity (ANLS), as document benchmarks and their harnesses compute it: four rules by one distance.

Each takes an answer and one reference and gives a score in [0, 1]; the best over the references is the question's. They
differ in what is done to the texts, in the length that the distance is divided by, and at 0.5: 1 - distance / length
below it counts as 0. Source: Biten et al., Scene Text VQA (ICCV 2019), section 4, and the evaluators named below.
"""

from functools import lru_cache
from typing import Final

KEPT: Final = 0.5


@lru_cache(maxsize=1 << 12)
def distance(first: str, second: str) -> int:
    """The Levenshtein distance in code points, in time that grows with the longer text where the other is short.

    A column of the table of distances is two numbers: the bits of `up` and `down` say where it grows and falls by one.
    Source: Myers, A fast bit-vector algorithm for approximate string matching (Journal of the ACM 46, 1999).
    """
    shorter, longer = sorted((first, second), key=len)
    if not shorter:
        return len(longer)
    places: dict[str, int] = {}
    for at, sign in enumerate(shorter):
        places[sign] = places.get(sign, 0) | 1 << at
    every, last = (1 << len(shorter)) - 1, 1 << (len(shorter) - 1)
    up, down, total = every, 0, len(shorter)
    for sign in longer:
        equal = places.get(sign, 0)
        same = (((equal & up) + up) ^ up) | equal
        grows, falls = down | (every & ~(same | up)), up & same
        total += bool(grows & last) - bool(falls & last)
        equal |= down
        grows = grows << 1 | 1
        up, down = every & (falls << 1 | ~(equal | grows)), every & grows & equal
    return total


def closeness(answer: str, reference: str, length: int = 0) -> float:
    """1 - distance / length, 0 where the lengths alone say that it is below 0.5; two empty texts are equal.

    The length is that of the longer text unless given.
    """
    length = length or max(len(answer), len(reference))
    if 2 * abs(len(answer) - len(reference)) > length:
        return 0.0
    return 1 - distance(answer, reference) / length if length else 1.0


def anls(answer: str, reference: str) -> float:
    """The rule of lmms-eval and VLMEvalKit for DocVQA and InfographicVQA: without case and extra spaces.

    The length is that of the texts as they came, in upper case.
    """
    close = closeness(plain(answer), plain(reference), _upper_length(answer, reference))
    return close if close >= KEPT else 0.0


def anls_stripped(answer: str, reference: str) -> float:
    """The same of a reply without spaces around it, which is what lmms-eval scores."""
    return anls(answer.strip(), reference)


def anls_mmf(answer: str, reference: str) -> float:
    """ST-VQA's rule in mmf: without case and outer spaces."""
    close = closeness(answer.lower().strip(), reference.lower().strip())
    return close if close >= KEPT else 0.0


def anls_doc(answer: str, reference: str) -> float:
    """The rule of MMLongBench-Doc and LongDocURL: the texts as they are, and 0.5 is 0 too."""
    close = closeness(answer, reference, _upper_length(answer, reference))
    return close if close > KEPT else 0.0


def exact(answer: str, reference: str) -> float:
    """The same text without case and extra spaces."""
    return float(plain(answer) == plain(reference))


def plain(text: str) -> str:
    """Lower case, single spaces, none outside."""
    return " ".join(text.lower().split())


def _upper_length(answer: str, reference: str) -> int:
    return max(len(answer.upper()), len(reference.upper()))
