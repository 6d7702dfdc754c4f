"""A trace has the same answer as the reading, and shows what the reading passed over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.scoring.choices.choice import read_choice
from vqa_client.scoring.choices.trace import ChoiceView, explain_choice, peeled_off
from vqa_client.types import Completion

CHOICES = {"A": "a ferry", "B": "a tug", "C": "a barge", "D": "no boat"}
PIECES = st.sampled_from(
    [
        "The answer is B.",
        "(C)",
        "**D**",
        "<think>",
        "</think>",
        "A",
        "B or C",
        "a tug",
        "I can't help",
        "\n",
        " ",
        "I",
        "no",
    ]
)
FINISHES = st.sampled_from(["stop", "length", None, "content_filter"])


def explained(text: str, finish: str | None = "stop", reasoning: str | None = None) -> ChoiceView:
    return explain_choice(Completion(text=text, finish_reason=finish, reasoning=reasoning), CHOICES)


@given(st.lists(PIECES, max_size=8).map(" ".join), FINISHES, st.none() | st.just("So the answer is C."))
def test_the_rule_that_fired_is_the_one_that_decided(text: str, finish: str | None, reasoning: str | None) -> None:
    completion = Completion(text=text, finish_reason=finish, reasoning=reasoning)
    view, answer = explain_choice(completion, CHOICES), read_choice(completion, CHOICES)
    fired = [rule for rule in view.rules if rule.fired]
    assert view.answer == answer
    assert len(fired) <= 1
    if answer.text is not None:
        assert [(rule.labels, rule.how) for rule in fired] == [((answer.text,), answer.rule)]
    assert all(rule.labels is not None and not rule.passed_over for rule in fired)


def test_rules_that_find_something_else_are_shown() -> None:
    view = explained("**C** looks likely, but the answer is B.")
    found = {rule.name: rule.labels for rule in view.rules if rule.labels is not None}
    assert [rule.name for rule in view.rules if rule.fired] == ["declaration"]
    assert [rule.name for rule in view.rules] == [
        *("declaration", "exact text", "weights", "tick", "leading label", "leading text", "emphasis", "brackets"),
        *("predicate", "last word", "exclusion", "list", "same things", "text", "parts", "difference"),
        *("part of text", "paraphrase", "yes or no", "statements", "none or all", "undetermined"),
    ]
    assert found["declaration"] == ("B",)
    assert found["emphasis"] == ("C",)
    assert view.read.startswith("*C* looks likely")


def test_a_trace_has_the_labels_that_the_rules_read_for_ordinals() -> None:
    view = explained("I'll go with the second option.")
    assert (view.read, view.answer.text) == ("I'll go with option B.", "B")


def test_a_trace_ends_before_an_invented_question() -> None:
    view = explained("The answer is B.\n\nQuestion: What else?\nThe answer is C.")
    assert (view.answer.text, view.answer.rivals, view.read) == ("B", (), "The answer is B.")
    assert [declared.labels for declared in view.declared] == [("B",)]


def test_a_truncated_reply_passes_over_undeclared_answers() -> None:
    view = explained("Hmm. (C)", finish="length")
    assert view.cut
    assert not any(rule.fired for rule in view.rules)
    assert any(rule.passed_over and rule.labels == ("C",) for rule in view.rules)


def test_the_published_parsers_are_shown_with_their_own_readings() -> None:
    view = explained("**The correct answer is (B)**")
    assert {name: letter for name, (letter, _) in view.parsers.items()} == {
        "robust": "B",
        "published": "B",
        "longbench": "B",
    }
    strict = {text: explained(text).parsers["longbench"][0] for text in ("Answer: B", "the correct answer is B")}
    assert set(strict.values()) == {None}


def test_an_answer_in_the_reasoning_is_shown_as_such() -> None:
    view = explained("", reasoning="I see. The answer is D.")
    assert (view.source, view.answer.source, view.answer.text) == ("reasoning", "reasoning", "D")
    unread = explained("", finish=None, reasoning="The answer is D.")
    assert unread.answer.text is None
    assert not any(rule.fired for rule in unread.rules)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>B? The answer is B.</think>The answer is B.", ["<think>B? The answer is B.</think>"]),
        ("<|im_start|>assistant\nB<|im_end|>", ["<|im_start|>assistant", "<|im_end|>"]),
        ("B", []),
        ("", []),
        ("<think>endless", ["<think>endless"]),
    ],
)
def test_the_removed_parts_are_shown_unchanged(text: str, left: list[str]) -> None:
    assert peeled_off(text) == left
