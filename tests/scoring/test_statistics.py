import random
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.linear_time import RATIO, growth_of
from vqa_client.scoring.statistics import Interval, interval, normal_quantile, t_quantile, wilson

CLUSTERS = st.lists(
    st.integers(1, 10).flatmap(lambda n: st.tuples(st.floats(0, n), st.just(n))), min_size=1, max_size=40
)


def of(clusters: list[tuple[float, int]]) -> Interval:
    found = interval(clusters)
    assert found is not None
    return found


def width(clusters: list[tuple[float, int]]) -> float:
    found = of(clusters)
    return found.high - found.low


@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.9, 0.95, 0.99, 0.9999])
def test_quantiles_are_those_of_scipy(confidence: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert normal_quantile(confidence) == pytest.approx(stats.norm.ppf((1 + confidence) / 2), rel=1e-9)
    for df in (1, 2, 3, 4, 5, 10, 39, 199, 200, 201, 500, 200_000):
        assert t_quantile(confidence, df) == pytest.approx(stats.t.ppf((1 + confidence) / 2, df), rel=1e-8)


def test_wilson_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    for n in (1, 2, 7, 50, 1000):
        for successes in {0, 1, n // 3, n - 1, n}:
            for confidence in (0.8, 0.95, 0.99):
                expected = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
                assert wilson(successes / n, n, confidence) == pytest.approx(tuple(expected), abs=1e-9)


def test_wilson_matches_printed_values() -> None:
    """Newcombe, Statistics in Medicine 17 (1998), table I."""
    rows = [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)]
    for successes, n, low, high in rows:
        assert wilson(successes / n, n) == pytest.approx((low, high), abs=5e-5)


def test_the_bounds_of_a_share_are_shares() -> None:
    assert all(wilson(0.0, n)[0] == 0.0 and wilson(1.0, n)[1] == 1.0 for n in range(1, 300))


def test_t_quantiles_match_printed_values() -> None:
    assert [round(t_quantile(0.95, df), 3) for df in (1, 2, 5, 30, 120)] == [12.706, 4.303, 2.571, 2.042, 1.980]


def test_no_questions_have_no_interval() -> None:
    assert interval([]) is None
    assert interval([(0.0, 0)]) is None


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95.0])
def test_a_confidence_outside_its_range_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        interval([(1.0, 2), (0.0, 2)], confidence)


def test_independent_questions_have_wilsons_interval() -> None:
    found = of([(1.0, 1)] * 7 + [(0.0, 1)] * 3)
    assert (found.low, found.high) == wilson(0.7, 10)
    assert (found.method, found.n, found.clusters) == ("Wilson", 10, 10)


def test_the_formula_is_the_documented_one() -> None:
    found = of([(2.0, 2), (1.0, 4), (3.0, 3), (0.0, 1)])
    mean, n, count = 0.6, 10, 4
    squares = 0.8**2 + 1.4**2 + 1.2**2 + 0.6**2
    deff = count / (count - 1) * squares / n**2 / (mean * (1 - mean) / n)
    worst = (4 + 16 + 9 + 1) / n
    weight = 0.15 / (0.15 + count * 0.4)
    assumed = (1 - weight) * min(max(deff, 1), worst) + weight * worst
    effective = max(n / assumed * (1.959964 / 3.182446) ** 2, n / worst)
    z, centre = 1.959964, 1 + 1.959964**2 / effective
    half = z * (mean * (1 - mean) / effective + z**2 / (4 * effective**2)) ** 0.5
    middle = mean + z**2 / (2 * effective)
    assert (found.low, found.high) == pytest.approx(((middle - half) / centre, (middle + half) / centre), abs=1e-5)
    assert (found.method, found.n, found.clusters) == ("cluster-robust t", 10, 4)


def test_one_cluster_counts_as_one_observation() -> None:
    for correct, n in ((5.0, 5), (3.0, 5), (0.0, 200)):
        found = of([(correct, n)])
        assert (found.low, found.high) == wilson(correct / n, 1)
        assert (found.n, found.clusters) == (n, 1)


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
def test_equal_scores_everywhere_have_an_interval_with_width(score: float) -> None:
    widths = [width([(score * 5, 5)] * count) for count in (1, 2, 5, 20, 100)]
    assert all(narrower < wider for wider, narrower in pairwise(widths))
    assert widths[-1] > 0.01


def test_dependent_questions_widen_the_interval() -> None:
    together = [(0.0, 10)] * 10 + [(10.0, 10)] * 10
    apart = [(5.0, 10)] * 20
    alone = [(0.0, 1)] * 100 + [(1.0, 1)] * 100
    assert width(together) > 2.5 * width(alone)
    assert width(alone) < width(apart) < width(together)


@given(CLUSTERS, st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_the_interval_contains_the_mean_and_is_within_0_and_1(
    clusters: list[tuple[float, int]], confidence: float
) -> None:
    found = interval(clusters, confidence)
    assert found is not None
    mean = sum(total for total, _ in clusters) / sum(n for _, n in clusters)
    assert 0 <= found.low <= mean + 1e-12
    assert mean - 1e-12 <= found.high <= 1
    assert found.low < found.high


@given(CLUSTERS, st.randoms(use_true_random=False))
def test_the_order_of_clusters_does_not_change_a_bit(clusters: list[tuple[float, int]], chooser: random.Random) -> None:
    shuffled = list(clusters)
    chooser.shuffle(shuffled)
    assert interval(shuffled) == interval(iter(clusters))


@given(CLUSTERS, st.integers(2, 5))
def test_more_questions_narrow_the_interval(clusters: list[tuple[float, int]], times: int) -> None:
    assume(len(clusters) > 1)
    assert width(clusters * times) < width(clusters)


@given(CLUSTERS)
def test_more_confidence_widens_the_interval(clusters: list[tuple[float, int]]) -> None:
    bounds = [found for found in (interval(clusters, confidence) for confidence in (0.5, 0.8, 0.95, 0.99)) if found]
    assert all(wide.low <= narrow.low + 1e-12 and narrow.high <= wide.high + 1e-12 for narrow, wide in pairwise(bounds))


def covered(chooser: random.Random, *, clusters: int, correlation: float, accuracy: float, runs: int = 1500) -> float:
    """The share of simulated intervals that contain the truth; 2-10 questions per cluster, accuracies by a beta."""
    spread = (1 - correlation) / correlation if correlation else 0.0

    def cluster() -> tuple[float, int]:
        n = chooser.randint(2, 10)
        own = chooser.betavariate(accuracy * spread, (1 - accuracy) * spread) if spread else accuracy
        return float(sum(chooser.random() < own for _ in range(n))), n

    found = [of([cluster() for _ in range(clusters)]) for _ in range(runs)]
    return sum(each.low <= accuracy <= each.high for each in found) / runs


@pytest.mark.parametrize(
    ("clusters", "correlation", "accuracy"),
    [(20, 0.2, 0.5), (20, 0.6, 0.8), (20, 0.4, 0.9), (40, 0.2, 0.8), (40, 0.6, 0.5), (40, 0.6, 0.97), (40, 0.4, 0.9)],
)
def test_coverage_is_nominal_from_twenty_clusters_on(clusters: int, correlation: float, accuracy: float) -> None:
    share = covered(random.Random(7), clusters=clusters, correlation=correlation, accuracy=accuracy)
    assert 0.92 <= share <= 0.98


@pytest.mark.parametrize(
    ("clusters", "correlation", "accuracy"),
    [(5, 0.0, 0.8), (5, 0.6, 0.5), (5, 0.6, 0.97), (10, 0.3, 0.9), (40, 0.0, 0.97)],
)
def test_coverage_with_few_or_independent_clusters_errs_on_the_wide_side(
    clusters: int, correlation: float, accuracy: float
) -> None:
    share = covered(random.Random(7), clusters=clusters, correlation=correlation, accuracy=accuracy)
    assert share >= 0.92


def test_an_interval_blind_to_clusters_would_fail_the_same_simulation() -> None:
    chooser = random.Random(7)
    hits = 0
    for _ in range(400):
        correct = sum(10 for _ in range(20) if chooser.random() < 0.7)
        bounds = wilson(correct / 200, 200)
        hits += bounds[0] <= 0.7 <= bounds[1]
    assert hits / 400 < 0.7


def test_two_hundred_thousand_clusters_take_a_fraction_of_a_second() -> None:
    took = growth_of(of, lambda size: [(float(number % 4), 3) for number in range(size)], 200_000, limit=1_000)
    assert took.ratio < RATIO
    assert took.whole < 1_000
