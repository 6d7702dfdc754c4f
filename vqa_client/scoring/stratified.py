"""Draw a stratified sample: in proportion to the strata, and nested.

All questions get one order, and a sample is its beginning, so a larger sample contains a smaller one. Within a stratum
of m questions a hash gives the order, and the r-th question, counted from 0, has the place (2 r + 1) / (2 m) in the
whole order. Each beginning then has the right share of every stratum, to within rounding. This is Webster's
apportionment with the divisors 1, 3, 5, ...; unlike the method of largest remainders it never takes a seat away when
the house grows (Balinski and Young, Fair Representation, 1982).
"""

from array import array
from collections.abc import Iterable
from hashlib import blake2b

_PLACE_BITS = 32
_PLACE = (1 << _PLACE_BITS) - 1


def draw_stratified(questions: Iterable[tuple[str, str]], size: int, seed: int) -> "array[int]":
    """Draw `size` of the questions, given as (id, stratum); returns their positions in rising order.

    Whether a question is drawn depends on the ids, the strata and the seed, not on the order of the questions.
    """
    strata: dict[str, list[int]] = {}
    for place, (name, stratum) in enumerate(questions):
        strata.setdefault(stratum, []).append(drawn_number(seed, name) << _PLACE_BITS | place)
    ranked = sorted(
        ((2 * rank + 1) / (2 * len(members)), member)
        for members in strata.values()
        for rank, member in enumerate(sorted(members))
    )
    return array("I", sorted(member & _PLACE for _, member in ranked[:size]))


def drawn_number(seed: int, name: str) -> int:
    """A number of 64 bits for a name, which the seed determines: names in the order of their numbers are shuffled."""
    return int.from_bytes(blake2b(f"{seed} {name}".encode("utf-8", "surrogatepass"), digest_size=8).digest())
