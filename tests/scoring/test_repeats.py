"""pass@k, majorities and instability against counts by hand and by enumeration."""

from itertools import combinations
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.scoring.repeats import RepeatScores, ks, majority, pass_at_k
from vqa_client.scoring.statistics import Averaging, interval

outcomes = st.lists(st.booleans(), min_size=1, max_size=8)


@given(outcomes, st.data())
def test_pass_at_k_is_the_share_of_all_ways_to_take_k_that_have_one_right(of: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(of)))
    assert pass_at_k(len(of), sum(of), k) == pytest.approx(fmean(any(taken) for taken in combinations(of, k)))


@pytest.mark.parametrize(("n", "right", "k"), [(3, 1, 0), (3, 1, 4), (3, 4, 1), (3, -1, 1)])
def test_impossible_counts_are_refused(n: int, right: int, k: int) -> None:
    with pytest.raises(ValueError, match="repeats"):
        pass_at_k(n, right, k)


def test_many_repeats_are_shown_at_powers_of_two() -> None:
    assert ks(1) == [1]
    assert ks(5) == [1, 2, 3, 4, 5]
    assert ks(20) == [1, 2, 3, 4, 5, 8, 16, 20]


@pytest.mark.parametrize(
    ("scores", "votes", "expected"),
    [
        ([1.0, 0.0, 1.0], ["a", "b", "a"], 1.0),
        ([1.0, 0.0, 0.0], ["a", "b", "b"], 0.0),
        ([1.0, 0.0], ["a", "b"], 0.5),
        ([1.0, 0.0, 0.0], ["a", "b", "c"], 1 / 3),
        ([1.0, 0.0, 0.0], ["a", None, None], 1.0),
        ([0.0, 0.0], [None, None], 0.0),
        ([0.3, 0.3, 1.0], ["red", "red", "blue"], 0.3),
    ],
)
def test_the_majority_is_the_most_frequent_answer(
    scores: list[float], votes: list[str | None], expected: float
) -> None:
    assert majority(scores, votes) == pytest.approx(expected)


def test_figures_of_three_questions() -> None:
    collected = RepeatScores(3, comparable=True)
    collected.add([1, 1, 1], ["A", "a.", " A"])
    collected.add([1, 0, 0], ["B", "C", None])
    collected.add([0, 0, 0], ["A", "A", "B"])
    collected.add([1, 0], ["A", "B"])
    found = collected.figures()
    assert (found.questions, found.unfinished) == (3, 1)
    assert {k: of.value for k, of in found.pass_at.items()} == pytest.approx({1: 4 / 9, 2: 5 / 9, 3: 2 / 3})
    assert found.majority.value == pytest.approx((1 + 0.5 + 0) / 3)
    assert found.turning.value == pytest.approx(1 / 3)
    assert found.changing is not None
    assert found.changing.value == pytest.approx(2 / 3)


def test_whole_replies_vote_for_right_or_wrong() -> None:
    collected = RepeatScores(3, comparable=False)
    collected.add([1, 1, 0], ["The code is 7.", "7", "I see none"])
    found = collected.figures()
    assert found.majority.value == 1
    assert found.changing is None


def test_without_questions_there_is_no_mean() -> None:
    found = RepeatScores(2, comparable=True).figures()
    assert (found.questions, found.majority.value, found.majority.interval) == (0, None, None)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from(["", "", "a", "b"])), max_size=30))
def test_an_average_is_that_of_its_clusters(values: list[tuple[float, str]]) -> None:
    clusters = {cluster: [value for value, of in values if of == cluster] for cluster in ("a", "b")}
    held = [(sum(of), len(of)) for of in clusters.values() if of] + [(value, 1) for value, of in values if not of]
    adding = Averaging()
    for value, cluster in values:
        adding.add(value, cluster)
    found = adding.average()
    assert found.n == len(values)
    assert found.value == (pytest.approx(fmean(value for value, _ in values)) if values else None)
    assert found.interval == interval(sorted(held))
