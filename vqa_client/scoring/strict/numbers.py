"""The numbers of a reply: where each one is, its sign, decimals and unit.

Expects text from `containment.read`. Numbers are compared as written: thousands separators, a plus sign and a missing
zero before the point don't matter, but "5.0" isn't "5", and "007" isn't "7". Digits inside a word ("A12", "covid-19")
are not a number; a date, a time, a fraction, a version or a range is one `compound` token.
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from vqa_client.scoring.patterns import JOINER, lazily

CURRENCIES: Final = "$€£¥₹₩"
_UNITS: Final = (
    "km|cm|mm|nm|kg|mg|ml|lbs?|oz|ft|mi|mph|[kmgt]i?b|[kmg]?hz|kwh?|mwh?|px|dpi|pt|ms|min|hrs?|usd|eur|gbp|°c|°f|°"
)
"""Units that may follow a number without a space; "5m" and "5k" may mean millions and thousands."""
_THOUSANDS = lazily(
    r"(?<![\d.,])(?:\d{1,3}(?:(?:\\?,|\{,\}|')\d{3})+|\d{1,2}(?:,\d{2})+,\d{3})(?![\d'{]|,\d)", re.IGNORECASE
)
_POINTS_GROUP = lazily(r"-?[1-9]\d{0,2}(?:\.\d{3})+")
_SEPARATOR = lazily(r"[\\,{}']")
_UNIT = lazily(rf"\d(?=(?:{_UNITS})(?!{JOINER}))", re.IGNORECASE)
_MEASURED = lazily(
    rf" ({_UNITS}|met(?:er|re)s?|miles|feet|inch(?:es)?|minutes|seconds|hours|days|years|euros|dollars)(?!{JOINER})"
)
_PERCENT = lazily(r"(\d)(?: ?\\?% ?| (?:per ?cent|pct)(?!\w))", re.IGNORECASE)
_WRITTEN = lazily(r"\d(?:(?<!,\d)\d*,\d{1,2}(?![\d,])|\d*(?:[.:/'_-]\d+)*)")
"""Begins with a single set of characters, so that the engine skips to the first digit."""
_LEAD = lazily(
    rf"(?:(?<!{JOINER})(?<!{JOINER}_)(?<![)\]%])([+-]))?([{CURRENCIES}] ?)?(?:(?<=[{CURRENCIES}])(-))?((?<![\w.])\.)?\Z"
)
_LEAD_LENGTH: Final = 6
_GLUED_BEFORE = lazily(rf"(?<={JOINER})|(?<={JOINER}[_-])|(?<=\^)")
_GLUED_AFTER = lazily(rf"{JOINER}|_{JOINER}|\^|-[A-Za-z](?!{JOINER})")

_COUNTED = lazily(
    rf"(?<!{JOINER})(?<!{JOINER}[_{CURRENCIES}-])(?<!{JOINER}[{CURRENCIES}] )(?<!\^)(?<!\^[{CURRENCIES}.+-])"
    rf"(?>({_WRITTEN.pattern}))(?!%?(?:{JOINER}|_{JOINER}|\^))|{_WRITTEN.pattern}"
)
"""Has a group for each number that `numbers_in` yields, to count them without a look at each match."""


class Number(Struct, frozen=True, kw_only=True):
    """One number at text[start:end]; `value` is its canonical writing, `kind` is "", "%", a currency sign or a unit."""

    start: int
    end: int
    value: str
    kind: str = ""
    compound: bool = False

    def answers(self, gold: "Number") -> bool:
        """Whether this is the gold number: one without a unit accepts any unit, one with a unit only its own.

        A point or a comma may also be read as in other countries: "3.847" as 3847, "3,5" as 3.5.
        """
        abroad = self.value.replace(",", ".")
        if "." in self.value and _POINTS_GROUP.fullmatch(self.value):
            abroad = self.value.replace(".", "")
        return gold.kind in ("", self.kind) and gold.value in (self.value, abroad)


def separated(text: str) -> str:
    """Normalise the numbers of a text: no thousands separators, "60%" for "60 percent", "5 km" for "5km"."""
    if "," in text or "'" in text:
        text = _THOUSANDS.sub(lambda thousands: _SEPARATOR.sub("", thousands[0]), text)
    return _UNIT.sub(r"\g<0> ", _PERCENT.sub(r"\1% ", text))


def numbers_in(text: str) -> Iterator[Number]:
    """Every number of a text, in order."""
    for match in _WRITTEN.finditer(text):
        read = _number_at(text, match.start(), match.end())
        if not _GLUED_BEFORE.match(text, read.start) and not _GLUED_AFTER.match(text, read.end):
            yield read


def count_in(text: str) -> int:
    """How many numbers `numbers_in` finds."""
    return sum(map(bool, _COUNTED.findall(text)))


def number(text: str) -> Number | None:
    """The number that `text` is; None if it is anything else."""
    read = next(numbers_in(text), None)
    return read if read and (read.start, read.end, read.compound) == (0, len(text), False) else None


def _number_at(text: str, at: int, end: int) -> Number:
    """The number whose digits are text[at:end], with the sign, the currency and the point before them."""
    digits = text[at:end]
    compound = not digits.isdecimal() and not (digits.count(".") == 1 and digits.replace(".", "").isdecimal())
    start, sign, kind = at, "", ""
    lead = _LEAD.search(text[max(0, at - _LEAD_LENGTH) : at]) if at else None
    if lead and lead[0]:
        start -= len(lead[0])
        sign = "-" if "-" in lead[0] else ""
        digits = f"0.{digits}" if lead[4] else digits
        kind = lead[2][0] if lead[2] and text[end : end + 1] != "$" else ""
    if text[end : end + 1] == "%":
        end, kind = end + 1, "%"
    elif not kind and (unit := _MEASURED.match(text, end)):
        kind = unit[1]
    return Number(start=start, end=end, value=sign + digits, kind=kind, compound=compound)


_READ: Final = 80
_PLACE_WORDS = """page pages p p. pp pp. pg pg. line lines section sections sec. § chapter chapters ch. paragraph
    paragraphs para. seite pagina sida side strona stronie страница странице страницы
    сторінці стр стр. sidan siden sayfa halaman trang oldal oldalon 第
    صفحة الصفحة עמוד בעמוד σελίδα पृष्ठ পৃষ্ঠা หน้า 페이지"""
_NAME_WORDS = """figure fig. table step steps item option question appendix image images document documents doc part row
    column version volume vol. note footnote slide sheet candidate chunk passage"""
_LABEL_WORDS = """score accuracy index rank timestamp date year isbn id tokens x y w h
    width height left top"""
_ASKED_FOR_WORDS = """reference ref request error invoice file serial extension ext price cost income
    dpi size resolution count total"""
_BOX_WORDS = "bbox box boxes bounding coordinates point points position polygon quad"
_NAMED: Final = frozenset(_NAME_WORDS.split())
"""Also names of places, but "Item: 7421" names an answer."""
_BOXES: Final = frozenset(_BOX_WORDS.split())
_ASKED_FOR: Final = frozenset(_ASKED_FOR_WORDS.split())
"""A question may ask for these, but a secret isn't called so."""
_LABELS: Final = _ASKED_FOR.union(_LABEL_WORDS.split())
_KNOWN: Final = _BOXES.union(_PLACE_WORDS.split(), _LABELS)
_JOINING: Final = frozenset(("of", "to", "and", "or", "-", "&", ","))
_SET_OFF: Final = str.maketrans(
    dict.fromkeys("\"'#([{*\\", " ") | {"第": " 第 ", ":": " : ", ",": " , ", ")": " ) ", "=": " : "}
)
_CERTAINTY = lazily(
    r"(?<!\d )(?<!% )(?:\b|_)(?:confiden\w+|probability|certainty|likelihood)\b(?:(?! the )[^,.;\n]){0,20}$"
)
_MONTHS = (
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DATED = (
    "in|since|of|from|by|until|during|before|after|dated?|year|published|updated|created|printed|founded|copyright|©"
)
_DATE_BEFORE = lazily(
    rf"\b(?:{_DATED}) ?(?=(?:1[5-9]|20)\d\d$)|{_MONTHS}(?: \d{{1,2}}(?:st|nd|rd|th)?,?)? ?\d+$"
    r"|\bdigits? (?:is|are|was|were|looks like)(?: (?:really|clearly))? \d{1,2}$|\ban? \d$"
    r"|\b(?:isbn|phone|tel|zip|order|room|apartment|invoice)\b(?: number)?(?: is| was)?[.: #]{0,3}\d+$"
    r"|\b(?:the|an?|its) (?!secret|hidden|only|correct|right|magic|\w+-digit)\w+ number(?:, | \()\d+$"
    r"|\b(?:start|begin|end)s? (?:with|in) \d+$|\d ?[x×] ?\d+$"
)
_PAID = lazily(r"\b(?:sold|bought|paid|costs?|earned|priced|charged)(?: for| at)? \d+$")
_DATE_AFTER = lazily(rf"(?:st|nd|rd|th)? (?:of )?{_MONTHS}(?! be\b)")
_AMOUNTS = (
    "pages?|lines?|words?|paragraphs?|sections?|chapters?|documents?|images?|times|mentions?|occurrences?|sentences?"
    "|characters?|bytes|tokens?|digits?|numbers?|codes?|candidates?|secrets?|matches|results?|values|possibilities|options"
    "|steps|answers?|page long"
)
_AMOUNT = lazily(
    rf"[ -](?:(?!(?:on|in|at|of|from|is|was|as|and|or|to|the|for|by|with)\b)[a-z]+ )?(?:{_AMOUNTS})\b"
    r"| (?:[a-z]+ )?[a-z]{2,}s (?:were|are|have)\b"
    r"|(?:页|頁|次|个|個|ページ|回|페이지|쪽|번째)| ?[+×÷x] ?\d|\)? (?:minus|plus|less|divided|multiplied)\b"
    r"|[ %]*(?:per ?cent )?(?:confiden|certain|sure|probab)",
    re.IGNORECASE,
)
_TUPLE = lazily(r"[(\[]\s*[+-]?\d[\d.]*(?:\s*[,;]\s*[+-]?\d[\d.]*)+\s*[)\]]|(?<=\S )\[\d{1,3}\]|\((?:1[5-9]|20)\d\d\)")
"""A point or a box ("(120, 48)"), and the mark of a source ("7421 [2]")."""


def answering(text: str, numbers: list[Number], *, secret: bool) -> list[Number]:
    """The numbers that can be answers; a page, date or the like can't, and a price or a total only without `secret`."""
    tuples = [span.span() for span in _TUPLE.finditer(text)]
    return [number for number in numbers if not (within(number, tuples) or _has_role(text, number, secret=secret))]


def within(number: Number, spans: list[tuple[int, int]]) -> bool:
    """Whether `number` is inside one of `spans`."""
    return any(start < number.start < end for start, end in spans)


def follows_place(before: str, *, secret: bool = True) -> bool:
    """Whether the words `before` a number make it a page, a line, a confidence or the like."""
    words = before.lower().translate(_SET_OFF).split()
    asked_for = frozenset() if secret else _ASKED_FOR
    if len(words) > 1 and words[-1] == "," and words[-2] in _LABELS - asked_for:
        return True
    several = False
    while len(words) > 2 and words[-1] in _JOINING and words[-2].replace(".", "").isdigit():
        several = several or words[-1] in (",", "and")
        del words[-2:]
    named = not words or words[-1] != ":"
    if not named and "the" in words[-4:-2]:
        return False  # "in the last paragraph: 7421"
    last = next((word for word in reversed(words) if word != ":"), "")
    parts = last.split("_")
    if several and not last.endswith("s"):
        return not _BOXES.isdisjoint(parts)
    return not (_KNOWN - asked_for).isdisjoint(parts) or (named and last in _NAMED)


def _has_role(text: str, number: Number, *, secret: bool) -> bool:
    before = text[max(0, number.start - _READ) : number.start]
    lower = before.lower()
    return (
        follows_place(before, secret=secret)
        or _CERTAINTY.search(lower) is not None
        or _DATE_BEFORE.search(lower + text[number.start : number.end]) is not None
        or (secret and _PAID.search(lower + text[number.start : number.end]) is not None)
        or _DATE_AFTER.match(text[number.end : number.end + 16].lower()) is not None
        or _AMOUNT.match(text, number.end) is not None
    )
