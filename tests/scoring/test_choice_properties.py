"""Properties of `read_choice` for any reply: only labels of the question, any wrappers, linear time."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.linear_time import RATIO, growth
from tests.scoring.choice_label_sets import VEHICLES
from vqa_client.scoring.choices.choice import read_choice
from vqa_client.types import Answer, Completion

WRAPPERS = (
    "**{}**", "*{}*", "__{}__", "_{}_", "`{}`", "***{}***", "({})", "[{}]", "[[{}]]", "{{{}}}", "<{}>", '"{}"',
    "'{}'", "“{}”", "«{}»", "（{}）", "【{}】", "「{}」", "⟨{}⟩", "${}$", "\\({}\\)", "\\[{}\\]", "\\boxed{{{}}}",
    "\\fbox{{{}}}", "\\text{{{}}}", "\\textbf{{{}}}", "\\mathrm{{{}}}", "\\mathbf{{{}}}", "\\underline{{{}}}",
    "\\textcolor{{red}}{{{}}}", "\\left({}\\right)", "<b>{}</b>", "<strong>{}</strong>", "<u>{}</u>",
    "<p>{}</p>", '<span class="x">{}</span>', "<answer>{}</answer>", "<final_answer>{}</final_answer>",
    "[ANSWER]{}[/ANSWER]", "&lt;b&gt;{}&lt;/b&gt;", "<|begin_of_box|>{}<|end_of_box|>", "{}<|im_end|>",
    "{}</s>", "{}.", "{})", " {} ", "\n{}\n", "> {}", "- {}", "```\n{}\n```",
    "<think>A or C? The answer is D.</think>{}",
)  # fmt: skip
FRAMES = ("{}", "Answer: {}", "**Answer:** {}", "The answer is {}.", "答案是{}。", "Antwort: {}", "Réponse : {}")
LETTERS = st.sampled_from(sorted(VEHICLES))
NAMES = ("BCDE", "DCBE", "EFGH", "HGFE", "JHCF", "FJBD", "CEGJ", "GDHB")
"""Of other labels; few, since the patterns of each take long to compile."""
_PIECES = (
    "A", "B", "C", "D", "E", "a", "b", "answer", "is", "the", "not", "or", "and", "(", ")", ":", ".", ",", "\n",
    "**", "\\boxed{", "}", "<think>", "</think>", "red bus", "tram", "<answer>", "correct", "wait", "no", "?",
    "答案", "是", "$", "<b>", "{", "it", "-",
)  # fmt: skip
PIECES = st.sampled_from(_PIECES)
REPLIES = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=25).map(" ".join), st.lists(PIECES).map("".join))


def read(reply: str, choices: dict[str, str] = VEHICLES) -> Answer:
    return read_choice(Completion(text=reply), choices)


@given(reply=REPLIES, finish_reason=st.sampled_from([None, "stop", "length"]))
@settings(max_examples=300, deadline=None)
def test_no_label_comes_from_outside_the_question(reply: str, finish_reason: str | None) -> None:
    answer = read_choice(Completion(text=reply, reasoning=reply, finish_reason=finish_reason), VEHICLES)
    assert answer.text in {None, *VEHICLES}
    assert set(answer.rivals) <= set(VEHICLES) - {answer.text}
    assert (answer.status == "ok") == (answer.text is not None)


@given(letter=LETTERS, wrappers=st.lists(st.sampled_from(WRAPPERS), max_size=3), frame=st.sampled_from(FRAMES))
@settings(max_examples=400, deadline=None)
def test_a_letter_means_the_same_in_any_stack_of_wrappers(letter: str, wrappers: list[str], frame: str) -> None:
    reply = letter
    for wrapper in wrappers:
        reply = wrapper.format(reply)
    assert read(frame.format(reply)).text == letter


@given(letter=LETTERS, frame=st.sampled_from(FRAMES[:4]), names=st.sampled_from(NAMES))
@settings(deadline=None)
def test_renaming_the_labels_renames_the_answer(letter: str, frame: str, names: str) -> None:
    renamed = dict(zip(VEHICLES, names, strict=True))
    choices = {renamed[label]: text for label, text in VEHICLES.items()}
    assert read(frame.format(f"({letter})")).text == letter
    assert read(frame.format(f"({renamed[letter]})"), choices).text == renamed[letter]


@given(reply=REPLIES, reasoning=REPLIES.filter(lambda text: "think" not in text))
@settings(max_examples=200, deadline=None)
def test_reasoning_in_front_changes_nothing(reply: str, reasoning: str) -> None:
    bare = read(reply)
    if "think" not in reply:
        assert read(f"<think>{reasoning}</think>{reply}") == bare


@given(
    words=st.lists(
        st.sampled_from(["it", "shows", "a", "large", "table", "with", "rows", "of", "figures", "and"]), min_size=2
    )
)
@settings(deadline=None)
def test_prose_without_a_letter_has_no_answer(words: list[str]) -> None:
    assert read(" ".join(words).capitalize() + ".").text is None


@given(
    letter=LETTERS, words=st.lists(st.sampled_from(["rails", "water", "wheels", "page", "shows", "two"]), max_size=30)
)
@settings(deadline=None)
def test_a_json_reply_is_read_as_its_answer(letter: str, words: list[str]) -> None:
    reply = {"reasoning": f"{' '.join(words)}. One may say that the answer is A, B or D.", "answer": letter}
    assert read(json.dumps(reply)).text == letter
    assert read(f"```json\n{json.dumps(reply, indent=2)}\n```").text == letter


def _prose(length: int) -> str:
    draw = random.Random(0)
    words = [
        "the",
        "page",
        "shows",
        "an",
        "answer",
        "to",
        "most",
        "questions",
        "is",
        "not",
        "correct",
        "so",
        "we",
        "choose",
    ]
    return " ".join(draw.choice(words) + draw.choice(["", "", "", "", ".", ","]) for _ in range(length // 4))[:length]


RUNAWAY = (
    "B ", "A, ", "A or ", "(", "((A)", "**", "**B** ", "*", "_", "`", "$", "\\boxed{", "\\boxed{B} ",
    "<answer>", "<b>", "<", "[", "{", "<|", "<|im_end|>", "</s>", "<think>", "</think>", "&lt;", "~~", "```\n",
    "\n", " ", "a", "0", "1,", "answer ", "answer: ", "the answer is ", "The answer is B. ",
    "The answer is not ", "is correct ", "wait, ", "not ", "A. red bus\n", "- (A) ", "A\n", ":\n", "blue car ",
    "答案是", "é", "\u200b", '{"answer": ', "unable to ", "so A ", "✅ A ", "'", '"', "9", "1.", "= ", "x = 6 ",
    "A_", "A = ", "A(x) ", "\nQuestion: x", "The answer is A.\nQuestion: ", "A. x\n", "Q1: ", "değil A, ", "cevap C ",
    "odpowiedź A, ", "richtig A falsch ", "none of the ", "answer is G. ", "red-bus-", "between 4 and ",
    "tram, ferry, ", "C是", "all but ", "everything except A ", "除了A", "giving 4 ", "A. A ", "B better ", "^\\circ",
)  # fmt: skip


LIMIT = 400
"""Times the reference work, for 20,000 characters: three times the slowest of them."""


@pytest.mark.parametrize("piece", RUNAWAY)
def test_a_runaway_reply_takes_linear_time(piece: str) -> None:
    read("The answer is B.")  # patterns are made once
    took = growth(read, piece, 20_000, limit=LIMIT)
    assert took.ratio < RATIO
    assert took.whole < LIMIT


def test_a_long_reply_takes_milliseconds() -> None:
    reply = _prose(200_000)
    read(reply[:100])
    took = growth(read, reply, len(reply), limit=LIMIT)
    assert took.ratio < RATIO
    assert took.whole < LIMIT


def test_an_answer_is_found_anywhere_in_a_long_reply() -> None:
    filler = "the table on that page has many rows " * 1300
    for reply in (f"Answer: B\n{filler}", f"{filler}\nThe answer is B.\n{filler}", f"{filler}\nAnswer: B"):
        assert read(reply).text == "B"


def test_both_ends_of_a_runaway_reply_are_read() -> None:
    filler = "the table on that page has many rows " * 6000
    assert read(f"Answer: B\n{filler}").text == read(f"{filler}\nAnswer: B").text == "B"
    assert read(f"{filler}\nAnswer: B\n{filler}").status == "unparsed"
