"""The mc task in its modes: its prompt, its scores, and the score of a refused reply."""

import pytest

from tests.tasks.declared import task_of
from vqa_client.errors import UsageError
from vqa_client.runner import judge
from vqa_client.scoring.reply import READING_VERSION
from vqa_client.tasks.mc import SCORING_VERSION
from vqa_client.types import ChoiceMode, Choosing, Completion, Question

QUESTION = Question(id="q", text="Which?", references=("B",), choices=dict(zip("ABCD", "wxyz", strict=True)))


def test_text_is_the_default_and_asks_as_before() -> None:
    task = task_of("mc")
    assert task.choosing is None
    assert task.scoring == {"parser": "robust", "version": f"{READING_VERSION}.{SCORING_VERSION}"}
    assert task.prompt(QUESTION) == "Which?\n\nA. w\nB. x\nC. y\nD. z\n\n"


@pytest.mark.parametrize("mode", ["structured", "logprob"])
def test_the_other_modes_ask_for_a_letter_and_have_a_scoring_of_their_own(mode: ChoiceMode) -> None:
    task = task_of("mc", choice_mode=mode)
    assert task.choosing == Choosing(mode=mode, labels=("A", "B", "C", "D"))
    assert (task.scoring["choice_mode"], task.headline) == (mode, mode)
    assert task.prompt(QUESTION).endswith("D. z\n\nAnswer with the letter alone.")
    assert task_of("mc", choice_mode=mode, prompt_template="{question}{choices}").prompt(QUESTION).endswith("D. z")


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(UsageError, match="--choice_mode is 'guess'"):
        task_of("mc", choice_mode="guess")


def test_a_blocked_reply_has_no_share_of_anything() -> None:
    completion = Completion(text="B", finish_reason="content_filter", first_token={"B": -0.1})
    answer, score = judge(completion, QUESTION, task_of("mc", choice_mode="logprob"))
    assert (answer.status, answer.probabilities, score.value) == ("refused", {}, 0.0)
    assert score.parts == {"logprob": 0.0, "probability": 0.0, "margin": 0.0, "mass": 0.0}


def test_the_right_label_may_be_without_a_probability() -> None:
    completion = Completion(text="A", first_token={"A": -0.1, "The": -3.0})
    answer, score = judge(completion, QUESTION, task_of("mc", choice_mode="logprob"))
    assert (answer.text, score.value) == ("A", 0.0)
    assert (score.parts["probability"], score.parts["margin"]) == (0.0, 1.0)
