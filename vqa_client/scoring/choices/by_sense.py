"""Read a choice by what the reply says of the question: that nobody can tell, or a yes or no that one opens with."""

from typing import Final

from vqa_client.scoring.choices.by_text import SHORT
from vqa_client.scoring.choices.grammar import ChoiceReply, Found
from vqa_client.scoring.choices.options import folded
from vqa_client.scoring.choices.refuted import sentence_before
from vqa_client.scoring.patterns import lazily

LONGEST: Final = 80
"""Characters of a choice that says that nobody can tell; a longer one says something else beside it."""


def undetermined(reply: ChoiceReply) -> Found | None:
    """The one choice that says that nobody can tell, where the reply says it in other words."""
    owned = {label: reply.texts.own[label] for label in reply.texts.labels}
    labels = tuple(label for label, own in owned.items() if len(own) <= LONGEST and _NOBODY_KNOWS.search(own))
    if len(labels) != 1:
        return None
    text = folded(reply.text)
    said = _NOBODY_KNOWS.search(text if len(text) <= SHORT else sentence_before(text, len(text) - 1))
    return Found(labels=labels, rule="undetermined") if said and not _BUT.search(text) else None


def yes_or_no(reply: ChoiceReply) -> Found | None:
    """Of choices that open with yes and with no, the one that opens as the reply does; its own words tell several."""
    said = _YES_NO.match(folded(reply.text))
    owned = {label: _YES_NO.match(reply.texts.own[label]) for label in reply.texts.labels} if said else {}
    if not said or {own[1] for own in owned.values() if own} != {"yes", "no"}:
        return None
    words = {label: {*_WORD.findall(own["rest"])} for label, own in owned.items() if own and own[1] == said[1]}
    first = {*_WORD.findall(_SENTENCE_END.split(said["rest"], maxsplit=1)[0])}
    if len(words) > 1:
        shared = set.intersection(*words.values())
        words = {label: each for label, each in words.items() if (each - shared) & first}
    return Found(labels=tuple(words), rule="yes or no") if len(words) == 1 else None


_NOBODY_KNOWS = lazily(
    r"\b(?:can't|cannot|can not|could not|couldn't|(?:not|n't) (?:be )?(?:possible|able) to|impossible to|unable to)"
    r" (?:be )?(?:\w+ly )?(?:determined?|tell|told|say|said|infer(?:red)?|conclude|known?|judged?|ascertain(?:ed)?)\b"
    r"|(?:\bnot|n't) (?:\w+ )?(?:enough|sufficient) (?:\w+ )?(?:information|data|evidence|details?|context)\b"
    r"|\binsufficient (?:information|data|evidence|context|details?)\b|\bundetermined\b|\bindeterminate\b"
    r"|\b(?:can't|cannot|can not) (?:be )?answer(?:ed)?\b|\bunanswerable\b|^unknown$|\bis unknown\b"
)
_BUT = lazily(r"\b(?:but|however|though|although|sorry|unable to (?:help|assist|provide))\b")
_YES_NO = lazily(r"\W*(yes|no)\b(?P<rest>[^\n]*)")
_WORD = lazily(r"[^\W_]+")
_SENTENCE_END = lazily(r"[.!?;](?=\s|$)")
