"""A reply that judges the choices one by one: a table, boxes with ticks, "A: Incorrect. B: Correct." """

import re
from itertools import islice
from typing import Final

from vqa_client.scoring.choices.patterns import RIGHT_SIGNS, SAYS_RIGHT
from vqa_client.scoring.choices.reading import ChoiceReply
from vqa_client.scoring.choices.text import folded

PLACES_READ: Final = 200
"""Judgements that are looked at, a bound on the time that a runaway reply can take."""
_RIGHT = re.compile(rf"{RIGHT_SIGNS}|\b(?:{SAYS_RIGHT}|yes)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!;]) ")
_JUDGED = re.compile(
    rf"(?:(?P<right>{RIGHT_SIGNS}|(?:[:?-] ?|is )(?:{SAYS_RIGHT}|yes)\b)"
    r"|(?P<wrong>[☐❌✗✘✖]|(?:[:?-] ?|is )(?:no|false|wrong|incorrect|not (?:correct|true|right))\b))[^\w]*$"
)


def judged_right(reply: ChoiceReply) -> tuple[str, int] | None:
    """The one label that is called right among several that are judged, and where the line of the last one ends."""
    if not _RIGHT.search(reply.text):
        return None
    for pattern in reply.patterns.verdicts:
        found = list(islice(pattern.finditer(reply.text), PLACES_READ))
        judged = {reply.label(each): each["right"] for each in found}
        if len(judged) < 2 or not _opens_its_line(reply.text, found[0].start()):
            continue
        right = [label for label, sign in judged.items() if sign is not None]
        if len(right) != 1 or any(_echoed(reply, each) for each in found):
            return None
        end = reply.text.find("\n", found[-1].end())
        return right[0], end if end >= 0 else len(reply.text)
    return _judged_texts(reply)


def _judged_texts(reply: ChoiceReply) -> tuple[str, int] | None:
    """The same of choices that are judged by their texts: "Paris: no. Lyon: yes." """
    items = reply.text.split("\n", PLACES_READ) if "\n" in reply.text else _SENTENCE.split(reply.text, PLACES_READ)
    judged: dict[str, bool] = {}
    for item in items:
        said = folded(item)
        labels, end = reply.texts.at_start(said)
        judgement = _JUDGED.search(said, end) if len(labels) == 1 else None
        if judgement:
            judged[labels[0]] = judgement["right"] is not None
    right = [label for label, is_right in judged.items() if is_right]
    return (right[0], len(reply.text)) if len(judged) > 1 and len(right) == 1 else None


def _opens_its_line(text: str, at: int) -> bool:
    """Whether only signs stand before it: in "A ❌ B ✅" the signs are of the labels before them."""
    return not any(character.isalnum() for character in text[text.rfind("\n", 0, at) + 1 : at])


def _echoed(reply: ChoiceReply, judgement: re.Match[str]) -> bool:
    """Whether "True" is no judgement but the text of the choice."""
    said = judgement["right"] or judgement["wrong"]
    return said.lower() == reply.texts.own[reply.label(judgement)]
