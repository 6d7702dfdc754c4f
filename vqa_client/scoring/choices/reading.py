"""What the rules of reading share: a peeled reply with its question's labels and texts, and what was found in it."""

import re
from dataclasses import dataclass

from vqa_client.scoring.choices.labels import in_formula, stands
from vqa_client.scoring.choices.patterns import Patterns, patterns_of
from vqa_client.scoring.choices.text import Texts, texts_of

_CLOSERS = re.compile(r"[ \"').:)\x03\x05]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceReply:
    """A peeled reply and the question's labels and texts to read it with; `lower` is as long as `text`."""

    text: str
    lower: str
    patterns: Patterns
    texts: Texts

    def label(self, found: re.Match[str]) -> str:
        """The label that a match of one of the patterns stands for."""
        return self.patterns.labels.of(found["label"])

    def means(self, found: re.Match[str], *, offset: int = 0, alone: bool = False) -> bool:
        """Whether the matched label stands by itself, or another label is joined to it."""
        end = offset + found.end("label")
        own = self.texts.own[self.label(found)]
        if further := self.patterns.further.match(self.text, end):
            return not in_formula(self.text, further.end())
        return stands(self.text, end, found["label"], own, alone=alone)

    def after_own_text(self, end: int, label: str) -> int:
        """Where the text of the choice ends that may follow its label at `end`: "(B) blue car"."""
        own, closers = self.texts.own[label], _CLOSERS.match(self.text, end)
        start = closers.end() if closers else end
        return start + len(own) if own and self.lower.startswith(own, start) else end


def reply_of(text: str, choices: dict[str, str]) -> ChoiceReply:
    """A peeled text, ready to be read against `choices`."""
    return ChoiceReply(
        text=text, lower=text.lower(), patterns=patterns_of(tuple(choices)), texts=texts_of(tuple(choices.items()))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a rule read: one label is the answer, several are an ambiguity, none is a declared non-answer."""

    labels: tuple[str, ...]
    rule: str
    rivals: tuple[str, ...] = ()
