"""Could a difference as large be chance? The p of signs drawn at random; plain Python.

Were both runs equally good, what a cluster of questions differs by could as well have the other sign. With G clusters
that differ, the p is the share of the 2^G ways to sign them whose sum is at least as far from 0 as the one found, so it
is never below 2^(1 - G). It is exact where differences of a cluster have the same chance either way, whatever the
questions of a cluster have in common. With one question a cluster, right or wrong, it is McNemar's exact p.

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
"""Each draws eight signs; what needs more gets fewer draws, so that a p takes some tenths of a second at most."""
_ALIKE: Final = 50
_STEPS: Final = 250_000
"""Additions up to which a p is exact: all signs of 17 clusters, or some 1,000 that differ by whole questions."""
_LARGEST_DENOMINATOR: Final = 1_000
_FINEST: Final = 10**9
_ROUNDING: Final = 1e-6
"""Sums of scores differ by less than that where they are equal."""
_LEAST: Final = 1e-16


def sign_flip(sums: Iterable[float]) -> tuple[float, int]:
    """The two-sided p of what each cluster differs by, and how many draws it is from; 0 where it is exact.

    The same for any order of the clusters, and never 0 when drawn. An exact p below 1e-16 is given as that, unless all
    clusters differ by as much.
    """
    differing = [each for each in sums if abs(each) > _ROUNDING]
    denominator, slack = _denominator({abs(each) for each in differing}), 0
    if not denominator:
        denominator, slack = _FINEST, len(differing)
    multiples = [round(each * denominator) for each in differing]
    kinds = Counter(map(abs, multiples))
    if len(kinds) <= 1:
        higher = sum(each > 0 for each in multiples)
        return mcnemar(higher, len(multiples) - higher), 0
    least = abs(sum(multiples)) - slack
    chances = _exact_chances(kinds)
    if chances is None:
        return _drawn_share(kinds, least)
    tail = fsum(chance for total, chance in chances.items() if abs(total) >= least)
    return min(1.0, max(_LEAST, tail)), 0


def mcnemar(higher: int, lower: int) -> float:
    """The exact two-sided p that pairs which differ fall on both sides alike: a binomial test with probability 1/2.

    It takes the pairs as independent.
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
    """The smallest that all of them share, as thirds and tenths of a question do."""
    for denominator in range(1, _LARGEST_DENOMINATOR + 1):
        if all(abs(size * denominator - round(size * denominator)) < _ROUNDING for size in sizes):
            return denominator
    return None


def _exact_chances(kinds: Mapping[int, int]) -> dict[int, float] | None:
    """The chance of every sum of signed sizes, by how many clusters have each; None where that takes too long."""
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
    """By how many more of `count` signs are plus than minus, and the chance of it, down to 1e-20."""
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
    """Draw signs: at once for clusters that differ by as much, by the byte for the others."""
    alike = [(size, *_cumulated_chances(count)) for size, count in sorted(kinds.items()) if count > _ALIKE]
    others = [size for size, count in sorted(kinds.items()) if count <= _ALIKE for _ in range(count)]
    others += [0] * (-len(others) % 8)
    tables = [_with_signs(others[start : start + 8]) for start in range(0, len(others), 8)]
    draws = max(FEWEST_DRAWS, min(DRAWS, _LOOKUPS // (len(tables) + len(alike))))
    chance = random.Random(SEED)
    hits = 0
    for _ in range(draws):
        total = sum(map(getitem, tables, chance.randbytes(len(tables))))
        total += sum(size * nets[bisect(shares, chance.random())] for size, nets, shares in alike)
        hits += abs(total) >= least
    return (hits + 1) / (draws + 1), draws


def _cumulated_chances(count: int) -> tuple[list[int], list[float]]:
    nets, shares = zip(*sorted(_binomial(count)), strict=True)
    return list(nets), [*accumulate(shares[:-1]), 1.0]


def _with_signs(sizes: Sequence[int]) -> list[int]:
    """The sums of eight sizes under each of their 256 signs."""
    totals = [0]
    for size in sizes:
        totals = [total + signed for signed in (-size, size) for total in totals]
    return totals
