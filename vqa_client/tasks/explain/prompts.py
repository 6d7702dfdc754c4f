"""The prompts: an instruction and worked examples in our own words, then the question; the image comes last."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from vqa_client.prompt import choices_text
from vqa_client.scoring.explained_answer import two_letters
from vqa_client.tasks.choices import label_choices
from vqa_client.types import Question

EXAMPLES: Final[Mapping[str, int]] = {"zero": 0, "1shot": 1, "3shot": 3}
"""How many examples a prompt mode shows."""


class Wording(Struct, frozen=True, kw_only=True):
    """The instruction of a benchmark, the form of its questions, and three example questions with replies.

    Examples have no images: they show the form of a reply and nothing else.
    """

    instruction: str
    show: Callable[[Question], str]
    examples: tuple[tuple[Question, str], ...]


def prompt(question: Question, wording: Wording, prompt_mode: str) -> str:
    """The whole text that is sent before the image."""
    examples = wording.examples[: EXAMPLES[prompt_mode]]
    blocks = [wording.instruction]
    if examples:
        blocks.append("These examples come without their images and show the form of a reply.")
        blocks += [f"{wording.show(asked)}\nAnswer: {reply}" for asked, reply in examples]
        blocks.append("Now the image below.")
    return "\n\n".join([*blocks, wording.show(question)])


_OUTSIDE: Final = "Write nothing else."
_FORM: Final = "in one sentence of the form: <{}> because <explanation>\n"
_BECAUSE: Final = "Then comes the word because, in lower case and only once. Then say in a few words "
_SHOWN_BY: Final = f"{_BECAUSE}what in the image shows it. {_OUTSIDE}"
"""Words that instructions share."""


def _asked(text: str, choices: Sequence[str] = (), **extra: Any) -> Question:
    """The question of an example."""
    return Question(id="example", text=text, choices=label_choices(choices), extra=extra)


def _show_question(question: Question) -> str:
    return f"Question: {question.text}"


def _show_choices(question: Question) -> str:
    return f"{_show_question(question)}\n{choices_text(question.choices)}"


def _show_reasons(question: Question) -> str:
    answer, reasons = question.extra["given_answer"], choices_text(question.choices)
    return f"{_show_question(question)}\nThe right answer: {answer}\nReasons:\n{reasons}"


def _show_both(question: Question) -> str:
    return f"{_show_choices(question)}\nReasons:\n{choices_text(question.extra['reasons'])}"


VQAX: Final = Wording(
    instruction=(
        f"Answer the question about the image {_FORM.format('answer')}"
        f"Begin with an answer of one or two words. {_SHOWN_BY}"
    ),
    show=_show_question,
    examples=(
        (_asked("What is the dog lying on?"), "rug because there is a striped mat under its paws"),
        (_asked("Is it going to rain soon?"), "yes because dark clouds fill the whole sky"),
        (_asked("How many cups are on the shelf?"), "3 because one red and two white cups stand side by side"),
    ),
)
ACTX: Final = Wording(
    instruction=(
        f"Name the activity of the person in the image {_FORM.format('activity')}"
        f"Begin with the activity in one to three words. {_SHOWN_BY}"
    ),
    show=_show_question,
    examples=(
        (_asked("What is the person doing?"), "rowing because she pulls two oars in a narrow boat"),
        (_asked("What is the person doing?"), "mowing lawn because he pushes a machine over cut grass"),
        (_asked("What is the person doing?"), "baking because trays of rolls lie before her near an oven"),
    ),
)
ESNLIVE: Final = Wording(
    instruction=(
        "Decide how the hypothesis relates to the image. It is entailment if the image shows that the hypothesis is "
        "true, contradiction if the image shows that it is false, and neutral if the image leaves it open.\n"
        f"Reply {_FORM.format('label')}"
        f"Begin with one of the words entailment, contradiction, neutral. {_BECAUSE}why. {_OUTSIDE}"
    ),
    show=lambda question: f"Hypothesis: {question.text}",
    examples=(
        (_asked("A child is outdoors."), "entailment because the girl on the swing is in a park"),
        (_asked("The two men are asleep."), "contradiction because men who carry a sofa are awake"),
        (_asked("The woman is waiting for her sister."), "neutral because it can't be seen whom she waits for"),
    ),
)


class _Example(Struct, frozen=True, kw_only=True):
    """A question with four answers and four reasons; `right` and `reason` are the indices of the right ones."""

    question: str
    answers: tuple[str, str, str, str]
    right: int
    reasons: tuple[str, str, str, str]
    reason: int


_EXAMPLES: Final = (
    _Example(
        question="Why does person1 hold the door?",
        answers=("He wants to lock it.", "Person2 comes with both arms full.", "He is tired.", "The door is broken."),
        right=1,
        reasons=(
            "Two crates keep person2 from using a hand.",
            "There is a key in the lock.",
            "Person1 leans on the wall.",
            "The hinge hangs loose.",
        ),
        reason=0,
    ),
    _Example(
        question="What will person1 do next?",
        answers=("Sit down at the desk.", "Call person2.", "Leave the room.", "Put out the fire."),
        right=2,
        reasons=(
            "The phone is ringing.",
            "A chair is drawn back.",
            "Smoke rises from the bin.",
            "He has a coat over his arm and faces the exit.",
        ),
        reason=3,
    ),
    _Example(
        question="Is person2 pleased with the meal?",
        answers=(
            "No, he has pushed his plate away.",
            "Yes, he asks for more.",
            "He hasn't been served.",
            "He cooks it.",
        ),
        right=0,
        reasons=(
            "An apron hangs on the chair.",
            "The full plate stands at the far edge of the table.",
            "The bowl is empty.",
            "There is no plate before him.",
        ),
        reason=1,
    ),
)


def _inner(sentence: str) -> str:
    """A sentence as a part of a longer one."""
    return sentence[0].lower() + sentence[1:].rstrip(".")


FREE: Final = Wording(
    instruction=(
        f"Answer the question about the image {_FORM.format('answer')}The answer is a short statement. {_SHOWN_BY}"
    ),
    show=_show_question,
    examples=tuple(
        (_asked(of.question), f"{_inner(of.answers[of.right])} because {_inner(of.reasons[of.reason])}")
        for of in _EXAMPLES
    ),
)
Q2A: Final = Wording(
    instruction=(
        f"Choose the answer to the question about the image. Reply {_FORM.format('letter')}"
        f"Begin with the letter of the right answer. {_SHOWN_BY}"
    ),
    show=_show_choices,
    examples=tuple(
        (_asked(of.question, of.answers), f"{'ABCD'[of.right]} because {_inner(of.reasons[of.reason])}")
        for of in _EXAMPLES
    ),
)
QA2R: Final = Wording(
    instruction=(
        "The right answer to a question about the image is given. Choose the reason why it is right. "
        f"Reply with the letter of that reason. {_OUTSIDE}"
    ),
    show=_show_reasons,
    examples=tuple(
        (_asked(of.question, of.reasons, given_answer=of.answers[of.right]), "ABCD"[of.reason]) for of in _EXAMPLES
    ),
)
Q2AR: Final = Wording(
    instruction=(
        "Choose the answer to the question about the image, and the reason why it is right. Reply in the form: "
        "<letter of the answer> because <letter of the reason>\n"
        f"{_OUTSIDE}"
    ),
    show=_show_both,
    examples=tuple(
        (
            _asked(of.question, of.answers, reasons=label_choices(of.reasons, after=4)),
            two_letters("ABCD"[of.right], "EFGH"[of.reason]),
        )
        for of in _EXAMPLES
    ),
)
