"""The difference of two mean scores over the same questions, which may share a document or image; plain Python.

The interval is Student's t on the variance of a ratio, by clusters, after two pseudo-pairs are added, half of each to
every cell of the table right/wrong x right/wrong, so that it never has zero width. A pseudo-pair weighs as much as
questions of a cluster repeat each other: 1 where they differ independently, a whole cluster where they differ together
or where next to none differ. With G clusters, cluster g with n_g pairs and a sum of differences D_g, N = sum of n_g and
d = sum of D_g / N:

    worst = sum(n_g^2) / N                                          a cluster of the usual size
    m     = (sum((D_g - d n_g)^2) + PRIOR worst^2) / (sum |D_g| - d^2 N + PRIOR worst), kept within 1 and worst
    c     = sum(D_g) / (N + 2 m)                                    the centre
    v     = (G + 2) / (G + 1) * (sum((D_g - c n_g)^2) + m^2 (1 + 2 c^2)) / (N + 2 m)^2
    c -+ t sqrt(v)                                                  t with G + 1 degrees of freedom

Sources: Agresti and Min, Statistics in Medicine 24 (2005), for the pseudo-pairs; Cochran, Sampling Techniques (1977),
chapter 9A, for v. m is ours: a design effect, with the PRIOR of `statistics`.

`python -m tests.bench.coverage` simulates 2-1,000 clusters of 1-10 pairs, correlation 0-0.6 and accuracies of 50-97 %.
Coverage is at least 91 %, lowest with 40 clusters of 10 at 97 against 93 % and correlation 0.6; at least 94 % with
correlation up to 0.3; near 100 % with under 10 clusters and accuracies near 1. Where both are equally good, p is below
0.05 in at most 5.5 % of cases, but in 6.5 % with 15 clusters whose questions one of the two alone answers alike.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import fsum, sqrt

from msgspec import Struct

from vqa_client.scoring.sign_flips import sign_flip
from vqa_client.scoring.statistics import PRIOR, t_quantile

METHOD = "cluster-robust t, Agresti-Min pseudo-pairs"
Held = tuple[float, int]
"""What a cluster holds: the sum of its gaps a - b, and how many pairs."""


class Difference(Struct, frozen=True, kw_only=True):
    """The mean of a - b over `n` pairs in `clusters` clusters, bounds in [-1, 1].

    `higher` and `lower` count the pairs in which a scores above and below b. `p` takes whole clusters, by their signs
    flipped: exact where `draws` is 0, else from that many random draws.
    """

    value: float
    low: float
    high: float
    n: int
    clusters: int
    higher: int
    lower: int
    p: float
    draws: int
    method: str = METHOD


def difference(pairs: Iterable[tuple[float, float, str]], confidence: float = 0.95) -> Difference | None:
    """Compare a with b, from the scores in [0, 1] that each question has under both, and its cluster.

    An empty cluster's name is a cluster of its own. None without pairs; the same for any order of them.
    """
    gaps = [(a - b, cluster) for a, b, cluster in pairs]
    if not gaps:
        return None
    held = by_cluster(gaps)
    n = len(gaps)
    value = fsum(total for total, _ in held) / n
    centre, error, df = centre_and_error(held)
    half = t_quantile(confidence, df) * error
    low, high = centre - half, centre + half
    p, draws = sign_flip(total for total, _ in held)
    higher, lower = (sum(sign * gap > 0 for gap, _ in gaps) for sign in (1, -1))
    return Difference(
        value=value,
        low=max(-1.0, min(value, low)),
        high=min(1.0, max(value, high)),
        n=n,
        clusters=len(held),
        higher=higher,
        lower=lower,
        p=p,
        draws=draws,
    )


def by_cluster(gaps: Iterable[tuple[float, str]]) -> list[Held]:
    """Add up the gaps a - b of each cluster, in a fixed order; an empty name is a cluster of its own."""
    clusters: dict[object, list[float]] = defaultdict(list)
    for number, (gap, cluster) in enumerate(gaps):
        clusters[cluster or number].append(gap)
    return sorted((fsum(values), len(values)) for values in clusters.values())


def centre_and_error(held: Sequence[Held]) -> tuple[float, float, int]:
    """The centre of the interval, its standard error and its degrees of freedom, the pseudo-pairs included."""
    count, n = len(held), sum(size for _, size in held)
    pseudo = _weight_of_pseudo_pairs(held, n)
    weight = n + 2 * pseudo
    centre = fsum(total for total, _ in held) / weight
    squares = _squares(held, centre) + pseudo**2 * (1 + 2 * centre**2)
    return centre, sqrt((count + 2) / (count + 1) * squares) / weight, count + 1


def _weight_of_pseudo_pairs(held: Sequence[Held], n: int) -> float:
    """How often a difference of one question repeats itself within its cluster."""
    mean = fsum(total for total, _ in held) / n
    worst = sum(size * size for _, size in held) / n
    independent = fsum(abs(total) for total, _ in held) - mean**2 * n
    repeated = (_squares(held, mean) + PRIOR * worst**2) / (independent + PRIOR * worst)
    return min(max(repeated, 1.0), worst)


def _squares(held: Sequence[Held], mean: float) -> float:
    return fsum((total - mean * size) ** 2 for total, size in held)
