"""Position bias and circular evaluation, on models whose preferences are known."""

from collections.abc import Sequence

import pytest

from vqa_client.scoring.choices.circular import CircularFigures, CircularScores, PositionBias, Positions

LABELS = ("A", "B", "C", "D")


def bias(answers: Sequence[tuple[str, str | None]]) -> PositionBias:
    positions = Positions()
    for right, chosen in answers:
        positions.add(LABELS, right, chosen, float(right == chosen))
    return positions.bias()


def test_a_model_that_always_answers_c_is_right_only_at_c() -> None:
    found = bias([(label, "C") for label in LABELS] * 5)
    assert {label: of.recall.value for label, of in found.positions.items()} == {"A": 0, "B": 0, "C": 1, "D": 0}
    assert found.positions["C"].chosen_share == 1
    assert found.positions["A"].chosen == 0
    assert found.deviation == pytest.approx(0.75**0.5 / 2)


def test_a_model_without_a_preference_has_no_deviation() -> None:
    found = bias([(label, label) for label in LABELS] * 5)
    assert found.deviation == 0
    assert {of.right_share for of in found.positions.values()} == {0.25}


def test_a_position_without_right_answers_has_no_recall() -> None:
    found = bias([("A", None)])
    assert found.positions["B"].recall.value is None
    assert found.positions["A"].chosen_share is None
    assert found.deviation is None


def circular(*questions: tuple[Sequence[float], Sequence[str | None], Sequence[str | None]]) -> CircularFigures:
    scores = CircularScores()
    for one in questions:
        scores.add(*one, rotations=4)
    return scores.figures(bias([]))


def test_a_question_is_right_when_it_is_right_in_all_rotations() -> None:
    sure = ([1.0] * 4, ["B", "A", "D", "C"], ["B"] * 4)
    stubborn = ([1.0, 0.0, 0.0, 0.0], ["A"] * 4, ["A", "B", "C", "D"])
    mostly = ([1.0, 1.0, 1.0, 0.0], ["A", "D", "C", None], ["A", "A", "A", None])
    found = circular(sure, stubborn, mostly, ([1.0], ["A"], ["A"]))
    value = {name: mean.value for name, mean in found.means.items()}
    assert (found.questions, found.unfinished) == (3, 1)
    assert value["circular"] == pytest.approx(1 / 3)
    assert value["mean"] == pytest.approx((1 + 0.25 + 0.75) / 3)
    assert value["once"] == 1
    assert value["majority"] == pytest.approx((1 + 0.25 + 1) / 3)
    assert value["same_text"] == value["same_letter"] == pytest.approx(1 / 3)


def test_no_answer_at_all_is_not_always_the_same_one() -> None:
    means = circular(([0.0] * 4, [None] * 4, [None] * 4)).means
    assert [means[name].value for name in ("same_text", "same_letter", "majority")] == [0, 0, 0]
