"""Numbers that say something else than the answer: places, positions, dates, confidences, amounts of text.

They neither rival an answer nor are one, unless the reply has no other number: "It is on page 3." gives 3.
"""

import re
from typing import Final

from vqa_client.scoring.strict.numbers import Number

_READ: Final = 80
_PLACE_WORDS = """page pages p p. pp pp. pg pg. line lines section sections sec. § chapter chapters ch. paragraph
    paragraphs para. seite pagina sida side strona страница 第"""
_NAME_WORDS = """figure fig. table step steps item option question appendix image images document documents doc part row
    column version volume vol. note footnote slide sheet candidate chunk passage"""
_LABEL_WORDS = """confidence probability certainty score accuracy index rank timestamp date year isbn id tokens x y w h
    width height left top"""
_BOX_WORDS = "bbox box boxes bounding coordinates point points position polygon quad"
_NAMED: Final = frozenset(_NAME_WORDS.split())
"""Places too, but "Item: 7421" names an answer."""
_BOXES: Final = frozenset(_BOX_WORDS.split())
_KNOWN: Final = _BOXES.union(_PLACE_WORDS.split(), _LABEL_WORDS.split())
_JOINING: Final = frozenset(("of", "to", "and", "or", "-", "&", ","))
_SET_OFF: Final = str.maketrans(
    dict.fromkeys("\"'#([{*\\", " ") | {"第": " 第 ", ":": " : ", ",": " , ", ")": " ) ", "=": " : "}
)
_CERTAINTY = re.compile(r"\b(?:confiden\w+|probability|certainty|likelihood)\b[^,.;\n]{0,20}$")
_MONTHS = (
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DATED = (
    "in|since|of|from|by|until|during|before|after|dated?|year|published|updated|created|printed|founded|copyright|©"
)
_DATE_BEFORE = re.compile(
    rf"\b(?:{_DATED}) ?(?=(?:1[5-9]|20)\d\d$)|{_MONTHS}(?: \d{{1,2}}(?:st|nd|rd|th)?,?)? ?\d+$"
    r"|\b(?:isbn|phone|tel|zip|order|room|apartment|invoice)\b[.: #]{0,3}\d+$|\b(?:start|begin|end)s? (?:with|in) \d+$"
)
_DATE_AFTER = re.compile(rf"(?:st|nd|rd|th)? (?:of )?{_MONTHS}(?! be\b)")
_COUNTED = (
    "pages?|lines?|words?|paragraphs?|sections?|chapters?|documents?|images?|times|mentions?|occurrences?|sentences?"
    "|characters?|bytes|tokens?|digits?|numbers?|codes?|candidates?|secrets?|matches|results?|values|possibilities|options"
    "|steps|answers?|page long"
)
_AMOUNT = re.compile(
    rf"[ -](?:(?!(?:on|in|at|of|from|is|was|as|and|or|to|the|for|by|with)\b)[a-z]+ )?(?:{_COUNTED})\b"
    r"|(?:页|頁|次|个|個|ページ|回)| ?[+×÷] ?\d|[ %]*(?:per ?cent )?(?:confiden|certain|sure|probab)",
    re.IGNORECASE,
)
_OTHER_THINGS = (
    "page|order|zip|postal|phone|telephone|fax|house|room|street|building|isbn|serial|model|reference|invoice|version|line"
    "|account|case|price|date|year|footnote|barcode|example"
)
_OTHER_THING = re.compile(
    r",? (?:is|was|being) (?:only |just |merely |simply )?(?:the|an?|its|their|my|your|his|her) (?:[\w']+ ){0,2}?"
    rf"(?:{_OTHER_THINGS})\b",
    re.IGNORECASE,
)
_TUPLE = re.compile(
    r"[(\[]\s*[+-]?\d[\d.]*(?:\s*[,;]\s*[+-]?\d[\d.]*)+\s*[)\]]|(?<=\S )\[\d{1,3}\]|\((?:1[5-9]|20)\d\d\)"
)
"""A point or a box ("(120, 48)"), and the mark of a source ("7421 [2]")."""


def answering(text: str, numbers: list[Number]) -> list[Number]:
    """The numbers that can be answers: those in no such role."""
    tuples = [span.span() for span in _TUPLE.finditer(text)]
    return [number for number in numbers if not (within(number, tuples) or _has_role(text, number))]


def within(number: Number, spans: list[tuple[int, int]]) -> bool:
    """Whether one of `spans` has `number` inside it."""
    return any(start < number.start < end for start, end in spans)


def follows_place(before: str) -> bool:
    """Whether a number that comes after the words `before` is a page, a line, a confidence or the like."""
    words = before.lower().translate(_SET_OFF).split()
    several = False
    while len(words) > 2 and words[-1] in _JOINING and words[-2].replace(".", "").isdigit():
        several = several or words[-1] == ","
        del words[-2:]
    named = not words or words[-1] != ":"
    last = next((word for word in reversed(words) if word != ":"), "")
    parts = last.split("_")
    if several and not last.endswith("s"):
        return not _BOXES.isdisjoint(parts)
    return not _KNOWN.isdisjoint(parts) or (named and last in _NAMED)


def _has_role(text: str, number: Number) -> bool:
    before = text[max(0, number.start - _READ) : number.start]
    lower = before.lower()
    return (
        follows_place(before)
        or _CERTAINTY.search(lower) is not None
        or _DATE_BEFORE.search(lower + text[number.start : number.end]) is not None
        or _DATE_AFTER.match(text[number.end : number.end + 16].lower()) is not None
        or _AMOUNT.match(text, number.end) is not None
        or _OTHER_THING.match(text, number.end) is not None
    )
