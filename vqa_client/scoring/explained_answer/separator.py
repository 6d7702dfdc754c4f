"""Take a reply apart: the answer before the first whole word "because" (or what stands for it), the rest after it."""

import re
from dataclasses import dataclass
from typing import Final

from vqa_client.scoring.patterns import behind
from vqa_client.scoring.refusal import refuses
from vqa_client.scoring.reply import Reply
from vqa_client.scoring.wrappers import labelled
from vqa_client.types import Answer

_ECHO = re.compile(
    r"\A(?:question|hypothesis|statement|caption)\s?\d{0,3}\s?:.{0,2000}?(?:\n|[?.!]\s)\W{0,4}answer\W{0,3}:",
    re.I | re.S,
)
_NEXT = re.compile(
    r"\n\s*(?:question|hypothesis|statement|caption|image|picture|example|user|human)\s?\d{0,3}\s?:", re.I
)
_NAME: Final = "(?:final answer|answer|assistant|response|reply|label|activity|output|prediction)"
_PREFIX = re.compile(rf"(?:[\s*#-]*(?:\d[.)] )?{_NAME}[\s*]*:[\s*]*|\s*[#*][#* ]*{_NAME}[* ]*\n)+", re.I)
_LABEL: Final = r"(?:explanation|reason|reasoning|rationale|justification)"
_INTRODUCTION = re.compile(
    rf"\A(?!\W{{0,9}}{_LABEL}\b)[^\n]{{0,200}}[:!][ \t]{{0,9}}\n\s{{0,9}}"
    rf"(?=(?:\d[.)] )?[#*]{{0,9}}{_NAME}[\s*]{{0,9}}:)",
    re.I,
)
_EXPLICIT = re.compile(
    r"(?:^|[\s,;:.(\"'*<-]{1,9})because\b(?:\*\*)?[\s,:;>]*"
    rf"|(?:^|\s{{1,9}}\d[.)]|[\s,;.(*#-])[\s,;.(*#-]{{0,9}}{_LABEL}[\s*]{{0,9}}:(?:\*\*)?\s*"
    rf"|^[#*][#* ]{{0,9}}{_LABEL}[* ]{{0,9}}\n\s*",
    re.I | re.M,
)
_AFTER_COMMA = re.compile(r"(?P<by>,\s*(?:since|as|given that|due to)\s+)", re.I)
_AFTER_TWO_WORDS = re.compile(r"\S+(?:\s\S+)?(?P<by>\s(?:since|due to)\s+)", re.I)
_AFTER_ANSWER = re.compile(r"(?<=\w)\s?(?:[,;:.]|- )\s*(?=\w)")
_IN_BRACKETS = re.compile(r"<([^<>]*)>")
"""What a model makes of the form it is asked for, `<answer> because <explanation>`, when it keeps the brackets."""
_CLOSING = re.compile(r"\)\.?\Z")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
_WORD = re.compile(r"[^\W_]")
_FEW_WORDS: Final = 4
_WHOLE_ANSWERS = re.compile(r"\W*(?:yes|no|entailment|contradiction|neutral)\b", re.I)
"""After one of these a comma or a full stop is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a reply said: `head` before the separator, `rationale` after it, None where there is none.

    `rule` names what separated them; `explicit` holds for a separator that the prompt asked for or that says its name.
    """

    head: str
    rationale: str | None
    rule: str
    explicit: bool


def take_apart(reply: Reply) -> Parts | Answer:
    """The parts of a reply, or the answer without text that says why there are none.

    A reply cut by the token limit counts only if its separator came before the cut: then the answer is whole.
    """
    held = reply.unwrapped
    text = "" if reply.status else _own_words(held.answer)
    if not text:
        return reply.without_answer()
    if named := labelled(text):
        text, held = named.answer, named._replace(explanation=held.explanation or named.explanation)
    parts = split(text)
    if held.explanation and not (parts.explicit and parts.rationale):
        parts = _parts(*_beside(parts.head, held.explanation), "wrapper", explicit=True)
    if refuses(parts.head if parts.explicit else text):
        return Answer(status="refused", rule="refusal")
    if reply.cut and not parts.explicit:
        return Answer(status="truncated", rule="no separator")
    if not _WORD.search(parts.head):
        return Answer(status="unparsed", rule=f"nothing before {parts.rule}", rationale=parts.rationale)
    return parts


def split(text: str) -> Parts:
    """Split at the first separator there is; a reply of a few words without one is an answer and no explanation."""
    if found := _EXPLICIT.search(text):
        rule = "because" if "because" in found[0].lower() else "label"
        return _parts(text, found.start(), found.end(), rule, explicit=True)
    if found := _AFTER_COMMA.search(text) or _AFTER_TWO_WORDS.match(text):
        return _parts(text, found.start("by"), found.end(), "synonym")
    whole = _WHOLE_ANSWERS.match(text)
    if whole and (found := _AFTER_ANSWER.match(text, whole.end())):
        return _parts(text, found.start(), found.end(), "comma", explicit=True)
    end = _SENTENCE_END.search(text) if len(text.split()) > _FEW_WORDS else None
    return (
        _parts(text, end.start(), end.end(), "sentence") if end else _parts(text, len(text), len(text), "whole reply")
    )


def _parts(text: str, start: int, end: int, rule: str, *, explicit: bool = False) -> Parts:
    head = _unbracketed(" ".join(text[:start].split()))
    rationale = _unbracketed(text[end:].strip())
    if "(" in text[start:end] and rationale.count(")") > rationale.count("("):
        rationale = _CLOSING.sub("", rationale)
    return Parts(head=head, rationale=rationale if _WORD.search(rationale) else None, rule=rule, explicit=explicit)


def _beside(answer: str, explanation: str) -> tuple[str, int, int]:
    """An answer and the explanation beside it as one text, and where that is separated."""
    return f"{answer} {behind(_EXPLICIT, explanation)}", len(answer), len(answer) + 1


def _unbracketed(text: str) -> str:
    enclosed = _IN_BRACKETS.fullmatch(text)
    return enclosed[1].strip() if enclosed else text


def _own_words(text: str) -> str:
    """Drop the question that a reply repeats first, the further ones it invents, and names such as "Answer:"."""
    text = behind(_INTRODUCTION, behind(_ECHO, text).strip())
    following = _NEXT.search(text)
    text = text[: following.start()] if following else text
    return _unbracketed(behind(_PREFIX, text).strip())
