"""Answers questions about a secret from "The secret KEY is VALUE.", despite errors of OCR."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from reader.words import one_line

QUESTION = re.compile(r"\bwhat is the secret\s+(\w+)", re.IGNORECASE)
VALUE = r"""
    (?: (?P<whole>(?:\S+[ ]){0,3}? \S+?) [.] (?=[ ]|$)  # up to four words and a full stop,
      | (?P<word>\w[^.,;:!?\s]*) )                      # or one word, if OCR missed the full stop
"""
FLAGS = re.IGNORECASE | re.VERBOSE
ANY_NEEDLE = re.compile(rf"(?P<secret>\w+) \W{{1,3}} (?P<key>\w+) \W{{1,3}} i[s5] [ ] {VALUE}", FLAGS)
ALIKE = 0.75
"""The SequenceMatcher.ratio from which two spellings count as one word: at most one wrong letter in four."""


def asked(question: str) -> str | None:
    """The key that the question asks for, or None if it doesn't ask for a secret."""
    found = QUESTION.search(question)
    return found[1] if found else None


def value(key: str, text: str) -> str | None:
    """The secret's value as it was read, or None if its sentence wasn't found.

    A sentence whose letters are all right, even if spaces are missing, is preferred to one with wrong letters.
    """
    line = one_line(text)
    exact = re.search(rf"secret \W{{0,3}} {re.escape(key)} \W{{0,3}} is \W{{0,3}} {VALUE}", line, FLAGS)
    found = exact or max(_candidates(key, line), default=(0.0, None), key=lambda candidate: candidate[0])[1]
    return found["whole"] or found["word"] if found else None


def _candidates(key: str, line: str) -> Iterator[tuple[float, re.Match[str]]]:
    place = 0
    while match := ANY_NEEDLE.search(line, place):
        place = match.end("secret")
        alike = min(_alike(match["secret"], "secret"), _alike(match["key"], key))
        if alike >= ALIKE:
            yield alike, match


def _alike(read: str, meant: str) -> float:
    return SequenceMatcher(None, read.lower(), meant.lower(), autojunk=False).ratio()
