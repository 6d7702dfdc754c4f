"""A peeled reply with all it is read by, and what a rule finds in it."""

import re
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from msgspec import Struct

from vqa_client.scoring.choices.grammar import Patterns, patterns_of
from vqa_client.scoring.choices.labels import Token, tokens_of
from vqa_client.scoring.choices.options import Texts, folded, texts_of


class ChoiceReply(Struct, frozen=True, kw_only=True):
    """A peeled reply with all it is read by, made once.

    `lower` is as long as `text`; `folded` is without the marks of the markup, so that emphasis in a phrase does not
    matter. `tokens` are the letters that may be labels, by their ends, and `written` the label of each writing.
    """

    text: str
    lower: str
    folded: str
    tokens: dict[int, Token]
    written: Mapping[str, str]
    patterns: Patterns
    texts: Texts


def reply_of(text: str, choices: dict[str, str]) -> ChoiceReply:
    """A peeled text, ready to be read against `choices`."""
    lower, patterns, texts = text.lower(), patterns_of(tuple(choices)), texts_of(tuple(choices.items()))
    return ChoiceReply(
        text=text,
        lower=lower,
        folded=folded(text),
        tokens=tokens_of(text, lower, patterns.labels, texts.own, patterns.further),
        written=patterns.labels.written,
        patterns=patterns,
        texts=texts,
    )


def is_spoken(reply: ChoiceReply, match: re.Match[str]) -> bool:
    """Whether the matched letter is small and in no bracket, as a word is."""
    start, end = match.span("label")
    return match["label"].islower() and reply.text[start - 1] != "(" and reply.text[end : end + 1] != ")"


def is_label(reply: ChoiceReply, match: re.Match[str], *, offset: int = 0, alone: bool = False) -> bool:
    """Whether the matched letter is a label."""
    token = reply.tokens.get(offset + match.end("label"))
    return token is not None and (token.means_alone if alone else token.means)


def own_end(reply: ChoiceReply, end: int) -> int:
    """Where the label that ends at `end`, with the text of its choice behind it, ends."""
    token = reply.tokens.get(end)
    return token.own_end if token else end


class Found(Struct, frozen=True, kw_only=True):
    """What a rule read: one label is the answer, several are an ambiguity, none is a declared non-answer."""

    labels: tuple[str, ...]
    rule: str
    rivals: tuple[str, ...] = ()


class Rule(NamedTuple):
    """A way to read a reply.

    `before` says what it finds before a further question: the answer, or what may also lead up to that question.
    """

    name: str
    find: Callable[[ChoiceReply], Found | None]
    before: Literal["answer", "shown", ""] = ""
