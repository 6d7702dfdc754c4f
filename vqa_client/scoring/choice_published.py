"""The two published readings of a multiple-choice reply, faults included, for numbers that can be compared."""

import re
from collections.abc import Callable

SEED_RULES: tuple[re.Pattern[str], ...] = (
    re.compile(r"\b([A-D])\b"),
    re.compile(r"[(（]([A-D])[)）]"),
    re.compile(r"(?:ANSWER|CHOICE|OPTION)[:\s]*([A-D])"),
)
"""On the reply in upper case, in this order; the first letter that stands alone wins, an article "a" too."""
LONGBENCH_RULES = (
    re.compile(r"The correct answer is \(([A-D])\)"),
    re.compile(r"The correct answer is ([A-D])"),
)


def seed(text: str) -> str | None:
    """The letter that the published page-image script would read; None where it has none.

    Source: the script's own rules, in which the text up to the first "</think>" is cut off before.
    """
    reply = text.partition("</think>")[2] if "</think>" in text else text
    reply = reply.strip().upper()
    found = _first(SEED_RULES, reply)
    return found or (reply[:1] if reply[:1] in tuple("ABCD") else None)


def longbench(text: str) -> str | None:
    """The letter that LongBench-v2's own script would read: only its closing sentence counts, and its case."""
    return _first(LONGBENCH_RULES, text.replace("*", ""))


def _first(rules: tuple[re.Pattern[str], ...], text: str) -> str | None:
    matches = (rule.search(text) for rule in rules)
    return next((found.group(1) for found in matches if found), None)


READINGS: dict[str, Callable[[str], str | None]] = {"seed": seed, "longbench": longbench}
