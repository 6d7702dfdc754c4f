"""The sign-flip test against all combinations of signs and scipy, and its rate of false positives."""

import random
from collections.abc import Sequence
from itertools import product
from math import pi

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.scoring import sign_flips
from vqa_client.scoring.sign_flips import mcnemar, sign_flip

SUMS = st.lists(st.sampled_from([-3.0, -1.0, -0.6, 0.0, 0.3, 1 / 3, 1.0, 2.0, pi]), max_size=9)


def by_all_signs(sums: Sequence[float]) -> float:
    least = abs(sum(sums)) - 1e-6
    flipped = [sum(sign * each for sign, each in zip(signs, sums, strict=True)) for signs in signs_of(len(sums))]
    return sum(abs(total) >= least for total in flipped) / len(flipped)


def signs_of(count: int) -> list[tuple[int, ...]]:
    return list(product((-1, 1), repeat=count))


def differing(seed: int, *, clusters: int, size: int = 5, scale: float = 1.0) -> list[float]:
    draw = random.Random(seed)
    return [scale * draw.choice((-1, 1)) * draw.randint(0, size) for _ in range(clusters)]


@given(SUMS)
def test_an_exact_p_is_the_share_of_all_choices_of_signs(sums: list[float]) -> None:
    p, draws = sign_flip(sums)
    assert (p, draws) == (pytest.approx(by_all_signs(sums)), 0)


@pytest.mark.parametrize(
    ("sums", "p"),
    [
        ([], 1.0),
        ([0.0] * 40, 1.0),
        ([10.0], 1.0),  # one cluster shows nothing
        ([5.0, 3.0], 0.5),
        ([5.0, -3.0], 1.0),
        ([1.0, 2.0, 3.0, 4.0, 5.0], 2 / 32),  # nor do five at 5 %
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2 / 64),
        ([0.3 - 0.6, 0.1 + 0.2, 0.3], 1.0),  # equal but for how sums are rounded
        ([0.1 + 0.2, 0.3, 0.9 - 0.6], 0.25),
        ([1e-12, -1e-13, 0.0], 1.0),
        ([1e-8] * 20, 1.0),
        ([2e-6] * 6, 2 / 64),
        ([1.0] * 30 + [2.0] * 70, 1e-16),
    ],
)
def test_few_clusters_and_ties_have_the_p_counted_by_hand(sums: list[float], p: float) -> None:
    assert sign_flip(sums) == (pytest.approx(p, rel=1e-9), 0)


@given(st.integers(0, 60), st.integers(0, 60))
def test_independent_questions_have_mcnemars_p(higher: int, lower: int) -> None:
    assert sign_flip([1.0] * higher + [-1.0] * lower + [0.0] * 7) == (mcnemar(higher, lower), 0)


@pytest.mark.parametrize("clusters", [8, 30, 100, 400])
def test_drawn_signs_come_to_the_exact_p(clusters: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sums = [each + 1.0 * (number % 5 == 0) for number, each in enumerate(differing(clusters, clusters=clusters))]
    exact, none = sign_flip(sums)
    monkeypatch.setattr(sign_flips, "_STEPS", 0)
    drawn, draws = sign_flip(sums)
    assert (none, draws) == (0, 10_000)
    assert drawn == pytest.approx(exact, abs=0.015)


@pytest.mark.parametrize("many", [sign_flips._MANY, sign_flips._MANY + 1])
def test_clusters_that_differ_by_the_same_are_all_drawn(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sums = [size * (-1.0 if number % 5 < 2 else 1.0) for size in (1, 2) for number in range(many)]
    exact, _ = sign_flip(sums)
    monkeypatch.setattr(sign_flips, "_STEPS", 0)
    assert sign_flip(sums)[0] == pytest.approx(exact, abs=0.015)
    assert 0.02 < exact < 0.2


def test_many_clusters_that_differ_by_the_same_are_drawn_at_once() -> None:
    sums = [each + 0.4 for each in differing(1, clusters=30_000, size=40)]
    p, draws = sign_flip(sums)
    assert draws == 10_000
    assert 1 / 10_001 <= p < 0.001
    balanced, _ = sign_flip([*sums, *(-each for each in sums)])
    assert balanced == 1


@pytest.mark.parametrize("scale", [1.0, pi])
@pytest.mark.parametrize("clusters", [8, 60, 300])
def test_a_p_ignores_order_and_side_and_is_never_zero(clusters: int, scale: float) -> None:
    draw = random.Random(clusters)
    sums = [scale * (draw.random() - 0.1) for _ in range(clusters)]
    p = sign_flip(sums)
    assert 0 < p[0] <= 1
    assert sign_flip([-each for each in reversed(sums)]) == p
    draw.shuffle(sums)
    assert sign_flip(sums) == p


@pytest.mark.parametrize("clusters", [5, 6, 8, 12, 40])
def test_without_a_difference_p_is_below_5_percent_in_at_most_5_percent_of_cases(clusters: int) -> None:
    runs = 800
    found = sum(sign_flip(differing(seed, clusters=clusters))[0] < 0.05 for seed in range(runs))
    assert found / runs <= 0.055
    assert found > 0 or clusters == 5


def test_many_clusters_that_are_all_different_get_fewer_draws() -> None:
    draw = random.Random(7)
    p, draws = sign_flip([draw.random() - 0.5 for _ in range(10_000)])
    assert draws == 3_200
    assert 0 < p <= 1


@pytest.mark.parametrize(("higher", "lower"), [(0, 0), (1, 0), (5, 1), (6, 6), (3, 40), (700, 620), (20_000, 20_500)])
def test_mcnemar_is_the_exact_binomial_test(higher: int, lower: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    wanted = stats.binomtest(min(higher, lower), higher + lower).pvalue if higher + lower else 1.0
    assert mcnemar(higher, lower) == mcnemar(lower, higher) == pytest.approx(wanted, rel=1e-9)


def test_a_p_too_small_for_a_float_is_zero_and_no_error() -> None:
    assert mcnemar(5_000, 0) == 0.0
