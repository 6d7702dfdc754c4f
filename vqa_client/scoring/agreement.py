"""How far raters agree beyond chance, and a share corrected for a rater's known errors; plain Python.

Cohen's kappa of n items with weights v_k that add up to 1, categories i_k and j_k, and marginals a and b:

    p_o = sum of v_k where i_k = j_k        p_e = sum of a_c b_c        kappa = (p_o - p_e) / (1 - p_e)
    u_k = ([i_k = j_k] - p_o) / (1 - p_e) - (1 - p_o) (b_i + a_j - 2 p_e) / (1 - p_e)^2
    var = G / (G - 1) * sum over G clusters of (sum of their v_k u_k)^2

Quadratic weights (Cohen, Psychological Bulletin 70, 1968) are for grades in [0, 1]: p_o uses 1 - (i - j)^2 instead of
[i = j], b_i and a_j are its means over the other marginal, and p_e is its mean over both marginals.

If each item is its own cluster, and without G / (G - 1), this is the variance of Fleiss, Cohen and Everitt,
Psychological Bulletin 72 (1969). The interval is Student's t with G - 1 degrees of freedom. Fleiss' kappa
(Psychological Bulletin 76, 1971) has the same form, with the share of agreeing pairs of an item's m raters as p_o and
the squared marginals as p_e.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from math import fsum, sqrt
from operator import eq
from statistics import median
from typing import Any

from msgspec import Struct

from vqa_client.scoring.paired import by_cluster
from vqa_client.scoring.statistics import t_quantile

Rating = tuple[Hashable, Hashable, str]
"""An item's category by each rater, and its cluster; an item with the cluster "" is a cluster of its own."""


class Kappa(Struct, frozen=True, kw_only=True):
    """Agreement beyond chance, at most 1; `value` is None if all items are in one category, the bounds if all agree.

    `agreement` is p_o in [0, 1], `sd` the standard error of `value`.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    sd: float = 0.0
    agreement: float
    n: int
    clusters: int


def joint_rating(ratings: Sequence[float | None], *, graded: bool) -> float | None:
    """The rating that more than half of the raters give, in any order; None if there is none.

    Raters without a rating count, too. Of grades it is the median, if more than half of the raters give one.
    """
    if graded:
        grades = [grade for grade in ratings if grade is not None]
        return median(grades) if 2 * len(grades) > len(ratings) else None
    [(score, votes)] = Counter(ratings).most_common(1)
    return score if 2 * votes > len(ratings) else None


def cohens_kappa(
    ratings: Sequence[Rating], weights: Sequence[float] | None = None, *, quadratic: bool = False
) -> Kappa | None:
    """The kappa of two raters; None without items. `weights` are the numbers of items that each one represents.

    `quadratic` is for grades in [0, 1]: the closer two grades are, the more they agree.
    """
    if not ratings:
        return None
    shares = _shares(weights or [1.0] * len(ratings))
    likeness: Callable[[Any, Any], float] = (lambda i, j: 1 - (i - j) ** 2) if quadratic else eq
    a, b = (_marginal(shares, [rating[side] for rating in ratings]) for side in (0, 1))
    observed = fsum(v * likeness(i, j) for v, (i, j, _) in zip(shares, ratings, strict=True))
    to_b = {i: fsum(share * likeness(i, j) for j, share in b.items()) for i in a}
    to_a = {j: fsum(share * likeness(i, j) for i, share in a.items()) for j in b}
    chance = fsum(share * to_b[i] for i, share in a.items())
    influences = [
        (v * _influence(likeness(i, j), to_b[i] + to_a[j], observed, chance), cluster)
        for v, (i, j, cluster) in zip(shares, ratings, strict=True)
    ]
    return _kappa(observed, chance, influences)


def spearmans_rho(pairs: Sequence[tuple[float, float]], weights: Sequence[float] | None = None) -> float | None:
    """The correlation of the ranks of two raters' grades, ties in the middle; None if a rater gives only one grade."""
    if not pairs:
        return None
    shares = _shares(weights or [1.0] * len(pairs))
    x, y = (_ranks(shares, [pair[side] for pair in pairs]) for side in (0, 1))
    xx, yy, xy = (fsum(v * a * b for v, a, b in zip(shares, *two, strict=True)) for two in ((x, x), (y, y), (x, y)))
    return max(-1.0, min(1.0, xy / sqrt(xx * yy))) if min(xx, yy) > 1e-12 else None


def fleiss_kappa(items: Iterable[tuple[Sequence[Hashable], str]]) -> Kappa | None:
    """The kappa of several raters, from each item's categories by all of them and its cluster; None without items.

    Raises ValueError if items have different numbers of raters, or only one.
    """
    counted = [(Counter(categories), cluster) for categories, cluster in items]
    if not counted:
        return None
    raters = {counts.total() for counts, _ in counted}
    m = raters.pop()
    if raters or m < 2:
        raise ValueError("each item needs the same number of raters, and at least two")
    n = len(counted)
    agreeing = [fsum(k * (k - 1) for k in counts.values()) / (m * (m - 1)) for counts, _ in counted]
    observed = fsum(agreeing) / n
    marginal = {c: k / (n * m) for c, k in sum((counts for counts, _ in counted), Counter()).items()}
    chance = fsum(share * share for share in marginal.values())
    influences = [
        (_influence(own, 2 * fsum(marginal[c] * k / m for c, k in counts.items()), observed, chance) / n, cluster)
        for own, (counts, cluster) in zip(agreeing, counted, strict=True)
    ]
    return _kappa(observed, chance, influences)


def rogan_gladen(positive: float, sensitivity: float, specificity: float) -> float | None:
    """The true share of right answers, from the share that a judge with known errors calls right, cut to [0, 1].

    None for a judge that hardly distinguishes right from wrong (sensitivity + specificity at most 1.1). Source: Rogan
    and Gladen, American Journal of Epidemiology 107 (1978).
    """
    youden = sensitivity + specificity - 1
    return min(1.0, max(0.0, (positive + specificity - 1) / youden)) if youden > 0.1 + 1e-12 else None


def _shares(weights: Sequence[float]) -> list[float]:
    total = fsum(weights)
    return [weight / total for weight in weights]


def _ranks(shares: Sequence[float], grades: Sequence[float]) -> list[float]:
    """For each grade the share of grades below it plus half the share of equal ones, less their mean of one half."""
    share_of, below, rank = _marginal(shares, grades), 0.0, dict[Hashable, float]()
    for grade in sorted(set(grades)):
        rank[grade] = below + share_of[grade] / 2 - 0.5
        below += share_of[grade]
    return [rank[grade] for grade in grades]


def _marginal(shares: Sequence[float], categories: Sequence[Hashable]) -> dict[Hashable, float]:
    by_category: dict[Hashable, list[float]] = defaultdict(list)
    for share, category in zip(shares, categories, strict=True):
        by_category[category].append(share)
    return {category: fsum(members) for category, members in by_category.items()}


def _influence(own: float, marginals: float, observed: float, chance: float) -> float:
    left = 1 - chance
    return (own - observed) / left - (1 - observed) * (marginals - 2 * chance) / left**2 if left > 1e-12 else 0.0


def _kappa(observed: float, chance: float, influences: Sequence[tuple[float, str]]) -> Kappa:
    sums = by_cluster(influences)
    n, clusters = len(influences), len(sums)
    if 1 - chance <= 1e-12:
        return Kappa(value=None, agreement=observed, n=n, clusters=clusters)
    value = (observed - chance) / (1 - chance)
    squares = fsum(total**2 for total, _ in sums)
    if clusters < 2 or squares < 1e-24:
        return Kappa(value=value, agreement=observed, n=n, clusters=clusters)
    sd = sqrt(clusters / (clusters - 1) * squares)
    half = t_quantile(0.95, clusters - 1) * sd
    low, high = max(-1.0, value - half), min(1.0, value + half)
    return Kappa(value=value, low=low, high=high, sd=sd, agreement=observed, n=n, clusters=clusters)
