"""Whether two short answers of mathematics are equal, in LaTeX or plain text, with or without units.

Formulas are equal if their values are; those with letters, if they agree for several values of each letter. A decimal
may be rounded, to at least two places if the reference is exact. Several values are compared one by one: in order
within brackets, else in any order.
"""

import math
import re
from typing import Final

from vqa_client.scoring import number_words
from vqa_client.scoring.formulas import MOST_LENGTH, Notation, NoValueError, Value, value_of
from vqa_client.scoring.short_answers import same_words
from vqa_client.types import Question

_LETTERS: Final = "abcdfghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_GREEK: Final = "alpha beta gamma delta epsilon theta lambda mu phi varphi rho sigma omega"
_FUNCTIONS: Final = {
    **{f"\\{name}": getattr(math, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp")},
    **{f"\\arc{name}": getattr(math, f"a{name}") for name in ("sin", "cos", "tan")},
    "\\ln": math.log,
}
_MOST_PARTS: Final = 50
_SIGNS: Final = (
    *(("−", "-"), ("–", "-"), ("×", "*"), ("·", "*"), ("⋅", "*"), ("÷", "/"), ("π", "\\pi "), ("∞", "\\infty ")),
    *(("√", "sqrt"), ("²", "^2"), ("³", "^3"), ("½", "\\frac{1}{2}"), ("¼", "\\frac{1}{4}"), ("¾", "\\frac{3}{4}")),
    *(("^{\\circ}", " "), ("^\\circ", " "), ("\\circ", " "), ("\\degree", " "), ("°", " "), ("{,}", ",")),
    *(("\\$", ""), ("$", ""), ("€", ""), ("£", ""), ("\\(", ""), ("\\)", ""), ("\\[", ""), ("\\]", "")),
    *(("\\left", ""), ("\\right", ""), ("\\!", ""), ("\\,", " "), ("\\;", " "), ("\\:", " "), ("\\ ", " "), ("~", " ")),
    *(("\\approx", "="), ("≈", "="), ("\\infty", "infinity")),
)
_COMMAND = re.compile(r"\\(?:text|math|operatorname|mbox|textbf|boldsymbol|boxed)[a-z]{0,6}\s{0,9}\{([^{}]*)\}")
_MULTIPLES: Final = {"dozen": 12, "hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "bn": 10**9}
_WRITTEN: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), written)
    for pattern, written in (
        (r"^(?:(?:it|the answer) is|is|are|about|approximately|approx\.?|roughly|around|exactly)\s", ""),
        (r"^(?:minus|negative)\s|^(?=\d.*\sbelow (?:zero|freezing)$)", "-"),
        (r"\bper ?cent\b", "%"),
        (r"(?<![\\a-z])sqrt\s?(\d[\d.]*)", r"\\sqrt{\1}"),
        (r"(?<![\\a-z])(pi|sqrt|sin|cos|tan|ln|log|theta|alpha|beta)(?![a-z])", r"\\\1 "),
        (r"(?<![\d.])(\d+)\s+(\d+)/(\d+)", r"(\1+\2/\3)"),
        (r"(\d)\s?x\s?(?=10\s?\^)", r"\1*"),
        (r"(\d)e([-+]?\d+)", r"\1*10^{\2}"),
        *((rf"(\d)\s?{word}\b", rf"\1*{times}") for word, times in _MULTIPLES.items()),
    )
)
"""Plain spellings, and what they are in LaTeX."""
_UNIT = re.compile(r"(?:(?<=[\d)}.%])|(?<=\\pi))\s*(?P<unit>[A-Za-z](?:[A-Za-z/.*^{}\d-]|\s(?!\s*\d)|(?<=\bof)\s)*)$")
_DECIMAL = re.compile(r"[-+]?[\d,]*\.(\d+)")
_PROSE = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")
_ONE_LETTER_UNITS: Final = frozenset("mgslthdLNJWVAKCFT")
_NAME = re.compile(r"[^,;]*=\s*")
_APART = re.compile(r",(?!\d{3}(?!\d))|;|\b(?:and|or)\b")
_BEFORE_BRACKETS = re.compile(r"[A-Za-z\s]{1,20}=\s*(?=\\?[(\[{])")
_WITHIN = re.compile(r"\\?[(\[{](.*,.*)\\?[)\]}]", re.DOTALL)


def _notation(step: float) -> Notation:
    """A notation whose letters have values that no formula has by chance."""
    names: dict[str, Value] = {letter: 1.1 + step * math.sqrt(2 + place) for place, letter in enumerate(_LETTERS)}
    greek: dict[str, Value] = {f"\\{name}": 2.3 + step * math.sqrt(60 + n) for n, name in enumerate(_GREEK.split())}
    constants: dict[str, Value] = {"\\pi": math.pi, "e": math.e}
    return Notation(names={**names, **greek, **constants}, functions=_FUNCTIONS, lenient=True)


_NUMBERS: Final = Notation(names={"\\pi": math.pi}, functions=_FUNCTIONS, lenient=True)
_NOTATIONS: Final = tuple(_notation(step) for step in (0.37, 0.91, 1.7))


def same_maths(answer: str, reference: str) -> float:
    """1 if both are equal, else 0."""
    if len(answer) > 2 * MOST_LENGTH or len(reference) > 2 * MOST_LENGTH:
        return float(same_words(answer, reference))
    text, target = _plain(answer), _plain(reference)
    return float(same_words(answer, reference) or _equal(text, target) or _equal_parts(text, target))


def right_choice_or_maths(answer: str, question: Question) -> float:
    """1 for the right choice or, without choices, for an answer that is equal to the reference; else 0."""
    reference = question.references[0]
    return float(answer == reference) if question.choices else same_maths(answer, reference)


def number_of(text: str) -> Value | None:
    """The value of a number in digits or words, or of a formula without letters; None for other texts.

    A unit and a per cent sign at its end are ignored.
    """
    if len(text) > MOST_LENGTH:
        return None
    plain = _without_unit(_plain(text))[0].lstrip("= ").rstrip("% \\")
    words = number_words.value_of(plain)
    try:
        return int(words) if words else value_of(plain, _NUMBERS)
    except NoValueError:
        return None


def _plain(text: str) -> str:
    """A formula with one spelling for each sign, and without text around it."""
    text = text.strip()
    for _ in range(3):
        text = _COMMAND.sub(r" \1 ", text)
    for old, new in _SIGNS:
        text = text.replace(old, new)
    text = " ".join(text.split()).strip("*` ").rstrip(".").rstrip()
    for pattern, written in _WRITTEN:
        text = pattern.sub(written, text)
    return text


def _equal(answer: str, reference: str) -> bool:
    """Whether two formulas are equal, without units; a name ("x = 5") is ignored if only one of them has a name."""
    if "=" not in answer or "=" not in reference:
        answer, reference = (text if _APART.search(text) else _NAME.sub("", text) for text in (answer, reference))
    if same_words(answer, reference) or _equal_values(answer, reference):
        return True
    (answer, unit), (reference, target_unit) = _without_unit(answer), _without_unit(reference)
    if unit and target_unit and max(len(unit), len(target_unit)) < 4 and unit != target_unit:
        return False
    return _equal_values(number_words.value_of(answer) or answer, number_words.value_of(reference) or reference)


def _equal_values(answer: str, reference: str) -> bool:
    """Whether two formulas have the same value; "50%" is also the same as "50" and "0.5"."""
    if "=" in answer or _PROSE.search(answer) or _PROSE.search(reference):
        return False
    try:
        pairs = [(value_of(answer, notation), value_of(reference, notation)) for notation in _NOTATIONS]
    except NoValueError:
        return False
    scales = (1.0,) if ("%" in answer) == ("%" in reference) else (1.0, 100.0 if "%" in answer else 0.01)
    return any(all(_close(value * scale, target, answer, reference) for value, target in pairs) for scale in scales)


def _close(value: Value, target: Value, answer: str, reference: str) -> bool:
    """Whether two values are equal, or equal when rounded to the places of the decimal."""
    if math.isclose(value, target, rel_tol=1e-9, abs_tol=1e-12):
        return True
    answer_decimal, reference_decimal = _DECIMAL.fullmatch(answer), _DECIMAL.fullmatch(reference)
    if reference_decimal:
        places = len(reference_decimal[1])
    elif answer_decimal and len(answer_decimal[1]) >= 2 and target != int(target):
        places = len(answer_decimal[1])
    else:
        return False
    return abs(value - target) <= 0.5 * 10.0**-places * (1 + 1e-9)


def _without_unit(text: str) -> tuple[str, str]:
    """A text and the unit at its end, "" for none; most single letters are variables, not units."""
    match = _UNIT.search(text)
    unit = match["unit"].strip() if match else ""
    if match is None or _APART.search(unit) or (len(unit) == 1 and unit not in _ONE_LETTER_UNITS):
        return text, ""
    return text[: match.start()].strip(), unit


def _equal_parts(answer: str, reference: str) -> bool:
    """Whether two lists are equal: in order within brackets, else in any order."""
    answer, reference = (_BEFORE_BRACKETS.sub("", text) for text in (answer, reference))
    answer_within, reference_within = _WITHIN.fullmatch(answer), _WITHIN.fullmatch(reference)
    parts = [part.strip() for part in _APART.split(answer_within[1] if answer_within else answer)]
    targets = [part.strip() for part in _APART.split(reference_within[1] if reference_within else reference)]
    if len(parts) != len(targets) or not 1 < len(parts) <= _MOST_PARTS or not all(parts) or not all(targets):
        return False
    if reference_within is not None and not reference.startswith(("{", "\\{")):
        return all(map(_equal, parts, targets))
    for part in parts:
        place = next((place for place, target in enumerate(targets) if _equal(part, target)), None)
        if place is None:
            return False
        del targets[place]
    return True
