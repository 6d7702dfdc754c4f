"""What benchmarks with choices share: rows, prompts, published readings, and what was drawn at random."""

import re
from collections.abc import Callable, Iterable
from random import Random
from string import ascii_uppercase
from typing import Any, Final, Literal

from msgspec import Struct

from vqa_client.aggregates import share
from vqa_client.benchmark import Answer, Columns, Metric, Parse, Prompt, Question, Replay, Scored
from vqa_client.benchmark import Sums, Total, verbatim
from vqa_client.prompt import choices_text
from vqa_client.scoring.published.choice_readers import Reader, kit
from vqa_client.scoring.reply import Reply
from vqa_client.tables.forms import HIDDEN

LABELS: Final = "ABCDEFGHIJKLMNOP"
LETTERED: Final = {"lettered": Columns(*LABELS)}
"""The columns of VLMEvalKit's files that have choices; an empty one is not a choice."""
IMAGES: Final = Columns("image", *(f"image_{number}" for number in range(1, 8)))
"""The columns of the hub's files that have an image each."""

ASKED: Final = "{question}\n{choices}\n\nAnswer with the letter of the right choice."
DIRECTLY: Final = "Answer with the option's letter from the given choices directly."
"""How the harnesses end a prompt with choices."""
_PLACEHOLDER: Final = re.compile(r"\{(question|choices|hint|letters)\}")


class ChoiceRow(Struct, kw_only=True):
    """A row whose choices are a list, or columns called A, B and so on, in which "nan" is an empty cell."""

    question: str = ""
    hint: str = ""
    options: tuple[Any, ...] = ()
    lettered: dict[str, str] = {}

    def choices(self) -> dict[str, str]:
        return labelled(self.options) or {label: text for label, text in self.lettered.items() if text != "nan"}

    def asked(self) -> str:
        """The question, after its hint where it has one."""
        return f"{self.hint}\n{self.question}" if self.hint not in HIDDEN else self.question


def labelled(texts: Iterable[Any], after: int = 0) -> dict[str, str]:
    """Choices by their letter, from A, or from the letter after the first `after`.

    One of MMMU-Pro's choices is a list, which is shown as Python shows it.
    """
    return {label: str(text) for label, text in zip(ascii_uppercase[after:], texts, strict=False)}


def from_zero(answer: str) -> str:
    """The letter of an answer that is one, or that counts the choices from 0."""
    return dict(enumerate(LABELS)).get(int(answer), answer) if answer.isdecimal() else answer


def taken_apart(text: str, mark: re.Pattern[str]) -> tuple[str, dict[str, str]]:
    """A question and the choices that its text ends with; the group of `mark` is a choice's letter."""
    question, *parts = mark.split(text)
    return question.strip(), dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))


def unrotated(index: int) -> int:
    """The index of a question of VLMEvalKit's files by that of one of its rotations, which are rows too."""
    return index % 1_000_000


def without_hint(question: Question) -> tuple[str, str]:
    """The hint of a question, "" where it has none, and the question itself."""
    hint = getattr(question.row, "hint", "")
    return ("", question.text) if hint in HIDDEN else (hint, question.text.removeprefix(f"{hint}\n"))


def asking(
    form: str,
    other: str = "",
    *,
    line: str = "{label}. {text}",
    between: str = "\n",
    hint: str = "{hint}\n",
    no_hint: str = "",
    images: Literal["first", "marked"] = "first",
    max_tokens: int | None = None,
) -> Prompt:
    """A template with {question}, {choices}, {hint} and {letters}, those of the choices; `hint` is how a hint is put.

    `other` is for questions without choices, and for those whose text is in their image.
    """

    def text(question: Question) -> str:
        clue, asked = without_hint(question)
        values = {
            "question": asked,
            "choices": choices_text(question.choices, line, between),
            "hint": hint.replace("{hint}", clue) if clue else no_hint,
            "letters": ", ".join(sorted(question.choices)),
        }
        chosen = form if question.choices and question.text else other or form
        return _PLACEHOLDER.sub(lambda match: values[match[1]], chosen)

    return Prompt(text, images=images, max_tokens=max_tokens)


KIT_PROMPT: Final = asking(
    "{hint}Question: {question}\nOptions:\n{choices}\nPlease select the correct answer from the options above. \n",
    "{hint}Question: {question}\n",
    hint="Hint: {hint}\n",
)
"""VLMEvalKit's prompt for questions with choices, and for those without."""


def right(answer: str, question: Question) -> float:
    """Whether a label, or a text, is the right one."""
    return float(answer in question.references)


def right_text(answer: str, question: Question) -> float:
    """Whether a label's choice has the text of the right one."""
    return float(question.choices[answer] == question.choices[question.references[0]])


def with_choices(question: Question) -> bool:
    """Whether a question has choices."""
    return bool(question.choices)


def reading(
    read: Reader, *, stripped: bool = False, alone: Callable[[Question], bool] = lambda question: False
) -> Parse:
    """A published reader as a reading of the reply as it came; an open question's answer is all of it.

    With `stripped` the reader isn't given the spaces around a reply. `alone` says where the reply must be the label.
    """

    def parse(reply: Reply, question: Question) -> Answer:
        if not question.choices:
            return verbatim(reply, question)
        text = reply.raw.strip() if stripped else reply.raw
        label = text if alone(question) else read(text, question.choices)
        if label in question.choices:
            return Answer(text=label, rule=read.__name__)
        return Answer(status="unparsed", rule=read.__name__)

    return parse


OURS: Final = Metric("accuracy", right, "the choice, as our parser reads it")
VLMEVALKIT: Final = Metric("vlmevalkit", right, "VLMEvalKit's reader, without its judge", read=reading(kit))


def lmms_eval(read: Reader, when: Callable[[Question], bool] | None = None) -> Metric:
    """lmms-eval's reader of a benchmark as a metric; the harness strips replies before any task sees them."""
    return Metric("lmms_eval", right, "lmms-eval's reader", read=reading(read, stripped=True), when=when)


def published(read: Reader) -> Metric:
    """The published reader of a benchmark as a metric, where it never guesses."""
    return Metric("published", right, "the published reader", read=reading(read))


def open_are_wrong(metric: str, harness: str) -> Total:
    """A harness's figure over all questions, of which it counts the open ones as wrong."""

    def counts(scored: Scored) -> tuple[float, float]:
        return bool(scored.question.choices) and scored.said(metric) in scored.question.references, 1

    return Total(f"{metric}_all", Sums(counts, share), f"{harness}'s: open answers are wrong", on=("accuracy",))


def drawing(read: Reader, seed: int) -> Replay:
    """A published script that draws the label of each reply that it can't read, in the order of the data."""
    certain = reading(read)

    def start() -> Parse:
        draw = Random(seed)

        def parse(reply: Reply, question: Question) -> Answer:
            answer = certain(reply, question)
            if answer.text is not None or not question.choices:
                return answer
            return Answer(text=draw.choice(list(question.choices)), rule="drawn")

        return parse

    return Replay(start)


def drawn(read: Reader, seed: int, of: Callable[[str, Question], float] = right) -> tuple[Metric, Metric]:
    """The published score of a script that draws, and the same without what it drew."""
    return (
        Metric(
            "published", of, f"the published script, which draws what it can't read (seed {seed})", drawing(read, seed)
        ),
        Metric("published_unguessed", of, "the same without what it draws", reading(read)),
    )


def _without_guesses(scored: Scored) -> tuple[float, float]:
    return (0.0 if _is_read(scored) else scored.score), 1


def _expected(scored: Scored) -> tuple[float, float]:
    return (scored.score if _is_read(scored) else 1 / max(1, len(scored.question.choices))), 1


def _is_read(scored: Scored) -> bool:
    return not scored.question.choices or scored.said("published_unguessed") is not None


DRAWN: Final = (
    Total("guessed", Sums(_without_guesses, share), "how much of the published score was drawn", on=("published",)),
    Total("expected", Sums(_expected, share), "the published score, on average over all draws", on=("published",)),
)
