"""Could chance make a difference this large? The p of a sign-flip test; plain Python.

If both runs are equally good, the difference of a cluster of questions could as well have the other sign. With G
clusters that differ, the p is the share of the 2^G combinations of signs whose sum is at least as far from 0 as the
observed one, so it is at least 2^(1 - G). It is exact if both signs of a cluster are equally likely, even if the
questions of a cluster depend on each other. With one question per cluster, right or wrong, it is McNemar's exact p.

Sources: Fisher, The Design of Experiments (1935), section 21; McNemar, Psychometrika 12 (1947); Phipson and Smyth,
Statistical Applications in Genetics and Molecular Biology 9 (2010), for the p of drawn signs.
"""

import random
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from math import comb, fsum
from operator import getitem
from typing import Final

SEED: Final = 20_260_101
DRAWS: Final = 10_000
FEWEST_DRAWS: Final = 1_000
_LOOKUPS: Final = 4_000_000
"""Each draws eight signs; more clusters get fewer draws, so that a p takes some tenths of a second at most."""
_MANY: Final = 50
_STEPS: Final = 250_000
"""Additions up to which a p is exact: all signs of 17 clusters, or some 1,000 that differ by whole questions."""
_LARGEST_DENOMINATOR: Final = 1_000
_FINEST: Final = 10**9
_ROUNDING: Final = 1e-6
"""The largest rounding error of equal sums of scores."""
_LEAST: Final = 1e-16


def sign_flip(sums: Iterable[float]) -> tuple[float, int]:
    """The two-sided p of the differences of clusters, and the number of draws behind it, 0 if the p is exact.

    The order of the clusters doesn't matter, and a drawn p is never 0. An exact p is at least 1e-16, unless all
    clusters differ by the same.
    """
    differing = [total for total in sums if abs(total) > _ROUNDING]
    denominator, slack = _denominator(set(map(abs, differing))), 0
    if not denominator:
        denominator, slack = _FINEST, len(differing)
    multiples = [round(total * denominator) for total in differing]
    kinds = Counter(map(abs, multiples))
    if len(kinds) <= 1:
        higher = sum(multiple > 0 for multiple in multiples)
        return mcnemar(higher, len(multiples) - higher), 0
    least = abs(sum(multiples)) - slack
    chances = _exact_chances(kinds)
    if chances is None:
        return _drawn_share(kinds, least)
    tail = fsum(chance for total, chance in chances.items() if abs(total) >= least)
    return min(1.0, max(_LEAST, tail)), 0


def mcnemar(higher: int, lower: int) -> float:
    """The exact two-sided p of McNemar's test: are both signs of the differing pairs equally likely?

    It is a binomial test with probability 1/2, for independent pairs.
    """
    n, fewer = higher + lower, min(higher, lower)
    term = tail = comb(n, fewer) / (1 << n)
    for k in range(fewer, 0, -1):
        term *= k / (n - k + 1)
        tail += term
        if term < tail * 1e-17:
            break
    return min(1.0, 2 * tail)


def _denominator(sizes: Collection[float]) -> int | None:
    """The smallest common denominator, such as 30 for thirds and tenths of a question; None if it is too large."""
    for denominator in range(1, _LARGEST_DENOMINATOR + 1):
        if all(abs(size * denominator - round(size * denominator)) < _ROUNDING for size in sizes):
            return denominator
    return None


def _exact_chances(kinds: Mapping[int, int]) -> dict[int, float] | None:
    """The chance of every sum of signed sizes; `kinds` is size -> number of clusters. None if it takes too long."""
    chances, steps = {0: 1.0}, 0
    for size, count in sorted(kinds.items(), key=lambda kind: (kind[1], kind[0])):
        shares = _binomial(count)
        steps += len(chances) * len(shares)
        if steps > _STEPS:
            return None
        grown: defaultdict[int, float] = defaultdict(float)
        for total, chance in chances.items():
            for net, share in shares:
                grown[total + net * size] += chance * share
        chances = grown
    return chances


def _binomial(count: int) -> list[tuple[int, float]]:
    """How many more of `count` signs are plus than minus, with the chance of each number, down to 1e-20."""
    plus = count // 2
    chance = comb(count, plus) / (1 << count)
    chances = []
    while plus >= 0 and chance > 1e-20:
        net = 2 * plus - count
        chances += [(net, chance), (-net, chance)] if net else [(0, chance)]
        chance *= plus / (count - plus + 1)
        plus -= 1
    return chances


def _drawn_share(kinds: Mapping[int, int], least: int) -> tuple[float, int]:
    """Draw signs: all at once for many clusters of one size, eight at a time for the others."""
    many = [(size, *_cumulated_chances(count)) for size, count in sorted(kinds.items()) if count > _MANY]
    others = [size for size, count in sorted(kinds.items()) if count <= _MANY for _ in range(count)]
    others += [0] * (-len(others) % 8)
    tables = [_with_signs(others[start : start + 8]) for start in range(0, len(others), 8)]
    draws = max(FEWEST_DRAWS, min(DRAWS, _LOOKUPS // (len(tables) + len(many))))
    chance = random.Random(SEED)
    hits = 0
    for _ in range(draws):
        total = sum(map(getitem, tables, chance.randbytes(len(tables))))
        total += sum(size * nets[bisect(shares, chance.random())] for size, nets, shares in many)
        hits += abs(total) >= least
    return (hits + 1) / (draws + 1), draws


def _cumulated_chances(count: int) -> tuple[list[int], list[float]]:
    nets, shares = zip(*sorted(_binomial(count)), strict=True)
    return list(nets), [*accumulate(shares[:-1]), 1.0]


def _with_signs(sizes: Sequence[int]) -> list[int]:
    """The sums of eight sizes under each of the 256 combinations of signs."""
    totals = [0]
    for size in sizes:
        totals = [total + signed for signed in (-size, size) for total in totals]
    return totals
