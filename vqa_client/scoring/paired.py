"""The difference of two mean scores over the same questions, which may share a document or image; plain Python.

Here are its interval and p, other tests, Holm's correction and the minimum detectable difference. A cluster is the
image or document that several questions share, or a question alone; with one pair per cluster these are the usual
tests.

The interval is Student's t on the variance of a ratio, by clusters, after two pseudo-pairs are added, half of each to
every cell of the table right/wrong x right/wrong, so that it never has zero width. The weight m of a pseudo-pair is 1
if the questions of a cluster differ independently, and a whole cluster if they differ together or if hardly any differ.
With G clusters, cluster g with n_g pairs and a sum of differences D_g, N = sum of n_g and d = sum of D_g / N:

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
0.05 in at most 5.5 % of cases, but in 6.5 % with 15 clusters in which only one of the two answers all questions alike.
"""

import random
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import exp, fsum, lgamma, log, sqrt
from typing import Final

from msgspec import Struct

from vqa_client.scoring.sign_flips import SEED, sign_flip
from vqa_client.scoring.statistics import PRIOR, t_quantile, t_tail

METHOD = "cluster-robust t, Agresti-Min pseudo-pairs"
CONFIDENCE: Final = 0.95
Cluster = tuple[float, int]
"""The sum of the gaps a - b of a cluster, and its number of pairs."""


class Difference(Struct, frozen=True, kw_only=True):
    """The mean of a - b over `n` pairs in `clusters` clusters, bounds in [-1, 1].

    `higher` and `lower` count the pairs in which a scores above and below b. `p` comes from flipping the signs of whole
    clusters: exact if `draws` is 0, else from that many random draws.
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


def difference(pairs: Iterable[tuple[float, float, str]]) -> Difference | None:
    """Compare a with b at 95 %, from each question's scores in [0, 1] under both, and the name of its cluster.

    A question with an empty name is a cluster of its own. None without pairs; their order doesn't matter.
    """
    gaps = [(a - b, cluster) for a, b, cluster in pairs]
    if not gaps:
        return None
    clusters = by_cluster(gaps)
    n = len(gaps)
    value = fsum(total for total, _ in clusters) / n
    centre, error, df = centre_and_error(clusters)
    half = t_quantile(CONFIDENCE, df) * error
    low, high = centre - half, centre + half
    p, draws = sign_flip(total for total, _ in clusters)
    higher, lower = (sum(sign * gap > 0 for gap, _ in gaps) for sign in (1, -1))
    return Difference(
        value=value,
        low=max(-1.0, min(value, low)),
        high=min(1.0, max(value, high)),
        n=n,
        clusters=len(clusters),
        higher=higher,
        lower=lower,
        p=p,
        draws=draws,
    )


def by_cluster(values: Iterable[tuple[float, str]]) -> list[Cluster]:
    """Add up the values of each cluster, in a fixed order; a value with an empty name is a cluster of its own."""
    clusters: dict[object, list[float]] = defaultdict(list)
    for number, (value, cluster) in enumerate(values):
        clusters[cluster or number].append(value)
    return sorted((fsum(members), len(members)) for members in clusters.values())


def centre_and_error(clusters: Sequence[Cluster]) -> tuple[float, float, int]:
    """The centre of the interval, its standard error and its degrees of freedom, with the pseudo-pairs."""
    count, n = len(clusters), sum(size for _, size in clusters)
    pseudo = _weight_of_pseudo_pairs(clusters, n)
    weight = n + 2 * pseudo
    centre = fsum(total for total, _ in clusters) / weight
    squares = _squares(clusters, centre) + pseudo**2 * (1 + 2 * centre**2)
    return centre, sqrt((count + 2) / (count + 1) * squares) / weight, count + 1


def _weight_of_pseudo_pairs(clusters: Sequence[Cluster], n: int) -> float:
    """The m of the module's docstring: how much the questions of a cluster repeat each other."""
    mean = fsum(total for total, _ in clusters) / n
    worst = sum(size * size for _, size in clusters) / n
    independent = fsum(abs(total) for total, _ in clusters) - mean**2 * n
    repeated = (_squares(clusters, mean) + PRIOR * worst**2) / (independent + PRIOR * worst)
    return min(max(repeated, 1.0), worst)


def _squares(clusters: Sequence[Cluster], mean: float) -> float:
    return fsum((total - mean * size) ** 2 for total, size in clusters)


RESAMPLES: Final = 10_000
FEWEST_RESAMPLES: Final = 500
DRAWS: Final = 2_000_000
"""Draws of a bootstrap, some half a second; with more kinds of clusters there are fewer resamples."""
POWER: Final = 0.8
_TAIL: Final = (1 - CONFIDENCE) / 2
Sums = tuple[float, ...]
BOOTSTRAP_NOTE: Final = "too narrow with few clusters or few questions that differ: rely on `difference` and `p`"


class PairedT(Struct, frozen=True, kw_only=True):
    """A paired t test by clusters: the statistic, its degrees of freedom, and p on both sides."""

    t: float
    df: int
    standard_error: float
    p: float


class Bootstrap(Struct, frozen=True, kw_only=True):
    """The percentile interval of the difference at 95 %, and a two-sided p: twice the share of resamples beyond 0.

    For readers who expect one: with 8 clusters of 5, at 97 against 93 %, it contains the truth in 65-90 % of cases.
    """

    low: float
    high: float
    p: float
    resamples: int
    seed: int
    note: str = BOOTSTRAP_NOTE


def paired_t(clusters: Sequence[Cluster]) -> PairedT | None:
    """t = d / sqrt(v) with v = G / (G - 1) * sum((D_g - d n_g)^2) / N^2 and G - 1 degrees of freedom.

    None with one cluster, or if all clusters differ by the same. Source: the cluster-robust variance of a regression on
    a constant (Liang and Zeger, Biometrika 73, 1986); with one pair per cluster it is Student's test.
    """
    count, n = len(clusters), sum(size for _, size in clusters)
    mean = fsum(total for total, _ in clusters) / n if n else 0.0
    squares = _squares(clusters, mean)
    if count < 2 or squares <= 1e-12 * n:
        return None
    error = sqrt(count / (count - 1) * squares) / n
    return PairedT(t=mean / error, df=count - 1, standard_error=error, p=t_tail(mean / error, count - 1))


def bootstrap(clusters: Sequence[Cluster]) -> Bootstrap:
    """The bootstrap of the difference. Source: Efron and Tibshirani (1993), chapters 13 and 15."""
    means = sorted(total / size for total, size in resampled(clusters, RESAMPLES) if size)
    beyond = min(sum(mean <= 1e-12 for mean in means), sum(mean >= -1e-12 for mean in means))
    return Bootstrap(
        low=_quantile(means, _TAIL),
        high=_quantile(means, 1 - _TAIL),
        p=min(1.0, 2 * (beyond + 1) / (len(means) + 1)),
        resamples=len(means),
        seed=SEED,
    )


def resampled(clusters: Sequence[Sums], most: int = 2_000) -> list[Sums]:
    """Up to `most` resamples: sums over whole clusters, each of them drawn Poisson(1) times.

    Equal clusters are drawn together, as Poisson of their number, so that 20,000 questions take a fraction of a second.
    Source: Hanley and MacGibbon, Computer Methods and Programs in Biomedicine 83 (2006).
    """
    kinds, chance = Counter(clusters), random.Random(SEED)
    times = max(FEWEST_RESAMPLES, min(most, DRAWS // max(1, len(kinds))))
    drawn = [[0.0] * times for _ in clusters[0]] if clusters else []
    for sums, number in sorted(kinds.items()):
        least, table = _poisson_table(number)
        counts = [least + bisect(table, chance.random()) for _ in range(times)]
        for column, value in zip(drawn, sums, strict=True):
            if value:
                column[:] = [total + count * value for total, count in zip(column, counts, strict=True)]
    return list(zip(*drawn, strict=True))


def percentiles(figures: Iterable[float | None]) -> tuple[float, float] | None:
    """The interval at 95 % of resampled figures; None if more than a twentieth of them are None, or all are equal."""
    every = list(figures)
    known = sorted(figure for figure in every if figure is not None)
    if not known or len(known) < 0.95 * len(every):
        return None
    low, high = _quantile(known, 0.025), _quantile(known, 0.975)
    return (low, high) if low < high else None


def holm(values: Sequence[float]) -> list[float]:
    """Holm's corrected p values of one family of tests, in the order given.

    Source: Holm, Scandinavian Journal of Statistics 6 (1979).
    """
    order = sorted(range(len(values)), key=lambda place: values[place])
    steps = ((len(values) - rank) * values[place] for rank, place in enumerate(order))
    adjusted = dict(zip(order, accumulate(steps, max), strict=True))
    return [min(1.0, adjusted[place]) for place in range(len(values))]


def minimum_detectable(clusters: Sequence[Cluster]) -> float | None:
    """The smallest true difference that such a comparison finds at 95 % with this `POWER`, up to 1.

    None with under 6 clusters, whose flipped signs can't give a p as small as 0.05. Source: Bloom, Evaluation Review 19
    (1995): (t for the level + t for the power) * standard error, if as many pairs differ as here.
    """
    if len(clusters) < 2 or 2.0 ** (1 - len(clusters)) > 0.05:
        return None
    _, error, df = centre_and_error(clusters)
    return min(1.0, (t_quantile(CONFIDENCE, df) + t_quantile(2 * POWER - 1, df)) * error)


def _poisson_table(mean: int) -> tuple[int, list[float]]:
    """The least count that matters and the cumulated probabilities from there on, for drawing by bisection."""
    spread = 9 * sqrt(mean) + 20
    least, most = max(0, int(mean - spread)), int(mean + spread)
    return least, list(accumulate(exp(count * log(mean) - mean - lgamma(count + 1)) for count in range(least, most)))


def _quantile(ordered: Sequence[float], share: float) -> float:
    """A quantile, interpolated between two neighbours, as most programs compute it."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
