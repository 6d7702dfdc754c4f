"""A constrained reply is only a label; free text is not a label, even if it names one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.scoring.choices.modes import constrained, read_constrained
from vqa_client.types import Completion

LABELS = ("A", "B", "C", "D")


@pytest.mark.parametrize("text", ["B", " B\n", '{"answer": "B"}', '{ "answer":"B" }\n'])
def test_a_label_alone_is_an_answer(text: str) -> None:
    answer = read_constrained(Completion(text=text, finish_reason="length"), LABELS)
    assert (answer.status, answer.text, answer.rule) == ("ok", "B", "constrained")


@pytest.mark.parametrize(
    "text", ["The answer is B.", "B.", "(B)", "b", "E", "A B", '{"answer": "E"}', '{"answer": ["A"]', "{", "red"]
)
def test_free_text_shows_that_the_server_did_not_constrain_it(text: str) -> None:
    assert constrained(text, LABELS) is None
    assert read_constrained(Completion(text=text, finish_reason="stop"), LABELS).status == "unparsed"


def test_a_reply_without_a_label_is_named_by_how_it_ended() -> None:
    assert read_constrained(Completion(text="  "), LABELS).status == "empty"
    assert read_constrained(Completion(text='{"answer": ', finish_reason="length"), LABELS).status == "truncated"


@given(text=st.one_of(st.text(max_size=12), st.sampled_from(["A", "B", '{"answer": "C"}', "A or B"])))
def test_no_label_comes_from_anything_but_a_label(text: str) -> None:
    found = constrained(text, LABELS)
    assert found is None or found in LABELS
    assert found is None or text.strip() == found or text.strip().startswith("{")
