"""Read an answer of a few words, or of a sentence, from a reply of the form `<answer> because <explanation>`."""

import html
import re
from typing import Final

from vqa_client.scoring.explained_answer.separator import MARKS, Parts, take_apart
from vqa_client.scoring.plain import plain
from vqa_client.scoring.reply import Reply
from vqa_client.types import Answer

MOST_WORDS: Final = 8
"""A longer reply in which nothing separates an answer from an explanation is read as prose without an answer."""
_AROUND: Final = " \t\n.,;:!?\"'()*-"
_ANSWER_IS = re.compile(
    r"(?:so,? |thus,? |therefore,? )?"
    r"(?:the|my) (?:(?:final|correct|best|short|right) )?(?:answer|activity|response|label)"
    r"(?: to (?:the|this|your) question)?(?: (?:is|would be|must be)\b|\s?:)(?: (?:that|most likely|probably))?[\s:]*",
    re.IGNORECASE,
)
_SUBJECT_IS = re.compile(
    r"(?:it|this|that|he|she|they|there|someone|people|(?:the|a|an)(?: [\w-]+){1,4}?)"
    r"(?:'s|'re| is| are| was| were| looks| appears to be| seems to be)(?: (?:most likely|probably))? ",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"(yes|no)\b(?=\s*[,.;:!-]|\s+(?:it|he|she|they|there|this|that|these|those|the|i|you|we|because|since)\b)",
    re.IGNORECASE,
)


def read_phrase(reply: Reply) -> Answer:
    """A short answer: what introduces it ("the answer is", "he is") and what follows a yes or no are not part of it."""
    parts = take_apart(reply)
    if isinstance(parts, Answer):
        return parts
    phrase = _bare(parts.head)
    if not parts.explicit and len(phrase.split()) > MOST_WORDS:
        return Answer(status="unparsed", rule="prose", rationale=parts.rationale)
    return _answer(phrase, parts)


def read_sentence(reply: Reply) -> Answer:
    """An answer that may be a sentence of its own."""
    parts = take_apart(reply)
    if isinstance(parts, Answer):
        return parts
    introduction = _ANSWER_IS.match(parts.head)
    return _answer(_stripped(parts.head[introduction.end() if introduction else 0 :]), parts)


def _bare(head: str) -> str:
    phrase = _stripped(plain(html.unescape(head)).translate(MARKS))
    introduction = _ANSWER_IS.match(phrase) or _SUBJECT_IS.match(phrase)
    phrase = _stripped(phrase[introduction.end() if introduction else 0 :])
    yes_no = _YES_NO.match(phrase)
    return yes_no[1] if yes_no else phrase


def _stripped(text: str) -> str:
    """Without the marks around it, but with the sign of a number and the bracket that closes one within."""
    start = len(text) - len(text.lstrip(_AROUND))
    bare = text.strip(_AROUND)
    sign = "-" if bare[:1].isdigit() and text[:start].endswith("-") else ""
    closing = ")" if bare.count("(") > bare.count(")") and text[start + len(bare) :].startswith(")") else ""
    return sign + bare + closing


def _answer(text: str, parts: Parts) -> Answer:
    if not text:
        return Answer(status="unparsed", rule=f"nothing before {parts.rule}", rationale=parts.rationale)
    return Answer(text=text, rule=parts.rule, rationale=parts.rationale)
