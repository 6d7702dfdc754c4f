"""Answers that stay the same under load, and answers that don't."""

from collections.abc import Sequence

import pytest

from tests.client.check.playing import refused, said
from vqa_client.client.check.examine import canary_asks, canary_finding, mark_of
from vqa_client.client.probing.asks import ProbeReply

ALONE = [said("Red"), said("blue"), said("It is green"), said("yellow")]


def changed(place: int, text: str) -> Sequence[ProbeReply]:
    return [said(text) if at == place else reply for at, reply in enumerate(ALONE)]


def test_equal_answers_are_good_with_any_words_around_them() -> None:
    found = canary_finding(ALONE, changed(2, "green."))
    assert (found.level, found.value) == ("ok", "same")


def test_a_neighbours_answer_makes_the_server_unusable() -> None:
    found = canary_finding(ALONE, changed(2, "blue"))
    assert (found.level, found.value) == ("unusable", "mixed")
    assert "1 of 4 answers change" in found.text
    assert "1 of them to another question's answer" in found.text
    assert "--max_workers 1" in found.hint


def test_a_garbled_answer_also_makes_the_server_unusable() -> None:
    found = canary_finding(ALONE, changed(2, "gr gr gr"))
    assert found.level == "unusable"
    assert "another question" not in found.text


def test_the_same_answer_to_all_questions_shows_nothing() -> None:
    found = canary_finding([said("B")] * 4, [said("B")] * 4)
    assert (found.level, found.value) == ("note", None)


def test_questions_that_fail_only_together_are_a_warning() -> None:
    found = canary_finding(ALONE, [*ALONE[:3], refused(503, "busy")])
    assert (found.level, found.value) == ("warning", "failed")
    assert "HTTP 503: busy" in found.text


@pytest.mark.parametrize("sight", ["colours", "text"])
def test_each_question_has_a_different_picture(sight: str) -> None:
    asks = canary_asks(sight)  # type: ignore[arg-type]
    assert len({ask.pictures[0].png for ask in asks}) == len(asks) == 8


@pytest.mark.parametrize(
    ("text", "mark"), [("The secret code is 7036.", "7036"), ("Blue.", "blue"), ("No  idea\n", "no idea")]
)
def test_the_compared_part_of_an_answer(text: str, mark: str) -> None:
    assert mark_of(said(text)) == mark
