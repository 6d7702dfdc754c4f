"""Orders of choices: all are equally likely, the right letter moves with its text, and references are recognised."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.scoring.choices.circular import as_shown, names_others, order_of, rotation, shuffled
from vqa_client.types import Question

CHOICES = {"A": "red", "B": "green", "C": "blue", "D": "yellow"}
variants = st.one_of(st.integers(0, 9).map(rotation), st.integers(-5, 99).map(shuffled))


def question(variant: str, name: str = "q", gold: str = "B") -> Question:
    return Question(id=name, variant=variant, text="Which?", choices=CHOICES, references=(gold,))


@given(variants, st.text(max_size=8), st.sampled_from("ABCD"))
def test_the_right_letter_moves_with_its_text(variant: str, name: str, gold: str) -> None:
    shown = as_shown(question(variant, name, gold))
    assert list(shown.choices) == list("ABCD")
    assert sorted(shown.choices.values()) == sorted(CHOICES.values())
    assert shown.choices[shown.references[0]] == CHOICES[gold]


def test_a_rotation_turns_the_choices_by_its_number() -> None:
    assert [as_shown(question(rotation(by))).choices["A"] for by in range(4)] == ["red", "green", "blue", "yellow"]
    assert as_shown(question(rotation(0))) == question(rotation(0))


def test_over_all_rotations_the_right_answer_is_in_each_position_once() -> None:
    assert sorted(as_shown(question(rotation(by))).references[0] for by in range(4)) == list("ABCD")


@pytest.mark.parametrize(
    "variant", ["", "clean", "adv_dpi_56", "snow/3", "repeat/2", "rotation", "rotation/x", "a/b/1"]
)
def test_other_variants_leave_the_order_alone(variant: str) -> None:
    assert order_of(variant, "ABCD", "q") is None
    assert as_shown(question(variant)) == question(variant)


def test_a_random_order_is_stable_and_changes_with_the_seed() -> None:
    names = [f"q{number}" for number in range(200)]
    first, again, other = ([order_of(shuffled(seed), "ABCD", name) for name in names] for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_each_of_the_24_orders_is_as_likely() -> None:
    drawn = Counter(order_of(shuffled(0), "ABCD", f"q{number}") for number in range(4800))
    assert len(drawn) == 24
    assert all(140 < times < 260 for times in drawn.values())


@pytest.mark.parametrize(
    "text",
    [
        "All of the above",
        "None of the above.",
        "all of the  above",
        "Both A and B",
        "A and C",
        "(A) and (C)",
        "A, B and D",
        "neither A nor B",
        "Options A and B",
        "All of the other options",
        "Two of the above statements are true",
    ],
)
def test_a_choice_that_refers_to_others_is_recognised(text: str) -> None:
    assert names_others({"A": "red", "B": text})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "red",
        "Vitamin A and D",
        "an answer a child gives",
        "Plan A",
        "A",
        "all of the people",
        "rock and roll",
        "a and b",
    ],
)
def test_a_choice_that_refers_to_no_other_is_not(text: str) -> None:
    assert not names_others({"A": "red", "B": text})
