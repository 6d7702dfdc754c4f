"""Prompts: a template, the form of the choices, and the images before or after the text or at its marks.

{question} and {choices} in a template are replaced once; all other braces stay.
"""

import re
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from itertools import count as count_from
from typing import Final, Literal

from msgspec import Struct

from vqa_client.errors import DataError, UsageError
from vqa_client.own_code import named, place_of, shown, text_of
from vqa_client.task import visible
from vqa_client.types import Content, Question

PLACEHOLDERS = ("question", "choices")

_PLACEHOLDER = re.compile(r"\{(question|choices)\}")
_BARE_NAME = re.compile(r"\\[A-Za-z]+(?:\[[^\]{}]*\])?(?:\{[^{}]*\})+|\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""LaTeX commands with their arguments, which are skipped, or a name alone in braces."""
_MARK = re.compile(r"<image (\d{1,6})>")
_ANY_MARK = re.compile(r"<(\|?)image(?:[ _]?(\d{1,6}))?\1>")
"""All spellings of a mark in data, numbered or plain."""
SHORTLY: Final = "Answer the question using a single word or phrase."
"""The end of lmms-eval's and VLMEvalKit's prompt for a short answer."""
SHORT_PROMPT: Final = f"{{question}}\n{SHORTLY}"
"""lmms-eval's and VLMEvalKit's prompt for a short answer."""


class Prompt(Struct, frozen=True):
    """The prompt of a benchmark.

    `text` is a template with {question} and {choices}, or a function of the question that returns the text or the
    parts: texts, and images by their number from 1. `choice` is the form of a line of {choices}. `images` is the place
    of images: before the text, after it, or, with "marked", each at its mark `<image k>` in the question or in a
    choice. Images without a mark, or without a part, come first. `system` is the system message, or a function of
    the question that returns it; the config or the command line may replace it. `max_tokens`, if set, limits the reply
    instead of the model's setting. `frame` puts other text around the prompt. With `checked` the marks of the questions
    have been checked already.
    """

    text: str | Callable[[Question], str | Content] = "{question}"
    choice: str = "{label}. {text}"
    images: Literal["first", "last", "marked"] = "first"
    system: str | Callable[[Question], str] = ""
    max_tokens: int | None = None
    frame: Callable[[str, Question], str] | None = None
    checked: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for a name in braces that is nearly a placeholder; all other braces stay."""
        for name in _BARE_NAME.findall(self.text) if isinstance(self.text, str) else ():
            if name not in PLACEHOLDERS and (near := get_close_matches(name, PLACEHOLDERS, 1, 0.75)):
                raise ValueError(f"the prompt has {{{name}}}; did you mean {{{near[0]}}}? {{ {name} }} stays as it is")

    @property
    def needs_check(self) -> bool:
        """Whether each question must be checked: for its marks of images, and for what one's own functions return."""
        has_functions = callable(self.text) or place_of(self.system) or place_of(self.frame)
        return not self.checked and bool(self.images == "marked" or has_functions)

    def content(self, question: Question) -> Content:
        """The prompt's parts in order; the mark of an image that the question doesn't have stays as text."""
        filled, images = self._fill(question), range(1, len(question.images) + 1)
        if isinstance(filled, str):
            if self.images == "first":
                return (*images, filled)
            if self.images == "last":
                return (filled, *images)
            parts = at_marks(filled, images)
        else:
            parts = [f"<image {part}>" if isinstance(part, int) and part not in images else part for part in filled]
        named = {*parts, *(part for turn in question.turns for part in turn.content)}
        return (*(number for number in images if number not in named), *parts)

    def visible(self, question: Question) -> str:
        """The text in records: where no image is inside the text, it is the text that is sent."""
        if self.images != "marked" and not question.turns and isinstance(filled := self._fill(question), str):
            return filled
        return visible(self.content(question), question.turns)

    def check(self, question: Question) -> None:
        """Raise DataError where the question names an image that it doesn't have, UsageError where no text is made."""
        place = f"the prompt of question {question.id!r}"
        try:
            filled = self._fill(question)
        except Exception as error:
            raise named(error, place) from error.__cause__
        parts = filled if isinstance(filled, tuple | list) else (filled,)
        if not all(isinstance(part, str | int) for part in parts):
            raise UsageError(f"{place} is {shown(filled)}{place_of(self.frame or self.text)}", hint="return a text")
        text_of(self.system, question, "the system message")
        count = len(question.images)
        if isinstance(filled, str):
            numbers = marks_in(filled) if self.images == "marked" else []
        else:
            numbers = [part for part in filled if isinstance(part, int)]
        wrong = next((number for number in numbers if not 0 < number <= count), None)
        if wrong is not None:
            raise DataError(
                f"question {question.id!r} names image {wrong}, and the number of its images is {count}",
                hint="marks count a question's images from 1: correct the mark, or add the image",
            )

    def _fill(self, question: Question) -> str | Content:
        if isinstance(self.text, str):
            choices = choices_text(question.choices, self.choice) if question.choices else ""
            filled: str | Content = fill(self.text, question=question.text, choices=choices)
        else:
            filled = self.text(question)
        return self.frame(filled, question) if self.frame and isinstance(filled, str) else filled


class Shots(Struct, frozen=True):
    """The source of worked examples: a split of the data, and the group that they share with a question, if any."""

    split: str = ""
    same: str = ""


def numbered(text: str, start: int = 1) -> str:
    """Number the plain marks `<image>` of a text in order from `start`, without the numbers of its other marks.

    Other spellings of a mark, such as `<|image_1|>`, become `<image 1>`.
    """
    if "image" not in text:
        return text
    taken = {int(mark[2]) for mark in _ANY_MARK.finditer(text) if mark[2]}
    free = (number for number in count_from(start) if number not in taken)
    return _ANY_MARK.sub(lambda mark: f"<image {int(mark[2]) if mark[2] else next(free)}>", text)


def marks_in(text: str) -> list[int]:
    """The numbers in the marks of a text."""
    return [int(number) for number in _MARK.findall(text)] if "<image " in text else []


def at_marks(text: str, images: range) -> list[str | int]:
    """A text in parts: each mark is replaced by the number of its image."""
    parts: list[str | int] = []
    at = 0
    for mark in _MARK.finditer(text):
        if int(mark[1]) in images:
            parts += text[at : mark.start()], int(mark[1])
            at = mark.end()
    return [part for part in (*parts, text[at:]) if part != ""] or [""]


def fill(template: str, *, question: str, choices: str = "") -> str:
    """Fill in the question and the choices in one pass: placeholders inside them stay."""
    if "{choices}" not in template:
        return template.replace("{question}", question)
    return question.join([part.replace("{choices}", choices) for part in template.split("{question}")])


def placeholders(template: str) -> frozenset[str]:
    """The placeholders of a template."""
    return frozenset(_PLACEHOLDER.findall(template))


def template_for(template: str | None, default: str, benchmark: str) -> tuple[str, str]:
    """The template to use, and a note for people where it isn't the config's.

    For a benchmark without choices a template with {choices}, or without {question}, is another benchmark's: `default`
    is used. Raises UsageError for an unknown placeholder.
    """
    if not template:
        return default, ""
    used, known = placeholders(template), placeholders(default)
    if "choices" not in known and used != {"question"}:
        lacks = "it has {choices}" if "choices" in used else "it has no {question}"
        return default, f"{benchmark} asks with its own template, {default!r}, not the config's: {lacks}"
    check(template, known=[name for name in PLACEHOLDERS if name in known])
    return template, ""


def check(template: str, *, known: Collection[str] = PLACEHOLDERS) -> None:
    """Raise UsageError for a template without {question}, or with an unknown placeholder."""
    names = [name for name in _BARE_NAME.findall(template) if name]
    unknown = sorted(set(names) - set(known))
    listed = " and ".join(f"{{{name}}}" for name in known)
    if unknown:
        raise UsageError(
            f"unknown placeholder {{{unknown[0]}}} in prompt_template; known are {listed}",
            hint=f"to send the braces themselves, write them with a space: {{ {unknown[0]} }}",
        )
    if "question" not in placeholders(template):
        raise UsageError(
            f"prompt_template has no {{question}}: {template[:60]!r}",
            hint=f"write {listed} where the texts belong; '{{question}}' is the shortest template",
        )


def choices_text(choices: Mapping[str, str], form: str = "{label}. {text}", between: str = "\n") -> str:
    """The choices as text, in the order of their letters, by default one per line."""
    return between.join(
        form.replace("{label}", label).replace("{text}", text) for label, text in sorted(choices.items())
    )
