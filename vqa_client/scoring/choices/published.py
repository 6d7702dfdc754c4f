"""The two published readings of a multiple-choice reply, faults included, for numbers that can be compared."""

import re
from collections.abc import Callable, Mapping

Reading = tuple[str | None, str]
"""The letter, None where there is none, and the name of the rule that found it, "" where none did."""

PUBLISHED_RULES: Mapping[str, re.Pattern[str]] = {
    "letter": re.compile(r"\b([A-D])\b"),
    "brackets": re.compile(r"[(（]([A-D])[)）]"),
    "cue": re.compile(r"(?:ANSWER|CHOICE|OPTION)[:\s]*([A-D])"),
    "first character": re.compile(r"\A([A-D])"),
}
"""On the reply in upper case, in this order; the first letter that stands alone wins, an article "a" too."""
LONGBENCH_RULES: Mapping[str, re.Pattern[str]] = {
    "sentence with brackets": re.compile(r"The correct answer is \(([A-D])\)"),
    "sentence": re.compile(r"The correct answer is ([A-D])"),
}


def published(text: str) -> Reading:
    """What the published page-image script would read.

    Source: the script's own rules, in which the text up to the first "</think>" is cut off before.
    """
    reply = text.partition("</think>")[2] if "</think>" in text else text
    return _first(PUBLISHED_RULES, reply.strip().upper())


def longbench(text: str) -> Reading:
    """What LongBench-v2's own script would read: only its closing sentence counts, and its case."""
    return _first(LONGBENCH_RULES, text.replace("*", ""))


def _first(rules: Mapping[str, re.Pattern[str]], text: str) -> Reading:
    for name, rule in rules.items():
        if found := rule.search(text):
            return found.group(1), name
    return None, ""


READINGS: Mapping[str, Callable[[str], Reading]] = {"published": published, "longbench": longbench}
