"""Compute a formula in LaTeX, such as "\\frac{\\sqrt{3}}{2}", in linear time and without running code.

A formula has sums, products (also without a sign), powers, fractions, roots and functions of numbers and names; a
`Notation` lists the functions and names. Brackets nest up to `_MOST_DEPTH`, and powers have up to `_MOST_BITS` bits.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

Value = int | float
MOST_LENGTH: Final = 400
"""Characters of a formula; a longer text isn't a formula."""
_MOST_DEPTH: Final = 40
_MOST_BITS: Final = 10_000
_MOST_FACTORIAL: Final = 500
_TOKEN = re.compile(
    r"(?P<number>[0-9]*(?:,[0-9]{3})*\.[0-9]+|[0-9]+(?:,[0-9]{3})*)|\\(?P<command>[A-Za-z]+|.)|(?P<sign>[^\s\\])",
    re.DOTALL,
)
_IGNORED: Final = frozenset(("\\left", "\\right", "\\,", "\\quad", "\\qquad", "\\displaystyle", "$", "~", "'"))
_DIGITS: Final = frozenset("0123456789")
_TIMES: Final = frozenset(("*", "\\times", "\\cdot"))
_OVER: Final = frozenset(("/", ":", "\\div"))
_PAIRS: Final = {"(": ")", "[": "]", "{": "}", "\\{": "\\}", "\\lfloor": "\\rfloor", "\\lceil": "\\rceil"}
_ENCLOSURES: Final[Mapping[str, Callable[[Value], Value]]] = {"\\lfloor": math.floor, "\\lceil": math.ceil, "|": abs}
_FRACTIONS: Final = frozenset(("\\frac", "\\dfrac", "\\tfrac"))


class Notation(Struct, frozen=True):
    """The values of names, the functions, and the tokens that end a formula; the text behind them is ignored.

    `lenient` also reads "\\frac12", "2^-1", "|3|", "5%", and "1\\frac{1}{2}" as one and a half.
    """

    names: Mapping[str, Value]
    functions: Mapping[str, Callable[[Value], Value]]
    ends: frozenset[str] = frozenset()
    lenient: bool = False


class NoValueError(ValueError):
    """A text isn't a formula, or its value can't be computed."""


def value_of(formula: str, notation: Notation) -> Value:
    """The value of a formula; raises NoValueError if it has none."""
    if len(formula) > MOST_LENGTH:
        raise NoValueError(f"longer than {MOST_LENGTH} characters")
    reader = _Reader(formula, notation)
    try:
        value = reader.sum()
    except (ArithmeticError, ValueError, TypeError) as error:
        raise NoValueError(str(error)) from None
    if (reader.token and reader.token not in notation.ends) or not isinstance(value, int | float):
        raise NoValueError(f"{reader.token or value} has no value")
    return value


class _Reader:
    """Reads a formula from left to right, with one method per precedence of operators."""

    def __init__(self, formula: str, notation: Notation) -> None:
        tokens = [match["number"] or match["sign"] or f"\\{match['command']}" for match in _TOKEN.finditer(formula)]
        self._tokens = [token for token in tokens if token not in _IGNORED]
        self._place = self._depth = 0
        self._notation = notation

    @property
    def token(self) -> str:
        """The next token, "" at the end."""
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def sum(self) -> Value:
        """Read terms that are added and subtracted."""
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise NoValueError("nested too deeply")
        value = self._product()
        while self.token in ("+", "-"):
            value = value + self._product() if self._take() == "+" else value - self._product()
        self._depth -= 1
        return value

    def _product(self) -> Value:
        value = self._term()
        while self.token in _TIMES or self.token in _OVER:
            value = value * self._term() if self._take() in _TIMES else value / self._term()
        return value

    def _term(self) -> Value:
        sign = 1
        while self.token in ("+", "-"):
            sign = -sign if self._take() == "-" else sign
        value = self._power()
        while self._starts_factor():
            mixed = self._notation.lenient and self.token in _FRACTIONS and isinstance(value, int)
            value = value + self._power() if mixed else value * self._power()
        return sign * value

    def _starts_factor(self) -> bool:
        token, before = self.token, self._tokens[self._place - 1]
        if self._notation.lenient and token[:1] in _DIGITS | {"."} and before[-1:] in _DIGITS:
            return False  # "3 4" isn't a product
        if token[:1] == "\\" and token[1:].isalpha():
            return token not in _TIMES | _OVER | self._notation.ends and not token.startswith("\\r")
        return token[:1].isalnum() or (token[:1] == "." and len(token) > 1) or token in _PAIRS

    def _power(self) -> Value:
        value = self._atom()
        while self.token in ("^", "!"):
            value = _power_of(value, self._exponent()) if self._take() == "^" else math.factorial(_small_whole(value))
        return value

    def _exponent(self) -> Value:
        if self._notation.lenient and self.token == "-":
            self._take()
            return -self._atom()
        if not (
            self._notation.lenient or self.token == "{" or self.token[:1] in _DIGITS | {"."} or self.token == "\\pi"
        ):
            raise NoValueError("an exponent without braces")
        return self._within("}") if self.token == "{" and self._take() else self._atom()

    def _atom(self) -> Value:
        token = self._take()
        if token[:1] in _DIGITS or (token[:1] == "." and len(token) > 1):
            digits = token.replace(",", "")
            percent = self.token == "\\%" or (self._notation.lenient and self.token == "%")
            value = float(digits) / (100 if percent and self._take() else 1)
            return int(digits) if "." not in digits and not percent else int(value) if value.is_integer() else value
        if token in _PAIRS or (token == "|" and self._notation.lenient):
            value = self._within(_PAIRS.get(token, "|"))
            return _ENCLOSURES[token](value) if token in _ENCLOSURES else value
        if token in _FRACTIONS:
            return self._argument() / self._argument()
        if token == "\\binom":
            return math.comb(_small_whole(self._argument()), _small_whole(self._argument()))
        if token == "\\sqrt":
            degree = self._within("]") if self.token == "[" and self._take() else 2
            return _power_of(self._argument(), 1 / degree)
        if token == "\\log":
            base = self._exponent() if self.token == "_" and self._take() else 10
            return math.log(self._operand(), base)
        if token == "e" and self.token == "^":
            return math.e
        if token in self._notation.functions:
            return self._apply(token)
        if token in self._notation.names:
            return self._notation.names[token]
        raise NoValueError(f"{token or 'nothing'} has no value")

    def _apply(self, name: str) -> Value:
        """Apply a function to what follows; a power of it, as in "\\sin^2 x", may be -1, the inverse."""
        power = self._exponent() if self.token == "^" and self._take() else 1
        name, power = (f"\\arc{name[1:]}", 1) if power == -1 else (name, power)
        function = self._notation.functions.get(name)
        if function is None:
            raise NoValueError(f"{name} has no value")
        return _power_of(function(self._operand()), power)

    def _operand(self) -> Value:
        return self._within(")") if self.token == "(" and self._take() else self._product()

    def _argument(self) -> Value:
        """Read the contents of braces, or the next digit or name, as TeX does."""
        if self.token == "{":
            self._take()
            return self._within("}")
        if not self._notation.lenient:
            raise NoValueError("an argument without braces")
        if self.token[:1] in _DIGITS and "." not in self.token:
            digit, rest = self.token[0], self.token[1:]
            self._tokens[self._place : self._place + 1] = [digit, rest] if rest else [digit]
        return self._atom()

    def _within(self, closing: str) -> Value:
        value = self.sum()
        if self._take() != closing:
            raise NoValueError(f"{closing} is missing")
        return value

    def _take(self) -> str:
        token = self.token
        self._place += 1
        return token


def _power_of(base: Value, exponent: Value) -> Value:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > _MOST_BITS:
        raise NoValueError("the power is too large")
    raised: Value = base**exponent
    return raised


def _small_whole(value: Value) -> int:
    """Check that `value` is a whole number, and small enough for a factorial."""
    if not isinstance(value, int) or value > _MOST_FACTORIAL:
        raise NoValueError(f"{value} is not a small whole number")
    return value
