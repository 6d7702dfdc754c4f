"""Read the one label of a sentence that speaks of the answer in another language than English, wherever it is.

Languages differ in what lies between the word for "answer" and the letter; they agree in that a sentence with such a
word and one capital letter, which nothing denies, gives the answer: "Doğru cevap C'dir", "केवल C सही है".
"""

import re
from typing import Final

from vqa_client.scoring.choices.denials import NOT, NOT_THAT, WRONG
from vqa_client.scoring.choices.labels import WORDS, stands
from vqa_client.scoring.choices.prefixes import SENTENCE_READ, sentence_before, supposed
from vqa_client.scoring.choices.reading import ChoiceReply

_END: Final = re.compile(r"[.!?;\n।]")
_CLAUSE: Final = re.compile(rf"(?:(?!{NOT_THAT})[^,]){{1,120}}(?:{NOT_THAT}(?:\s?है)?)?", re.IGNORECASE)
_NOT: Final = re.compile(NOT, re.IGNORECASE)
_NOT_THAT: Final = re.compile(rf"{NOT_THAT}(?:\s?है)?$", re.IGNORECASE)
_WRONG: Final = re.compile(WRONG, re.IGNORECASE)
_REACH: Final = 24
"""Characters behind a denial in which the letter that it denies is looked for."""


def affirmed(reply: ChoiceReply, at: int) -> tuple[str, int] | None:
    """The only label that the sentence around `at` affirms, and where it ends."""
    start = at - len(sentence_before(reply.text, at))
    ends = _END.search(reply.text, at, at + SENTENCE_READ)
    stop = ends.start() if ends else min(len(reply.text), at + SENTENCE_READ)
    if reply.text[stop : stop + 1] == "?":
        return None
    kept: dict[str, int] = {}
    dropped: set[str] = set()
    for clause in _CLAUSE.finditer(reply.text, start, stop):
        labels = _labels(reply, *clause.span())
        left_out = _denied(reply.text, clause, labels)
        dropped |= {label for label, _ in left_out}
        kept |= dict(each for each in labels if each not in left_out)
    left = [(label, end) for label, end in kept.items() if label not in dropped]
    return left[0] if len(left) == 1 else None


def _labels(reply: ChoiceReply, start: int, stop: int) -> list[tuple[str, int]]:
    """The labels between two places that are no words and no part of a choice's text, each with its end."""
    patterns, texts = reply.patterns.labels, reply.texts.own
    found = [each for each in patterns.exact.finditer(reply.text, start, stop) if each[0].isupper()]
    if not found:
        return []
    said = reply.lower[start:stop]
    quoted = [text for text in map(texts.__getitem__, reply.texts.labels) if len(text) > 1 and text in said]
    return [
        (patterns.of(each[0]), each.end())
        for each in found
        if each[0] not in WORDS or stands(reply.text, each.end(), each[0], "")
        if not supposed(reply.text[start : each.start()])
        if not any(re.search(rf"\b{re.escape(each[0].lower())}\b", text) for text in quoted)
    ]


def _denied(text: str, clause: re.Match[str], labels: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Those of the labels of one clause that its words deny or call wrong."""
    start, stop = clause.span()
    if _NOT_THAT.search(text, start, stop):
        return labels
    if denial := _NOT.search(text, start, stop):
        behind = [each for each in labels if denial.end() < each[1] <= denial.end() + _REACH]
        return behind or labels
    return labels if _WRONG.search(text, start, stop) else []
