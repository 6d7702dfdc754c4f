"""The amount that a choice or a reply is, in any spelling: "12.5 million", ".5", "1 1/2", "minus five", "45 deg."."""

import math
import re
from typing import Final

from msgspec import Struct

from vqa_client.scoring.number_words import SPELLED, value_of, with_dozens_and_fractions
from vqa_client.scoring.patterns import lazily

_UNITS_SPELLED: Final = """
    °|degrees|degree|deg
    °c|degrees celsius|degrees c|degree celsius
    °f|degrees fahrenheit|degrees f|degree fahrenheit
    m/s|meters per second|metres per second|meter per second
    km/h|kilometers per hour|kilometres per hour|kph
    mph|miles per hour
    %|percent|per cent
    m|meters|metres|meter|metre
    cm|centimeters|centimetres|centimeter|centimetre
    mm|millimeters|millimetres|millimeter|millimetre
    km|kilometers|kilometres|kilometer|kilometre
    in|inches|inch
    ft|feet|foot
    kg|kilograms|kilogram
    g|grams|gram
    l|liters|litres|liter|litre
    s|seconds|second|sec
    min|minutes|minute|mins
    h|hours|hour|hrs|hr
    v|volts|volt
    w|watts|watt
    n|newtons|newton
    j|joules|joule
"""
_SPELLINGS: Final = [row.split("|") for row in map(str.strip, _UNITS_SPELLED.splitlines()) if row]
"""One unit per row, the sign first; in lower case."""
_SIGN_OF: Final = {spelling: row[0] for row in _SPELLINGS for spelling in row}
_SCALES: Final = {"k": 1e3, "thousand": 1e3, "million": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12}
_MEASURED = lazily(rf"(?P<number>.*\d) ?(?P<unit>{'|'.join(sorted(map(re.escape, _SIGN_OF), key=len, reverse=True))})")
_AMOUNT = lazily(
    r"(?:(?:about|approximately|roughly|around|exactly) )?"
    r"[^\w.-]{0,3}(?:\\?[^\W\d]{1,6} ?= ?)?[$€£]?(?P<sign>-|(?:minus|negative) )?[$€£]?"
    r"(?:(?P<number>(?:\d{1,3}(?:,\d{3}){1,4}(?:\.\d{1,15})?|\d{0,15}\.\d{1,15}|\d{1,15}(?:,\d{1,2}(?!\d))?)(?!/))"
    r"|(?:(?P<whole>\d{1,3}) )?"
    r"(?:(?P<over>\d{1,4})/(?P<under>\d{1,4})|\\frac\((?P<above>\d{1,4})\)\((?P<below>\d{1,4})\)))"
    r" ?\(? ?(?:(?P<scale>thousand|million|billion|trillion|bn|k)\b ?)?"
    r"(?P<unit>(?:square |cubic )?[^\W\d_]{1,10}(?:\^?\(?[23]\)?)?(?:[/^·][^\W_]{1,4}){0,3}|°[cf]?|%)?\W{0,2}"
)
_GROUPS = lazily(r",(?=\d{3})")
_HALF = lazily(r"\b(?:(?:one|an?)[ -])?half\b")
_WRITTEN_EXPONENT = lazily(r"[\^()]")
_LONGEST: Final = 60


class Amount(Struct, frozen=True):
    """A number as it is written before its scale (1e6 for "million", else 1.0) and its unit ("" without one)."""

    number: float
    scale: float
    unit: str

    @property
    def value(self) -> float:
        """The number, multiplied by its scale."""
        return self.number * self.scale

    @property
    def is_bare(self) -> bool:
        """Whether it has neither scale nor unit."""
        return self.scale == 1.0 and not self.unit


def amount_of(text: str) -> Amount | None:
    """The amount that a folded text is; None if it is anything else."""
    if len(text) > _LONGEST:
        return None
    match = _AMOUNT.fullmatch(text) or _AMOUNT.fullmatch(_in_digits(text))
    if match is None:
        return None
    if match["number"]:
        number = float(_GROUPS.sub("", match["number"]).replace(",", "."))
    else:
        below = int(match["under"] or match["below"])
        if below == 0:
            return None
        number = int(match["whole"] or 0) + int(match["over"] or match["above"]) / below
    unit = _WRITTEN_EXPONENT.sub("", match["unit"] or "")
    return Amount(-number if match["sign"] else number, _SCALES.get(match["scale"], 1.0), _SIGN_OF.get(unit, unit))


def _in_digits(text: str) -> str:
    text = with_dozens_and_fractions(_HALF.sub("1/2", text), "")
    return SPELLED.sub(lambda words: value_of(words[0]) or words[0], text)


def same_amount(own: Amount, other: Amount) -> bool:
    """Whether a reply's amount is a choice's as both are written.

    One of them needs no unit, or neither scale nor unit; but "25%" isn't "25".
    """
    units = (own.unit, other.unit)
    if own.scale == other.scale:
        alike = units[0] == units[1] or ("" in units and units != ("", "%"))
    else:
        alike = own.is_bare or other.is_bare
    return alike and _close(own.number, other.number)


def equal_amount(own: Amount, other: Amount) -> bool:
    """Whether two amounts that are written differently are equal: "12.5 million" and "12,500,000", "25%" and "0.25"."""
    if "%" in (own.unit, other.unit):
        hundredths = [amount.value / (100 if amount.unit == "%" else 1) for amount in (own, other)]
        return own.unit != other.unit and "" in (own.unit, other.unit) and _close(*hundredths)
    return (own.unit == other.unit or "" in (own.unit, other.unit)) and _close(own.value, other.value)


def _close(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12)


def with_other_units(text: str) -> list[str]:
    """A text that ends in an amount, with the other spellings of its unit: "3.6 m" and "3.6 meters"."""
    match = _MEASURED.fullmatch(text)
    if match is None:
        return []
    sign = _SIGN_OF[match["unit"]]
    row = next(row for row in _SPELLINGS if row[0] == sign)
    return [f"{match['number']}{space}{unit}" for unit in row for space in ("", " ")]
