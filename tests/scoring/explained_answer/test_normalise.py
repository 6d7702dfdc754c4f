import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.scoring.short_answers import Majority, majority, normalise, same


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ("Yes.", "yes"),
        ("  The  Red-Bus! ", "red bus"),
        ("10:30", "10 30"),
        ("3.5", "3 5"),
        ("an apple a day", "apple day"),
        ("don't", "don t"),
        ("The", ""),
        ("", ""),
    ],
)
def test_letters_and_digits_without_articles_are_compared(answer: str, form: str) -> None:
    assert normalise(answer) == form


def test_answers_that_normalising_empties_are_not_all_the_same() -> None:
    assert same("寿司", "寿司")
    assert not same("寿司", "天ぷら")
    assert same("a", "A")
    assert not same("a", "the")
    assert not same("", "")


def test_the_most_frequent_answer_counts_in_any_spelling() -> None:
    assert majority(["Cat", "the cat", "dog", "a cat!", "dog"]) == Majority(answer="cat", tied=False)


def test_of_a_tie_the_first_in_the_alphabet_is_taken_and_the_tie_reported() -> None:
    answers = ["yes"] * 5 + ["no"] * 5
    assert majority(answers) == majority(answers[::-1]) == Majority(answer="no", tied=True)


def test_without_an_answer_there_is_no_majority() -> None:
    assert majority([]) is None
    assert majority(["", "  "]) is None


@given(st.lists(st.sampled_from(["Yes", "yes", "no", "No!", "the bus", "bus", "寿司", ""]), max_size=12), st.randoms())
def test_the_order_of_the_answers_decides_nothing(answers: list[str], order: random.Random) -> None:
    shuffled = list(answers)
    order.shuffle(shuffled)
    assert majority(shuffled) == majority(answers)


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
