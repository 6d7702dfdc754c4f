"""Normalised edit similarity (ANLS), as document benchmarks and their harnesses compute it: four rules, one distance.

Each rule scores an answer against one reference, in [0, 1]; a question's score is the best over its references. They
differ in how they prepare the texts, in the length that divides the distance, and in whether 1 - distance / length of
exactly 0.5 counts as 0, as smaller values do. Source: Biten et al., Scene Text VQA (ICCV 2019), section 4, and the
evaluators named below.
"""

from functools import lru_cache
from typing import Final

KEPT: Final = 0.5


@lru_cache(maxsize=1 << 12)
def distance(first: str, second: str) -> int:
    """The Levenshtein distance in code points, in time that is linear in the longer text if the other one is short.

    A column of the table of distances is two numbers: the bits of `up` and `down` say where it rises and falls by one.
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
    """1 - distance / length, or 0 if the lengths show that it is below 0.5; two empty texts are equal.

    `length` is that of the longer text unless given.
    """
    length = length or max(len(answer), len(reference))
    if 2 * abs(len(answer) - len(reference)) > length:
        return 0.0
    return 1 - distance(answer, reference) / length if length else 1.0


def anls(answer: str, reference: str) -> float:
    """The rule of lmms-eval and VLMEvalKit for DocVQA and InfographicVQA: ignore case and extra spaces.

    The length is that of the original texts in upper case.
    """
    close = closeness(plain(answer), plain(reference), _upper_length(answer, reference))
    return close if close >= KEPT else 0.0


def anls_stripped(answer: str, reference: str) -> float:
    """`anls` of a reply without spaces around it, as lmms-eval scores it."""
    return anls(answer.strip(), reference)


def anls_mmf(answer: str, reference: str) -> float:
    """ST-VQA's rule in mmf: ignore case and outer spaces."""
    close = closeness(answer.lower().strip(), reference.lower().strip())
    return close if close >= KEPT else 0.0


def anls_doc(answer: str, reference: str) -> float:
    """The rule of MMLongBench-Doc and LongDocURL: unchanged texts, and 0.5 counts as 0, too."""
    close = closeness(answer, reference, _upper_length(answer, reference))
    return close if close > KEPT else 0.0


def exact(answer: str, reference: str) -> float:
    """1 if the texts are equal, ignoring case and extra spaces, else 0."""
    return float(plain(answer) == plain(reference))


def plain(text: str) -> str:
    """Lower case, single spaces, no outer spaces."""
    return " ".join(text.lower().split())


def _upper_length(answer: str, reference: str) -> int:
    return max(len(answer.upper()), len(reference.upper()))
