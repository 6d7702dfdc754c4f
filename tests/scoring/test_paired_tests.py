"""Tests of differences: against scipy and statsmodels, and the coverage and power that they promise."""

import random
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.scoring import paired
from vqa_client.scoring.paired import (
    Cluster,
    bootstrap,
    by_cluster,
    centre_and_error,
    holm,
    minimum_detectable,
    paired_t,
)
from vqa_client.scoring.statistics import t_tail

NO_STATSMODELS = "statsmodels, which is big, is not installed"


def clustered(seed: int, *, clusters: int = 60, size: int = 4, gain: float = 0.1) -> list[tuple[float, str]]:
    """Gaps of questions that depend on their image."""
    draw = random.Random(seed)
    gaps = []
    for number in range(clusters):
        own = gain + draw.uniform(-0.3, 0.3)
        for _ in range(draw.randint(1, size)):
            gaps.append((float(draw.random() < 0.5 + own / 2) - float(draw.random() < 0.5 - own / 2), str(number)))
    return gaps


@pytest.mark.parametrize("df", [1, 2, 3, 7, 40, 200, 5_000, 200_000])
def test_tails_of_t_are_those_of_scipy_to_many_digits(df: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    for t in (0.0, 1e-9, 0.1, 1.0, 2.5, -2.5, 12.0, 300.0, 1e10):
        assert t_tail(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-8, abs=1e-300)


def test_independent_questions_have_the_paired_t_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    draw = random.Random(1)
    a, b = ([draw.choice([0.0, 0.3, 0.6, 1.0]) for _ in range(80)] for _ in range(2))
    found = paired_t(by_cluster((one - other, "") for one, other in zip(a, b, strict=True)))
    wanted = stats.ttest_rel(a, b)
    assert found is not None
    assert (found.t, found.p, found.df) == pytest.approx((wanted.statistic, wanted.pvalue, wanted.df), rel=1e-9)


def test_questions_in_clusters_have_the_robust_t_of_statsmodels() -> None:
    sm = pytest.importorskip("statsmodels.api", reason=NO_STATSMODELS)
    gaps = clustered(2)
    wanted = sm.OLS([gap for gap, _ in gaps], [1.0] * len(gaps)).fit(
        cov_type="cluster", cov_kwds={"groups": [int(name) for _, name in gaps]}, use_t=True
    )
    found = paired_t(by_cluster(gaps))
    assert found is not None
    assert found.standard_error == pytest.approx(wanted.bse[0], rel=1e-9)
    assert found.p == pytest.approx(wanted.pvalues[0], rel=1e-7)


@pytest.mark.parametrize("clusters", [[(3.0, 4)], [(1.0, 2), (2.0, 4)], [(0.0, 1)] * 9])
def test_one_cluster_or_clusters_that_differ_by_the_same_have_no_t(clusters: list[Cluster]) -> None:
    assert paired_t(clusters) is None


def test_the_bootstrap_of_single_questions_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    draw = random.Random(3)
    gaps = [draw.choice([-1.0, 0.0, 0.0, 0.0, 0.3, 1.0]) for _ in range(300)]
    found = bootstrap(by_cluster((gap, "") for gap in gaps))
    wanted = stats.bootstrap(
        (gaps,), lambda sample, axis: sample.mean(axis=axis), method="percentile", rng=3
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=0.01)
    assert found.resamples == 10_000


def test_the_bootstrap_draws_whole_clusters() -> None:
    gaps = clustered(5, clusters=80)
    whole, apart = bootstrap(by_cluster(gaps)), bootstrap(by_cluster((gap, "") for gap, _ in gaps))
    robust = paired_t(by_cluster(gaps))
    assert robust is not None
    assert (whole.high - whole.low) / 2 == pytest.approx(1.96 * robust.standard_error, rel=0.06)
    assert whole != apart


def test_the_bootstrap_depends_on_its_seed_and_not_on_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    clusters = by_cluster(clustered(6))
    first = bootstrap(clusters)
    assert first == bootstrap(clusters[::-1])
    monkeypatch.setattr(paired, "SEED", 2)
    assert bootstrap(clusters) != first


def test_many_clusters_that_are_all_different_still_take_seconds_at_most() -> None:
    draw = random.Random(7)
    found = bootstrap(by_cluster((draw.random() - 0.4, "") for _ in range(4_000)))
    assert found.resamples == 500
    assert found.low < 0.1 < found.high


@pytest.mark.parametrize(("clusters", "size"), [(30, 4), (60, 1)])
def test_bootstrap_intervals_contain_the_truth_about_as_often_as_promised(clusters: int, size: int) -> None:
    runs = 25
    held = sum(
        found.low <= 0.1 <= found.high
        for found in (bootstrap(by_cluster(clustered(seed, clusters=clusters, size=size))) for seed in range(runs))
    )
    assert 0.88 <= held / runs <= 1.0


def test_holm_is_that_of_statsmodels() -> None:
    tests = pytest.importorskip("statsmodels.stats.multitest", reason=NO_STATSMODELS)
    draw = random.Random(8)
    for count in (1, 2, 5, 40):
        values = [draw.random() ** 3 for _ in range(count)]
        assert holm(values) == pytest.approx(tests.multipletests(values, method="holm")[1], rel=1e-12)


def test_holm_matches_a_printed_example() -> None:
    """The example of many textbooks for Holm (1979): four tests with 0.01, 0.04, 0.03, 0.005."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=30))
def test_holm_keeps_the_order_and_makes_no_p_smaller(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(value <= made <= 1 for value, made in zip(values, adjusted, strict=True))
    by_value = sorted(range(len(values)), key=lambda at: values[at])
    assert [adjusted[at] for at in by_value] == sorted(adjusted)


@pytest.mark.parametrize("clusters", [12, 40, 400])
def test_the_smallest_detectable_difference_is_found_four_times_in_five(clusters: int) -> None:
    """Compared with the noncentral t at the interval's own standard error."""
    stats = pytest.importorskip("scipy.stats")
    held = by_cluster(clustered(9, clusters=clusters))
    _, error, df = centre_and_error(held)
    least = minimum_detectable(held)
    assert least is not None
    beyond, shift = stats.t.ppf(0.975, df), least / error
    assert 1 - stats.nct.cdf(beyond, df, shift) == pytest.approx(0.8, abs=0.02)


def test_more_questions_find_smaller_differences_and_five_clusters_find_none() -> None:
    found = [minimum_detectable(by_cluster(clustered(10, clusters=clusters))) for clusters in (10, 100, 1_000)]
    assert found == sorted(found, key=lambda least: -(least or 0))
    assert [minimum_detectable([(1.0, 5)] * clusters) is None for clusters in (1, 2, 5, 6)] == [True] * 3 + [False]
    last = found[-1]
    assert last is not None
    assert last == pytest.approx((1.96 + 0.8416) * sqrt(0.5 / 2_500), rel=0.25)
