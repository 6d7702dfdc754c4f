"""What benchmarks with choices share: rows, prompts, published readers, and random draws of unreadable replies."""

import re
from collections.abc import Callable, Iterable
from random import Random
from string import ascii_uppercase
from typing import Any, Final, Literal

from msgspec import Struct

from vqa_client.aggregates import share
from vqa_client.benchmark import Answer, Columns, Metric, Parse, Prompt, Question, Replay, Scored, Sums, Total, verbatim
from vqa_client.prompt import choices_text
from vqa_client.scoring.published.choice_readers import ReadLabel, kit
from vqa_client.scoring.reply import Reply
from vqa_client.tables.forms import HIDDEN

LABELS: Final = "ABCDEFGHIJKLMNOP"
LETTERED: Final = {"lettered": Columns(*LABELS)}
"""The columns of choices in VLMEvalKit's files; an empty cell is not a choice."""
IMAGES: Final = Columns("image", *(f"image_{number}" for number in range(1, 8)))
"""The columns of images in the hub's files, one image each."""

CHOICE_PROMPT: Final = "{question}\n{choices}\n\nAnswer with the letter of the right choice."
"""Our prompt for questions with choices."""
DIRECTLY: Final = "Answer with the option's letter from the given choices directly."
"""How the harnesses end a prompt with choices."""
LMMS_PROMPT: Final = f"{{question}}\n{{choices}}\n{DIRECTLY}"
"""lmms-eval's prompt for questions with choices."""
_PLACEHOLDER: Final = re.compile(r"\{(question|choices|hint|letters)\}")


class ChoiceRow(Struct, kw_only=True):
    """A row with choices in a list, or in the columns A, B and so on, where "nan" is an empty cell."""

    question: str = ""
    hint: str = ""
    options: tuple[Any, ...] = ()
    lettered: dict[str, str] = {}

    def choices(self) -> dict[str, str]:
        return label_choices(self.options) or {label: text for label, text in self.lettered.items() if text != "nan"}

    def text(self) -> str:
        """The question, after its hint where it has one."""
        return f"{self.hint}\n{self.question}" if self.hint not in HIDDEN else self.question


def label_choices(texts: Iterable[Any], after: int = 0) -> dict[str, str]:
    """Choices by their letter, from A, or from the letter after the first `after`.

    One of MMMU-Pro's choices is a list, which is shown as Python shows it.
    """
    return {label: str(text) for label, text in zip(ascii_uppercase[after:], texts, strict=False)}


def letter_of(answer: str) -> str:
    """The letter of an answer that is a letter, or the number of a choice from 0."""
    return dict(enumerate(LABELS)).get(int(answer), answer) if answer.isdecimal() else answer


def split_choices(text: str, mark: re.Pattern[str]) -> tuple[str, dict[str, str]]:
    """Split a text into the question and the choices at its end; the group of `mark` is the letter of a choice."""
    question, *parts = mark.split(text)
    return question.strip(), dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))


def original_index(index: int) -> int:
    """The index of the question that a row of VLMEvalKit's files is, or is a rotation of."""
    return index % 1_000_000


def split_hint(question: Question) -> tuple[str, str]:
    """The hint of a question, or "", and its text without the hint."""
    hint = getattr(question.row, "hint", "")
    return ("", question.text) if hint in HIDDEN else (hint, question.text.removeprefix(f"{hint}\n"))


def prompt_from(
    template: str,
    no_choices: str = "",
    *,
    line: str = "{label}. {text}",
    between: str = "\n",
    hint: str = "{hint}\n",
    no_hint: str = "",
    images: Literal["first", "marked"] = "first",
    max_tokens: int | None = None,
) -> Prompt:
    """The prompt of a template with {question}, {choices}, {hint} and {letters}, which are the letters of the choices.

    `line` is the form of one choice, `between` is put between choices, and `hint` is the form of a hint. `no_choices`
    is the template of questions without choices, and of questions whose text is in their image.
    """

    def fill(question: Question) -> str:
        clue, text = split_hint(question)
        values = {
            "question": text,
            "choices": choices_text(question.choices, line, between),
            "hint": hint.replace("{hint}", clue) if clue else no_hint,
            "letters": ", ".join(sorted(question.choices)),
        }
        chosen = template if question.choices and question.text else no_choices or template
        return _PLACEHOLDER.sub(lambda match: values[match[1]], chosen)

    return Prompt(fill, images=images, max_tokens=max_tokens)


KIT_PROMPT: Final = prompt_from(
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


def has_choices(question: Question) -> bool:
    """Whether a question has choices."""
    return bool(question.choices)


def parse_by(
    read: ReadLabel, *, stripped: bool = False, alone: Callable[[Question], bool] = lambda question: False
) -> Parse:
    """Parse the unchanged reply by a published reader; the answer to an open question is the whole reply.

    With `stripped` the reader gets the reply without the spaces around it. `alone` says for which questions the reply
    must be the label alone.
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
VLMEVALKIT: Final = Metric("vlmevalkit", right, "VLMEvalKit's reader, without its judge", read=parse_by(kit))


def lmms_eval(read: ReadLabel, when: Callable[[Question], bool] | None = None) -> Metric:
    """The metric by lmms-eval's reader of a benchmark; the harness strips each reply first."""
    return Metric("lmms_eval", right, "lmms-eval's reader", read=parse_by(read, stripped=True), when=when)


def published(read: ReadLabel) -> Metric:
    """The metric by the published reader of a benchmark, for readers that never draw an answer."""
    return Metric("published", right, "the published reader", read=parse_by(read))


def open_are_wrong(metric: str, harness: str) -> Total:
    """A harness's accuracy over all questions; it counts every open question as wrong."""

    def counts(scored: Scored) -> tuple[float, float]:
        return bool(scored.question.choices) and scored.said(metric) in scored.question.references, 1

    return Total(f"{metric}_all", Sums(counts, share), f"{harness}'s: open answers are wrong", on=("accuracy",))


def replay_of(read: ReadLabel, seed: int) -> Replay:
    """The reading of a published script that draws a label for each reply it can't read, in the order of the data."""
    certain = parse_by(read)

    def start() -> Parse:
        draw = Random(seed)

        def parse(reply: Reply, question: Question) -> Answer:
            answer = certain(reply, question)
            if answer.text is not None or not question.choices:
                return answer
            return Answer(text=draw.choice(list(question.choices)), rule="drawn")

        return parse

    return Replay(start)


def published_draws(read: ReadLabel, seed: int, of: Callable[[str, Question], float] = right) -> tuple[Metric, Metric]:
    """The score by a published script that draws labels, and the same score without the drawn labels."""
    says = f"the published script, which draws what it can't read (seed {seed})"
    return (
        Metric("published", of, says, read=replay_of(read, seed)),
        Metric("published_unguessed", of, "the same without what it draws", read=parse_by(read)),
    )


def _drawn_score(scored: Scored) -> tuple[float, float]:
    return (0.0 if _is_read(scored) else scored.score), 1


def _expected_score(scored: Scored) -> tuple[float, float]:
    return (scored.score if _is_read(scored) else 1 / len(scored.question.choices)), 1


def _is_read(scored: Scored) -> bool:
    return not scored.question.choices or scored.said("published_unguessed") is not None


DRAW_TOTALS: Final = (
    Total("guessed", Sums(_drawn_score, share), "how much of the published score was drawn", on=("published",)),
    Total(
        "expected", Sums(_expected_score, share), "the published score, on average over all draws", on=("published",)
    ),
)
