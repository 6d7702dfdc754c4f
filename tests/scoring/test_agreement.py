"""Kappas against hand-computed values and a second implementation; the correction of a share."""

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations
from math import sqrt
from random import Random

import pytest

from vqa_client.scoring.agreement import (
    Rating,
    cohens_kappa,
    fleiss_kappa,
    joint_rating,
    rogan_gladen,
    spearmans_rho,
)
from vqa_client.scoring.paired import percentiles, resampled
from vqa_client.scoring.statistics import t_quantile

Of = Callable[[list[Fraction], list[tuple[str, ...]]], Fraction]


def ratings(*cells: tuple[str, str, int]) -> list[Rating]:
    """Items by cell of a table; each item is its own cluster."""
    return [(a, b, "") for a, b, number in cells for _ in range(number)]


TABLE = ratings(("yes", "yes", 20), ("yes", "no", 5), ("no", "yes", 10), ("no", "no", 15))


def test_cohens_kappa_and_its_error_are_the_textbooks() -> None:
    found = cohens_kappa(TABLE)
    assert found is not None
    assert found.value == pytest.approx(0.4, abs=1e-12)
    assert found.agreement == pytest.approx(0.7, abs=1e-12)
    assert found.sd * sqrt(49 / 50) == pytest.approx(0.12700, abs=5e-6)


def by_fleiss_cohen_everitt(cells: dict[tuple[str, str], int]) -> tuple[float, float]:
    """The large-sample formula of 1969, cell by cell in exact fractions: kappa and its variance."""
    n = sum(cells.values())
    p = {cell: Fraction(number, n) for cell, number in cells.items()}
    names = sorted({name for cell in cells for name in cell})
    row = {i: sum((p.get((i, j), Fraction(0)) for j in names), Fraction(0)) for i in names}
    column = {j: sum((p.get((i, j), Fraction(0)) for i in names), Fraction(0)) for j in names}
    observed = sum((p.get((i, i), Fraction(0)) for i in names), Fraction(0))
    chance = sum((row[i] * column[i] for i in names), Fraction(0))
    kappa = (observed - chance) / (1 - chance)
    first = sum(p.get((i, i), Fraction(0)) * (1 - (row[i] + column[i]) * (1 - kappa)) ** 2 for i in names)
    others = sum(p.get((i, j), Fraction(0)) * (column[i] + row[j]) ** 2 for i in names for j in names if i != j)
    variance = first + (1 - kappa) ** 2 * others - (kappa - chance * (1 - kappa)) ** 2
    return float(kappa), float(variance / (n * (1 - chance) ** 2))


@pytest.mark.parametrize("seed", range(5))
def test_cohens_kappa_is_that_of_a_second_implementation(seed: int) -> None:
    draw = Random(seed)
    cells = {(i, j): draw.randrange(1, 30) for i in "abc" for j in "abc"}
    found = cohens_kappa(ratings(*((i, j, number) for (i, j), number in cells.items())))
    assert found is not None
    n = sum(cells.values())
    assert (found.value, found.sd**2 * (n - 1) / n) == pytest.approx(by_fleiss_cohen_everitt(cells), abs=1e-12)


def cohens_of(weights: list[Fraction], items: list[tuple[str, ...]]) -> Fraction:
    """Cohen's kappa by its definition, of weighted items."""
    total = sum(weights)
    shares = [weight / total for weight in weights]
    names = {name for item in items for name in item}
    sides = [
        {name: sum(v for v, item in zip(shares, items, strict=True) if item[side] == name) for name in names}
        for side in (0, 1)
    ]
    observed = sum(v for v, (i, j) in zip(shares, items, strict=True) if i == j)
    chance = sum(sides[0][name] * sides[1][name] for name in names)
    return Fraction(observed - chance) / (1 - chance)


def fleiss_of(weights: list[Fraction], items: list[tuple[str, ...]]) -> Fraction:
    """Fleiss' kappa by its definition, of weighted items."""
    total, m = sum(weights), len(items[0])
    shares = [weight / total for weight in weights]
    names = {name for item in items for name in item}
    agreeing = [Fraction(sum(a == b for a, b in permutations(item, 2)), m * (m - 1)) for item in items]
    observed = sum(v * own for v, own in zip(shares, agreeing, strict=True))
    held = {name: sum(v * item.count(name) for v, item in zip(shares, items, strict=True)) / m for name in names}
    chance = sum(share * share for share in held.values())
    return Fraction(observed - chance) / (1 - chance)


@pytest.mark.parametrize(("raters", "of"), [(2, cohens_of), (2, fleiss_of), (4, fleiss_of)])
def test_kappas_and_their_intervals_are_those_of_exact_derivatives(raters: int, of: Of) -> None:
    """A second implementation: the change of kappa when an item gets a little more weight, summed by cluster."""
    draw = Random(raters)
    items = [tuple(draw.choice("aaabc") for _ in range(raters)) for _ in range(40)]
    clusters = [f"c{number // 3}" for number in range(40)]
    weights, little = [Fraction(1, 40)] * 40, Fraction(1, 10**30)
    value = of(weights, items)
    by_cluster: dict[str, Fraction] = {}
    for number, cluster in enumerate(clusters):
        more = [weight + little * (at == number) for at, weight in enumerate(weights)]
        step = (of(more, items) - value) / little / 40
        by_cluster[cluster] = by_cluster.get(cluster, Fraction(0)) + step
    held = len(by_cluster)
    sd = sqrt(float(Fraction(held, held - 1) * sum(each * each for each in by_cluster.values())))
    half = t_quantile(0.95, held - 1) * sd
    found = (
        cohens_kappa([(*item, cluster) for item, cluster in zip(items, clusters, strict=True)])
        if of is cohens_of
        else fleiss_kappa(zip(items, clusters, strict=True))
    )
    assert found is not None
    wanted = (float(value), sd, float(value) - half, float(value) + half)
    assert (found.value, found.sd, found.low, found.high) == pytest.approx(wanted, abs=1e-12)


def test_items_that_share_a_cluster_count_as_one() -> None:
    alone = cohens_kappa([(a, b, str(number)) for number, (a, b, _) in enumerate(TABLE)])
    twice = cohens_kappa([(a, b, str(number)) for number, (a, b, _) in enumerate(TABLE) for _ in range(2)])
    assert alone is not None
    assert twice is not None
    assert (twice.n, twice.clusters, twice.sd) == (100, 50, pytest.approx(alone.sd, abs=1e-12))


def test_weights_are_as_so_many_items() -> None:
    cells = {("a", "a"): 4, ("a", "b"): 2, ("b", "b"): 3}
    weighted = cohens_kappa([(*cell, "") for cell in cells], list(map(float, cells.values())))
    counted = cohens_kappa(ratings(*((i, j, number) for (i, j), number in cells.items())))
    assert weighted is not None
    assert counted is not None
    assert weighted.value == pytest.approx(counted.value, abs=1e-12)


def test_fleiss_kappa_is_that_of_his_paper() -> None:
    # Worked by hand in fractions: 4 items, 3 raters.
    items = [("aaa", ""), ("aab", ""), ("abb", ""), ("bbb", "")]
    found = fleiss_kappa([(list(said), cluster) for said, cluster in items])
    observed, chance = Fraction(1 + 1, 4) + Fraction(1, 3) * Fraction(2, 4), Fraction(1, 2)
    assert found is not None
    assert found.value == pytest.approx(float((observed - chance) / (1 - chance)), abs=1e-12)
    assert found.low is not None
    with pytest.raises(ValueError, match="same number of raters"):
        fleiss_kappa([(["a", "b"], ""), (["a"], "")])


def test_of_one_category_there_is_no_kappa_and_of_full_agreement_no_interval() -> None:
    one = cohens_kappa(ratings(("yes", "yes", 9)))
    assert one is not None
    assert (one.value, one.agreement) == (None, 1.0)
    full = cohens_kappa(ratings(("yes", "yes", 5), ("no", "no", 4)))
    assert full is not None
    assert (full.value, full.low, full.sd) == (pytest.approx(1.0), None, 0.0)
    assert cohens_kappa([]) is None
    assert fleiss_kappa([]) is None


@pytest.mark.parametrize(
    ("positive", "sensitivity", "specificity", "right"),
    [
        (0.5, 1.0, 1.0, 0.5),
        (0.62, 0.9, 0.8, 0.6),  # 0.6 x 0.9 + 0.4 x 0.2
        (0.1, 0.9, 0.8, 0.0),  # less than its false alarms
        (0.95, 0.9, 0.8, 1.0),
        (0.5, 0.6, 0.5, None),  # it tells nothing
    ],
)
def test_a_share_is_corrected_for_a_judges_errors(
    positive: float, sensitivity: float, specificity: float, right: float | None
) -> None:
    found = rogan_gladen(positive, sensitivity, specificity)
    assert found == (None if right is None else pytest.approx(right, abs=1e-12))


def weighted_of(weights: list[Fraction], items: list[tuple[Fraction, Fraction]]) -> Fraction:
    """Quadratic kappa by its definition: 1 - observed disagreement / disagreement by chance."""
    total = sum(weights)
    apart = sum(w * (i - j) ** 2 for w, (i, j) in zip(weights, items, strict=True)) / total
    chance = sum(
        v * w * (i - j) ** 2
        for v, (i, _) in zip(weights, items, strict=True)
        for w, (_, j) in zip(weights, items, strict=True)
    )
    return 1 - Fraction(apart) / (Fraction(chance) / total**2)


def test_quadratic_kappa_and_its_interval_are_those_of_exact_derivatives() -> None:
    draw = Random(5)
    items = [(Fraction(draw.randrange(11), 10), Fraction(draw.randrange(11), 10)) for _ in range(30)]
    weights, little = [Fraction(draw.randrange(1, 5)) for _ in items], Fraction(1, 10**30)
    value, total, by_cluster = weighted_of(weights, items), sum(weights), dict[int, Fraction]()
    for number in range(30):
        more = [weight * (1 + little * (at == number)) for at, weight in enumerate(weights)]
        step = (weighted_of(more, items) - value) / little
        by_cluster[number // 2] = by_cluster.get(number // 2, Fraction(0)) + step
    sd = sqrt(15 / 14 * sum(float(each) ** 2 for each in by_cluster.values()))
    found = cohens_kappa(
        [(float(i), float(j), f"c{number // 2}") for number, (i, j) in enumerate(items)],
        list(map(float, weights)),
        quadratic=True,
    )
    assert total
    assert found is not None
    assert (found.value, found.sd) == (pytest.approx(float(value), abs=1e-12), pytest.approx(sd, abs=1e-12))
    assert cohens_kappa([(0.1, 0.3, ""), (0.1, 0.3, "")], quadratic=True).value == 0  # type: ignore[union-attr]


def test_spearmans_rho_is_scipys() -> None:
    stats = pytest.importorskip("scipy.stats")
    draw = Random(6)
    pairs = [(draw.randrange(6) / 5, draw.randrange(11) / 10) for _ in range(40)]
    weights = [draw.randrange(1, 4) for _ in pairs]
    repeated = [pair for pair, weight in zip(pairs, weights, strict=True) for _ in range(weight)]
    for given, of, found in ((pairs, pairs, None), (repeated, pairs, list(map(float, weights)))):
        wanted = stats.spearmanr(*zip(*given, strict=True)).statistic
        assert spearmans_rho(of, found) == pytest.approx(wanted, abs=1e-12)
    assert spearmans_rho([(0.0, 1.0), (0.0, 0.5)]) is None
    assert spearmans_rho([]) is None


def test_resampled_figures_spread_as_the_figure_does() -> None:
    clusters = [(float(number % 4 > 0), 1.0) for number in range(400)]
    low, high = percentiles(right / n for right, n in resampled(clusters)) or (0.0, 0.0)
    sd = sqrt(0.75 * 0.25 / 400)
    assert (low, high) == (pytest.approx(0.75 - 1.96 * sd, abs=0.004), pytest.approx(0.75 + 1.96 * sd, abs=0.004))
    assert resampled(clusters) == resampled(clusters[::-1])
    assert percentiles([0.5] * 90 + [None] * 10) is None
    assert percentiles([]) is None
    assert resampled([]) == []


def test_the_joint_rating_does_not_depend_on_the_order() -> None:
    for said, graded, wanted in (
        ([1.0, 1.0, None], False, 1.0),
        ([1.0, None, None], False, None),
        ([1.0, 0.0], False, None),
        ([0.5, 1.0, 0.0], False, None),
        ([0.7, 0.8, 0.2], True, 0.7),
        ([0.7, 0.8], True, 0.75),
        ([0.7, None], True, None),
    ):
        for order in permutations(said):
            found = joint_rating(order, graded=graded)
            assert found == (wanted if wanted is None else pytest.approx(wanted))
