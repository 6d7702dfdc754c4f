"""A reply prepared for the rules that read a choice, and what a rule finds in it."""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Literal, NamedTuple

from msgspec import Struct

from vqa_client.scoring.choices.grammar import patterns_of
from vqa_client.scoring.choices.labels import tokens_of
from vqa_client.scoring.choices.options import folded, names_ending_in_letters, texts_of


class ChoiceReply:
    """A peeled reply with everything that the rules need to read it against `choices`, computed once.

    `lower` is as long as `text`; `folded` has no marks of emphasis, so that a phrase is found across them. `tokens` are
    the letters that may be labels, by their ends; `written` maps each spelling of a label to the label. `cut`: the
    token limit ended it.
    """

    def __init__(self, text: str, choices: Mapping[str, str], *, cut: bool = False) -> None:
        self.text, self.lower, self.folded, self.cut = text, text.lower(), folded(text), cut
        self.patterns, self.texts = patterns_of(tuple(choices)), texts_of(tuple(choices.items()))
        self.written = self.patterns.labels.written
        self.tokens = tokens_of(text, self.lower, self.patterns.labels, self.texts.own, self.patterns.further)
        for end in names_ending_in_letters(self.lower, self.texts, self.written):
            self.tokens.pop(end, None)

    @cached_property
    def first_text(self) -> tuple[tuple[str, ...], int]:
        """The labels of the choice whose text the reply begins with, and its end; () and 0 without one."""
        return self.texts.at_start(self.folded)

    def is_spoken(self, match: re.Match[str]) -> bool:
        """Whether the matched letter is in lower case and without brackets, as a word is."""
        start, end = match.span("label")
        return match["label"].islower() and self.text[start - 1] != "(" and self.text[end : end + 1] != ")"

    def is_label(self, match: re.Match[str], *, offset: int = 0, alone: bool = False) -> bool:
        """Whether the matched letter is a label."""
        token = self.tokens.get(offset + match.end("label"))
        return token is not None and (token.means_alone if alone else token.means)

    def own_end(self, end: int) -> int:
        """Where the text of its choice ends that follows the label at `end`; `end` if none follows."""
        token = self.tokens.get(end)
        return token.own_end if token else end


class Found(Struct, frozen=True, kw_only=True):
    """What a rule found: one label is the answer, several are ambiguous, none is a declaration without an answer."""

    labels: tuple[str, ...]
    rule: str
    rivals: tuple[str, ...] = ()


RuleResult = Found | tuple[str, ...] | None
"""What a rule returns: the labels that it finds under its own name, or a Found; None if it finds nothing."""


class Rule(NamedTuple):
    """One way to read a reply.

    `before` says what its find before another question is: the "answer", or something only "shown", which may also
    lead up to that question. "" means that it never ends the answer there.
    """

    name: str
    find: Callable[[ChoiceReply], RuleResult]
    before: Literal["answer", "shown", ""] = ""

    def found(self, result: Found | tuple[str, ...]) -> Found:
        return result if isinstance(result, Found) else Found(labels=result, rule=self.name)
