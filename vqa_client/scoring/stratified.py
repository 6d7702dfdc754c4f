"""Which questions a stratified sample has: in proportion to its strata, and nested.

All questions are put in one order, of which a sample is the beginning, so that a larger one contains a smaller. Within
a stratum of m questions the order is that of a hash, and the r-th of these, counted from 0, stands at (2 r + 1) / (2 m)
of the whole: then each beginning has of every stratum its share to within rounding. This is Webster's apportionment by
the divisors 1, 3, 5, ..., which unlike the method of largest remainders never takes a seat back as the house grows
(Balinski and Young, Fair Representation, 1982).
"""

from array import array
from collections.abc import Iterable
from hashlib import blake2b

_PLACE_BITS = 32
_PLACE = (1 << _PLACE_BITS) - 1


def drawn(questions: Iterable[tuple[str, str]], size: int, seed: int) -> "array[int]":
    """Draw `size` of the questions, given by id and stratum; their places among them in rising order.

    Whether a question is drawn depends on the ids, the strata and the seed, not on the order.
    """
    strata: dict[str, list[int]] = {}
    for place, (name, stratum) in enumerate(questions):
        strata.setdefault(stratum, []).append(_hash(name, seed) << _PLACE_BITS | place)
    ranked = sorted(
        ((2 * rank + 1) / (2 * len(members)), member)
        for members in strata.values()
        for rank, member in enumerate(sorted(members))
    )
    return array("I", sorted(member & _PLACE for _, member in ranked[:size]))


def _hash(name: str, seed: int) -> int:
    return int.from_bytes(blake2b(f"{seed} {name}".encode("utf-8", "surrogatepass"), digest_size=8).digest())
