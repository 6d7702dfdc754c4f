"""Paired differences: against scipy, against swapped pairs, and the coverage of their intervals."""

import random
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.scoring.paired import Difference, difference

SCORE = st.sampled_from([0.0, 0.3, 0.6, 0.9, 1.0])
PAIRS = st.lists(st.tuples(SCORE, SCORE, st.sampled_from(["", "a", "b", "c"])), min_size=1, max_size=30)


def of(*pairs: tuple[float, float, str]) -> Difference:
    found = difference(pairs)
    assert found is not None
    return found


def test_independent_questions_have_the_interval_of_agresti_and_min() -> None:
    """Their adjusted Wald interval for pairs, with n - 1 in the variance and t instead of z."""
    stats = pytest.importorskip("scipy.stats")
    n11, n10, n01, n00 = 40, 4, 13, 43
    pairs = [(1.0, 1.0, "")] * n11 + [(1.0, 0.0, "")] * n10 + [(0.0, 1.0, "")] * n01 + [(0.0, 0.0, "")] * n00
    found = of(*pairs)
    n, b, c = 102, n10 + 0.5, n01 + 0.5
    centre, spread = (b - c) / n, sqrt(((b + c) - (b - c) ** 2 / n) / (n - 1) / n)
    half = stats.t.ppf(0.975, n - 1) * spread
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half), abs=1e-12)
    assert (found.value, found.n, found.clusters) == (pytest.approx(-0.09), 100, 100)
    assert (found.higher, found.lower) == (4, 13)
    assert found.p == pytest.approx(stats.binomtest(4, 17).pvalue)


def test_with_many_clusters_the_variance_is_the_sandwich_variance() -> None:
    """With many clusters the pseudo-pairs hardly matter, and the variance is that of regression packages."""
    draw = random.Random(3)
    pairs, groups = [], []
    for number in range(3_000):
        shared = draw.random() < 0.5
        group = [(float(draw.random() < 0.5 + 0.3 * shared), float(draw.random() < 0.6)) for _ in range(4)]
        groups.append([a - b for a, b in group])
        pairs += [(a, b, str(number)) for a, b in group]
    found, n, count = of(*pairs), len(pairs), len(groups)
    mean = sum(map(sum, groups)) / n
    robust = sqrt(count / (count - 1) * sum(sum(gap - mean for gap in group) ** 2 for group in groups)) / n
    assert found.value == pytest.approx(mean)
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * robust, rel=2e-3)


@given(PAIRS)
def test_swapping_the_pair_changes_only_the_sign(pairs: list[tuple[float, float, str]]) -> None:
    there, back = of(*pairs), of(*((b, a, cluster) for a, b, cluster in pairs))
    assert (back.value, back.low, back.high) == pytest.approx((-there.value, -there.high, -there.low))
    assert (back.higher, back.lower, back.p) == (there.lower, there.higher, there.p)


@given(PAIRS, st.randoms(use_true_random=False))
def test_an_interval_has_width_contains_its_value_and_ignores_the_order(
    pairs: list[tuple[float, float, str]], draw: random.Random
) -> None:
    found = of(*pairs)
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert found.high - found.low > 0.01
    assert 0 <= found.p <= 1
    draw.shuffle(pairs)
    assert of(*pairs) == found


def test_dependent_questions_give_a_wider_interval_than_independent_ones() -> None:
    alone = of(*[(0.0, 1.0, "")] * 20, *[(1.0, 1.0, "")] * 40)
    together = of(*((float(number % 3 > 0), 1.0, str(number)) for number in range(12) for _ in range(5)))
    assert alone.value == together.value
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_one_cluster_gives_a_very_wide_interval() -> None:
    found = of(*[(0.0, 1.0, "page")] * 10, *[(1.0, 1.0, "page")] * 30)
    assert found.high - found.low > 1


def test_equal_scores_everywhere_still_give_an_interval_with_width() -> None:
    found = of(*[(1.0, 1.0, "")] * 50)
    assert found.value == 0
    assert found.low == pytest.approx(-found.high)
    assert 0.02 < found.high < 0.08
    assert found.p == 1.0


def test_without_pairs_there_is_no_difference() -> None:
    assert difference([]) is None


@pytest.mark.parametrize(("n_clusters", "size"), [(12, 5), (60, 3), (150, 1)])
def test_intervals_contain_the_truth_as_often_as_promised(n_clusters: int, size: int) -> None:
    """The answers of an image are correlated by 0.3, and a fifth of the right answers is lost."""
    draw, lost, gained, runs = random.Random(n_clusters), 0.2, 0.05, 300
    held = 0
    for _ in range(runs):
        pairs = []
        for number in range(n_clusters):
            fate = draw.betavariate(lost * 7 / 3, (1 - lost) * 7 / 3)
            for _ in range(size):
                chance = draw.random()
                gap = (0.0, 1.0) if chance < fate else (1.0, 0.0) if chance > 1 - gained * (1 - fate) / 0.8 else (1, 1)
                pairs.append((float(gap[0]), float(gap[1]), str(number)))
        found = of(*pairs)
        held += found.low <= gained - lost <= found.high
    assert 0.92 <= held / runs <= 1.0
