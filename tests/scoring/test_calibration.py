"""Calibration against figures computed by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.scoring.choices.modes import Bin, Calibrating, Calibration


def of(*questions: tuple[float, bool, float] | tuple[float, bool, float, float]) -> Calibration:
    calibrating = Calibrating()
    for question in questions:
        calibrating.add(*question)
    return calibrating.calibration()


def test_a_model_that_is_as_sure_as_it_is_right_has_no_error() -> None:
    assert of((0.5, True, 0.1), (0.5, False, 0.3)) == Calibration(n=2, expected_error=0.0, brier=0.2)


def test_bins_are_weighted_by_their_share() -> None:
    found = of((1.0, False, 1.0), (0.95, True, 0.0), (0.95, True, 0.0), (0.42, True, 0.2))
    assert found.expected_error == pytest.approx((abs(2 - 2.9) + abs(1 - 0.42)) / 4)
    assert found.brier == pytest.approx(0.3)


def test_a_question_counts_by_its_weight() -> None:
    assert of((0.75, True, 0.0625, 30.0), (0.75, False, 0.5625, 10.0)) == Calibration(
        n=2, expected_error=0.0, brier=0.1875
    )


def test_a_bin_has_the_means_of_its_questions_by_weight() -> None:
    calibrating = Calibrating()
    for question in ((0.72, True, 0.1, 3.0), (0.78, False, 0.1, 1.0), (1.0, True, 0.0), (0.05, False, 0.0, 0.0)):
        calibrating.add(*question)
    sure, surest = calibrating.bins()
    assert (sure.n, surest) == (2, Bin(n=1, confidence=1.0, accuracy=1.0))
    assert (sure.confidence, sure.accuracy) == pytest.approx((0.735, 0.75))


def test_no_question_has_no_figures() -> None:
    assert of() == Calibration(n=0, expected_error=None, brier=None)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans(), st.floats(0, 1)), min_size=1, max_size=40))
def test_errors_stay_shares(questions: list[tuple[float, bool, float]]) -> None:
    found = of(*questions)
    assert found.n == len(questions)
    assert found.expected_error is not None
    assert 0.0 <= found.expected_error <= 1.0
