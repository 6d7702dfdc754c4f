"""How questions are put: an instruction and examples of our own writing, then the question; the image follows."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from vqa_client.types import Question

EXAMPLES: Final[Mapping[str, int]] = {"zero": 0, "1shot": 1, "3shot": 3}
"""How many examples a prompt mode shows."""


class Wording(Struct, frozen=True, kw_only=True):
    """The instruction of a benchmark, how it shows a question, and examples of three questions with their replies.

    Examples come without images: a model should learn the form of a reply from them and nothing else.
    """

    instruction: str
    shown: Callable[[Question], str]
    examples: tuple[tuple[str, str], ...]


def prompt(question: Question, wording: Wording, prompt_mode: str) -> str:
    """The whole text that is sent before the image."""
    examples = wording.examples[: EXAMPLES[prompt_mode]]
    blocks = [wording.instruction]
    if examples:
        blocks.append("These examples come without their images and show the form of a reply.")
        blocks += [f"{asked}\nAnswer: {reply}" for asked, reply in examples]
        blocks.append("Now the image below.")
    return "\n\n".join([*blocks, wording.shown(question)])


def named(name: str) -> Callable[[Question], str]:
    """Show a question as its text after a name and a colon."""
    return lambda question: f"{name}: {question.text}"


VQAX: Final = Wording(
    instruction=(
        "Answer the question about the image in one sentence of the form: <answer> because <explanation>\n"
        "Begin with an answer of one or two words. Then comes the word because, in lower case and only once. Then say "
        "in a few words what in the image shows it. Write nothing else."
    ),
    shown=named("Question"),
    examples=(
        ("Question: What is the dog lying on?", "rug because there is a striped mat under its paws"),
        ("Question: Is it going to rain soon?", "yes because dark clouds fill the whole sky"),
        ("Question: How many cups are on the shelf?", "3 because one red and two white cups stand side by side"),
    ),
)
ACTX: Final = Wording(
    instruction=(
        "Name the activity of the person in the image in one sentence of the form: <activity> because <explanation>\n"
        "Begin with the activity in one to three words. Then comes the word because, in lower case and only once. Then "
        "say in a few words what in the image shows it. Write nothing else."
    ),
    shown=named("Question"),
    examples=(
        ("Question: What is the person doing?", "rowing because she pulls two oars in a narrow boat"),
        ("Question: What is the person doing?", "mowing lawn because he pushes a machine over cut grass"),
        ("Question: What is the person doing?", "baking because trays of rolls lie before her near an oven"),
    ),
)
ESNLIVE: Final = Wording(
    instruction=(
        "Decide how the hypothesis relates to the image. It is entailment if the image shows that the hypothesis is "
        "true, contradiction if the image shows that it is false, and neutral if the image leaves it open.\n"
        "Reply in one sentence of the form: <label> because <explanation>\n"
        "Begin with one of the words entailment, contradiction, neutral. Then comes the word because, in lower case "
        "and only once. Then say in a few words why. Write nothing else."
    ),
    shown=named("Hypothesis"),
    examples=(
        ("Hypothesis: A child is outdoors.", "entailment because the girl on the swing is in a park"),
        ("Hypothesis: The two men are asleep.", "contradiction because men who carry a sofa are awake"),
        ("Hypothesis: The woman is waiting for her sister.", "neutral because it can't be seen whom she waits for"),
    ),
)
