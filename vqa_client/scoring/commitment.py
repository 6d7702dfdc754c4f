"""Whether a reply stands by an answer that it contains: it neither denies it nor offers others beside it.

Of the numbers in a reply, only candidates can rival the answer. No candidates are list markers ("1. ..."), places
("page 3", "section 2"), amounts of document ("12 pages"), terms of a sum ("7000 + 421"), dates, times and ranges,
numbers that the reply denies ("not 1183") and those of another kind than the answer (a percentage beside a plain
number). What is left rivals an answer

* where both stand in one list ("7421, 1183 or 9920"), always;
* where the answer is stated ("is 7421", "Answer: 7421"), only if the rival is stated too;
* elsewhere ("7421 appears, 1183 too"), wherever it stands, unless it is an aside in brackets.

Words rival an answer only in a list with it: "A or B", "A and B." at the end, three or more items or short lines.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from vqa_client.scoring.numbers import Number
from vqa_client.scoring.prefixes import negated

_READ: Final = 40
"""Characters around an answer that are looked at; keeps the time for one answer constant."""
_CANDIDATES: Final = 3
_WORDS: Final = 3
_DENIED = re.compile(
    r"[\s\"')\]*_`]{0,6}(?:\?|,? ?(?:is|are|was|were|does|do|did|would|can|could|seems)(?:n't| not\b|n't\b"
    r"| (?:wrong|incorrect|false|ruled out|(?:definitely|clearly|certainly|probably) not)\b)|,? ?(?:cannot|can't) be\b"
    r"|\((?:wrong|incorrect|false)\b|不是|不对|错)",
    re.IGNORECASE,
)
_PLACE_WORDS = """page pages p p. pp pp. pg pg. line lines section sections sec. § chapter chapters ch. paragraph
    paragraphs para. seite página capítulo 第"""
_NAME_WORDS = """figure fig. table step item option question appendix image document doc part row column version volume
    vol. note footnote slide sheet"""
_PLACES: Final = frozenset(_PLACE_WORDS.split())
_NAMED: Final = frozenset(_NAME_WORDS.split())
"""Places too, but "Item: 7421" names an answer."""
_JOINING: Final = frozenset(("of", "to", "and", "or", "-", "&"))
_SET_OFF: Final = str.maketrans(dict.fromkeys("\"'#([{*_,\\", " ") | {"第": " 第 "})
_AMOUNT = re.compile(
    r"[ -](?:[a-z]+ )?(?:pages|lines|words|paragraphs|sections|chapters|documents|images|times|mentions"
    r"|occurrences|sentences|characters|tokens|page long)\b|(?:页|頁|次)| ?[+×÷] ?\d",
    re.IGNORECASE,
)
_STATED = re.compile(
    r"(?:(?<!there )\b(?:is|was|are|were|be|equals?|answer|number|says?|reads?|est|es|ist|lautet)\b|[:=→]|是|为|為|は)"
    r"(?: (?:the|an?|number|value|exactly|just|simply|thus|therefore|probably|likely|also|now|about"
    r"|(?:given|stated) as))*"
    r"[\s\"'()\[\]{*_`]{0,8}(?:\\boxed\{)?$",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"[\s,;/|&*_`\"'()\[\]•-]*(?:(?:and|or|oder|und|ou|et|or maybe|or perhaps|and also|和|或|、)[\s*_`\"'(]*)?",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\([^()]{0,200}\)")

_ITEM = r"(?:(?:the|a|an) )?\w+"
_OTHERS = re.compile(
    rf",? (?:or|nor) (?!(?:any|more|less|so|not|something)\b){_ITEM}|(?: ?[,;/|] ?{_ITEM}){{1,3}},? or {_ITEM}"
    rf"|(?: ?[,;/|] ?{_ITEM}){{2}}(?= ?[,;/|.]| and | ?$)|(?:,? ?{_ITEM},?)? and {_ITEM}[.]? ?$",
    re.IGNORECASE,
)
_OTHERS_BEFORE = re.compile(
    rf"(?:\w,? or(?: the| an?| maybe| perhaps)?|(?:^|[\s:]){_ITEM} ?[,;/|] ?{_ITEM} ?(?:[,;/|]|,? and)(?: the| an?)?"
    rf"|(?:^|: | (?:is|are) ){_ITEM} and(?: the| an?)?|\beither(?: the| an?)?"
    r"|\b(?:is|was|are|has|mentions?|contains?|find|see) no) ?$",
    re.IGNORECASE,
)
_BETWEEN = (
    re.compile(rf"(?:^|: | (?:is|are|be) ){_ITEM} ?[,;/|] ?(?:(?:the|an?) )?$", re.IGNORECASE),
    re.compile(rf" ?[,;/|] ?(?:and |or )?{_ITEM}[.]? ?$", re.IGNORECASE),
)


def commits_to_number(text: str, numbers: Iterable[Number], gold: Number) -> bool:
    """Whether `text`, in which `numbers` stand, gives the number `gold` and no other."""
    every = [number for number in numbers if not number.compound]
    if all(number.answers(gold) for number in every):
        return any(not denied(text, number) for number in every)
    candidates = [number for number in every if not _is_place(text, number)] or every
    found = [number for number in candidates if number.answers(gold) and not denied(text, number)]
    kinds = {number.kind for number in found}
    rivals = [number for number in candidates if number.kind in kinds and not number.answers(gold)]
    if not found or not rivals:
        return bool(found)
    if any(_listed(text, *pair, gold) for pair in pairwise(candidates)):
        return False
    if any(_stated(text, number) for number in found):
        rivals = [rival for rival in rivals if _stated(text, rival)]
    else:
        asides = [aside.span() for aside in _ASIDE.finditer(text)]
        rivals = [rival for rival in rivals if not _within(rival, asides)]
    return all(denied(text, rival) for rival in rivals)


def commits_to_text(text: str, start: int, end: int) -> bool:
    """Whether the words at text[start:end] are neither denied nor one of several that the reply lists."""
    before, after = text[max(0, start - _READ) : start], text[end : end + _READ]
    if _denied(before, text, end) or _OTHERS.match(after) or _OTHERS_BEFORE.search(before):
        return False
    return not (_BETWEEN[0].search(before) and _BETWEEN[1].match(after))


def lists_lines(reply: str) -> bool:
    """Whether a reply is nothing but three or more different short lines: candidates, not an answer."""
    lines = {line.strip(" \t-*•.") for line in reply.splitlines()} - {""}
    return len(lines) >= _CANDIDATES and all(len(line) <= _READ and line.count(" ") < _WORDS for line in lines)


def denied(text: str, number: Number) -> bool:
    """Whether the words around `number` deny or question it."""
    return _denied(text[max(0, number.start - _READ) : number.start], text, number.end)


def _denied(before: str, text: str, end: int) -> bool:
    if _DENIED.match(text, end):
        return True
    return negated(before[max(before.rfind("? "), before.rfind("! ")) + 1 :])


def _is_place(text: str, number: Number) -> bool:
    before = text[max(0, number.start - 32) : number.start].lower()
    words = before.translate(_SET_OFF).split()
    if len(words) > 2 and words[-1] in _JOINING and words[-2].isdigit():
        del words[-2:]
    last = words[-1] if words else ""
    if last == ":" and before.rstrip().endswith('":'):
        last = words[-2] if len(words) > 1 else ""
    return last.rstrip(":") in _PLACES or last in _NAMED or _AMOUNT.match(text, number.end) is not None


def _stated(text: str, number: Number) -> bool:
    return _STATED.search(text[max(0, number.start - _READ) : number.start]) is not None


def _listed(text: str, left: Number, right: Number, gold: Number) -> bool:
    """Whether the answer and a rival of its kind are neighbours in one list."""
    if left.kind != right.kind or left.answers(gold) == right.answers(gold) or right.start - left.end > _READ:
        return False
    if _LISTED.fullmatch(text, left.end, right.start) is None:
        return False
    return not denied(text, right if left.answers(gold) else left)


def _within(number: Number, spans: list[tuple[int, int]]) -> bool:
    return any(start < number.start < end for start, end in spans)
