"""What a reply is taken for: what was thought, said, wrapped, cut."""

import pytest

from vqa_client.scoring.plain import EMPHASIS, MARKED, plain
from vqa_client.scoring.reply import Reply, reply_from
from vqa_client.scoring.structured import answer_in_json
from vqa_client.types import Completion


def taken(text: str, finish_reason: str | None = None, reasoning: str | None = None) -> Reply:
    return reply_from(Completion(text=text, finish_reason=finish_reason, reasoning=reasoning))


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("<think>x</think>B", "B"),
        ("x</think>B", "B"),
        ("<think>x</think>A<think>y</think>B", "AB"),
        ("A<think>x", "A"),
        ("<|im_start|>assistant\nB<|im_end|>\n<|im_start|>user\nC", "B"),
        ("B<end_of_turn>\nC", "B"),
        ("# Title\n\n\n\ntext  with\tspaces\r\nend", "Title\ntext with spaces\nend"),
        ("***\nB\n---", "B"),
        ("（Ｂ）。", "(B)."),
        ("a\u200bb\ufeffc", "abc"),
        ("x < 5 and y > 3", "x < 5 and y > 3"),
        ("<p>one</p><p>two</p>", "one\ntwo"),
        ("~~A~~ B", "B"),
        ("\\text{B}", "(B)"),
        ("\\frac{1}{2}", "\\frac(1)(2)"),
        ("2*3*4", "2*3*4"),
        ("snake_case_name", "snake_case_name"),
        ("$7", "7"),
        ("B\n\nQuestion: next\nAnswer: D", "B"),
    ],
)
def test_a_reply_is_peeled_to_what_was_said(reply: str, text: str) -> None:
    assert taken(reply).peeled == text


@pytest.mark.parametrize("reply", ["**B**", "__B__", "*B*", "`B`", "<b>B</b>", "<em>B</em>"])
def test_emphasis_is_kept_as_a_mark(reply: str) -> None:
    assert taken(reply).peeled == f"{EMPHASIS[0]}B{EMPHASIS[1]}"


@pytest.mark.parametrize(
    "reply",
    ["\\boxed{B}", "<answer>B</answer>", "<|begin_of_box|>B<|end_of_box|>", '{"answer": "B"}', "[ANSWER]B[/ANSWER]"],
)
def test_an_answer_set_apart_is_kept_as_a_mark(reply: str) -> None:
    assert taken(reply).peeled == f"{MARKED[0]}B{MARKED[1]}"


def test_marks_in_the_reply_itself_are_no_marks() -> None:
    assert taken("\x04B\x05 \x02C\x03").peeled == "B C"


@pytest.mark.parametrize(("reply", "unclosed"), [("<think>x", True), ("<think>x</think>", False), ("x</think>", False)])
def test_reasoning_that_does_not_end_is_noticed(reply: str, unclosed: bool) -> None:
    assert taken(reply).cut is unclosed


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('{"answer": "B"}', "B"),
        ('{"Final Answer": "B", "answer_confidence": 1}', "B"),
        ('{"thought": "A", "answer": {"letter": "B"}}', "B"),
        ('{"answer": ["A", "C"]}', "A, C"),
        ('{"answer": null}', ""),
        ('{"answer": 2}', "2"),
        ('{"other": "B"}', None),
        ('{"answer": "B"', None),
        ("{B}", None),
        ("answer: B", None),
        ('{"a":' * 100_000, None),
    ],
)
def test_the_answer_is_taken_out_of_json(reply: str, answer: str | None) -> None:
    assert answer_in_json(reply) == answer


def test_plain_text_folds_to_itself() -> None:
    once = plain("The **answer** is “B” — \\textbf{really}: <b>B</b>")
    assert plain(once.translate({2: "", 3: ""})) == once.translate({2: "", 3: ""})
