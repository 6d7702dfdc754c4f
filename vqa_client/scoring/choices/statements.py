"""Choices that say which statements are true: "I only", "Both 1 and 2", "Statement 1 is true, statement 2 is false"."""

from collections.abc import Mapping
from typing import Final

from vqa_client.scoring.patterns import lazily

LONGEST: Final = 300
"""Characters of a text that is read for statements."""
_NUMERAL: Final = r"(?:iii|ii|iv|i|v|[1-5])"
_NAMES: Final = r"(?:(?:statements?|assertions?|propositions?|claims?|conditions?) )?"
_LIST: Final = rf"{_NAMES}\(?{_NUMERAL}\)?(?:(?:, (?:and )?| and | & ){_NAMES}\(?{_NUMERAL}\)?)*"
_IS: Final = r"(?:is|are)(?: (?:both|all|also|clearly|definitely))*"
_TRUE: Final = r"(?:true|correct|right|valid|supported)"
_FALSE: Final = r"(?:false|incorrect|wrong|invalid|untrue|unsupported)"
_ALL: Final = r"(?:both|all(?: (?:three|four|of them|of these|of the above))?)"
_NONE: Final = r"(?:neither|none(?: of (?:them|these|the above|the))?)"
_KINDS: Final = r"(?:statements?|assertions?|claims?)"
_FORMS: Final = lazily(
    rf"\b(?:(?P<only>only {_LIST}|{_LIST} (?:only|alone))"
    rf"|(?P<all>{_ALL}(?: (?:of )?(?:the )?{_KINDS})?(?: {_LIST})?)(?: {_IS} (?:{_TRUE}|(?P<no>{_FALSE}))\b|\W*\Z)"
    rf"|(?P<none>{_NONE}(?: {_KINDS})?(?: {_NAMES}{_NUMERAL} nor {_NAMES}{_NUMERAL})?)(?: (?:is|are) {_TRUE}\b|\W*\Z)"
    rf"|(?P<list>{_LIST}) (?:{_IS}(?P<not> not|n't)?(?: {_TRUE}|(?P<false> {_FALSE}))\b"
    r"|(?P<isnt>(?:is|are)(?:n't| not))(?=[.,;]|\Z)))"
)
_NOT_THAT: Final = lazily(r"\bnot (?:true|correct|right|the case) that\b")
_PRONOUN: Final = lazily(r"\bi(?:'\w+| (?:think|believe|would|can|do|am|have|see|guess|say|know)\b)")
_PLACE: Final = lazily(rf"(?<![\w.]){_NUMERAL}(?![\w%]|\.\d)")
_BARE: Final = lazily(rf"\W*{_LIST}\W*")


def sets_of(choices: Mapping[str, str]) -> dict[frozenset[str], str]:
    """The set of true statements of each choice in lower case, to its label; {} if a choice isn't such a set."""
    numerals = frozenset(numeral for own in choices.values() for numeral in _PLACE.findall(own))
    if len(numerals) < 2:
        return {}
    sets = {label: true_statements(own, numerals) for label, own in choices.items()}
    labels = {true: label for label, true in sets.items() if true is not None}
    return labels if len(labels) == len(choices) and any(len(true) != 1 for true in labels) else {}


def true_statements(text: str, numerals: frozenset[str]) -> frozenset[str] | None:
    """The statements that a text in lower case calls true; None if it leaves others open: "I is true"."""
    if len(text) > LONGEST or _NOT_THAT.search(text):
        return None
    text = _PRONOUN.sub("", text)
    if _BARE.fullmatch(text):
        return frozenset(_PLACE.findall(text)) & numerals
    judged: dict[str, bool] = {}
    closed = False
    for form in _FORMS.finditer(text):
        if form["all"]:
            named, true, closed = {*_PLACE.findall(form["all"])} or numerals, not form["no"], True
        elif form["none"]:
            named, true, closed = numerals, False, True
        elif form["only"]:
            named, true, closed = {*_PLACE.findall(form["only"])}, True, True
        else:
            named, true = {*_PLACE.findall(form["list"])}, not form["isnt"] and bool(form["not"]) == bool(form["false"])
        if any(judged.get(numeral, true) != true for numeral in named):
            return None
        judged |= dict.fromkeys(named, true)
    left = {*_PLACE.findall(text)} - judged.keys()
    if not judged or left & numerals or not judged.keys() <= numerals:
        return None
    said = frozenset(numeral for numeral, true in judged.items() if true)
    return said if closed or len(said) > 1 or judged.keys() == numerals else None
