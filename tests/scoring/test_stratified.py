"""A stratified sample keeps the shares of its strata, and a larger one contains a smaller."""

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from vqa_client.scoring.stratified import draw_stratified

Questions = list[tuple[str, str]]
questions = st.lists(st.sampled_from("abc"), max_size=60).map(
    lambda strata: [(f"q{place}", stratum) for place, stratum in enumerate(strata)]
)


@given(questions, st.integers(0, 9))
def test_a_larger_sample_contains_a_smaller(of: Questions, seed: int) -> None:
    samples = [set(draw_stratified(of, size, seed)) for size in range(len(of) + 1)]
    assert [len(sample) for sample in samples] == list(range(len(of) + 1))
    assert all(smaller < larger for smaller, larger in pairwise(samples))


@given(questions, st.integers(0, 60), st.integers(0, 9))
def test_each_stratum_has_its_share_to_within_rounding(of: Questions, size: int, seed: int) -> None:
    sizes, found = (
        Counter(stratum for _, stratum in of),
        Counter(of[place][1] for place in draw_stratified(of, size, seed)),
    )
    for stratum, held in sizes.items():
        share = min(size, len(of)) * held / len(of)
        assert abs(found[stratum] - share) < 1.5


@given(questions, st.integers(0, 60), st.randoms(use_true_random=False))
def test_the_order_of_the_questions_decides_nothing(of: Questions, size: int, random: "object") -> None:
    mixed = list(of)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert {of[place][0] for place in draw_stratified(of, size, 1)} == {
        mixed[place][0] for place in draw_stratified(mixed, size, 1)
    }


def test_the_places_are_in_rising_order_and_another_seed_draws_others() -> None:
    of = [(f"q{place}", "") for place in range(1000)]
    first, second = draw_stratified(of, 100, 0), draw_stratified(of, 100, 1)
    assert list(first) == sorted(first)
    assert first == draw_stratified(of, 100, 0)
    assert len(set(first) & set(second)) < 30


def test_every_question_is_as_likely_as_another() -> None:
    of = [(f"q{place}", "ab"[place % 2]) for place in range(20)]
    times = Counter(place for seed in range(2000) for place in draw_stratified(of, 5, seed))
    assert all(400 < times[place] < 600 for place in range(20))


def test_an_id_with_half_a_surrogate_can_be_drawn() -> None:
    assert list(draw_stratified([("\ud800", "")], 5, 0)) == [0]
