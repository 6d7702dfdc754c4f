"""Normalised edit similarity (ANLS), as document benchmarks and their harnesses compute it: four rules by one distance.

Each takes an answer and one reference and gives a score in [0, 1]; the best over the references is the question's. They
differ in what is done to the texts, in the length that the distance is divided by, and at 0.5: 1 - distance / length
below it counts as 0. Source: Biten et al., Scene Text VQA (ICCV 2019), section 4, and the evaluators named below.
"""

from typing import Final

KEPT: Final = 0.5


def distance(one: str, other: str) -> int:
    """The Levenshtein distance in code points."""
    row = list(range(len(other) + 1))
    for number, sign in enumerate(one, 1):
        before, row[0] = row[0], number
        for at, wanted in enumerate(other, 1):
            before, row[at] = row[at], before if sign == wanted else 1 + min(before, row[at], row[at - 1])
    return row[-1]


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
