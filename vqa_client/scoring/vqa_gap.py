"""How far VQA accuracy with normalising lies above the official one, and which questions make it so."""

from collections.abc import Sequence
from itertools import compress
from math import fsum

from msgspec import Struct


class Gap(Struct, frozen=True, kw_only=True):
    """How far "normalised" lies above "official", as shares of all questions.

    `unanimous` is the number of questions whose annotators all agree, where "official" does not normalise, and
    `differing` of how many the two scores differ. `by_unanimous` is the part of `value` that these questions make.
    """

    value: float
    by_unanimous: float
    unanimous: int
    unanimous_share: float
    differing: int


def gap_between(normalised: Sequence[float], official: Sequence[float], unanimous: Sequence[int]) -> Gap | None:
    """Compare the two scores of the same questions, `unanimous` being 1 where all agree; None without questions."""
    n = len(normalised)
    if not n:
        return None
    differences = [a - b for a, b in zip(normalised, official, strict=True)]
    apart = list(compress(differences, unanimous))
    return Gap(
        value=fsum(differences) / n,
        by_unanimous=fsum(apart) / n,
        unanimous=len(apart),
        unanimous_share=len(apart) / n,
        differing=sum(difference != 0 for difference in apart),
    )
