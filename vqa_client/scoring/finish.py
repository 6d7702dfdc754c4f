"""The meaning of a finish reason, in any server's spelling."""

import re
from functools import lru_cache
from typing import Final, Literal

Meaning = Literal["stopped", "cut", "filtered", "refused", "exhausted", "broken", "called"]
"""The reply ended because the model stopped, a token limit cut it, a filter blocked it, the model refused, the server
lacked resources or failed (both asked again), or the model called a tool (an answer only if there is text)."""

GIVEN: Final = "given"
"""The finish reason of a blank answer in a file of predictions."""

_FORMS: Final[dict[Meaning, str]] = {
    "refused": r"^(?:model)?refus(?:al|ed)$",
    "filtered": r"filter|safety|unsafe|recitation|(?:block|black)list|^blocked$|(?:prompt|content|output)blocked"
    r"|prohibitedcontent|spii|sensitive|toxic|moderation|contentpolicy|responsibleai|guardrail|inspectionfailed",
    "exhausted": r"insufficient\w*resource|overload|exhausted|outofmemory|^oom$|preempt|^capacity$|ratelimit",
    "called": r"tool(?:call|use)|functioncall",
    "cut": r"length|max\w*(?:token|len|context)|limit|contextwindow|incomplete|unfinished|truncat|repetition|pauseturn",
    "broken": r"error|abort|cancel|fail|timeout|interrupt|userstop|unloaded|malformedresponse",
    "stopped": r"stop|eos|eot|end(?:of)?(?:turn|sequence)|^end$|complete|^done$|finish|success|^normal$|^given$|final$",
}
"""Patterns of a reason reduced to lower-case letters; the first match counts."""
_NOT_LETTERS: Final = re.compile(r"[^a-z]")
_LONGEST: Final = 80


@lru_cache(maxsize=256)
def meaning_of(finish_reason: str | None) -> Meaning | None:
    """The meaning of a finish reason, in any case and with any separators; None if unknown."""
    if not finish_reason:
        return None
    letters = _NOT_LETTERS.sub("", finish_reason[:_LONGEST].lower()).removeprefix("finishreason")
    return next((meaning for meaning, form in _FORMS.items() if re.search(form, letters)), None)


def is_cut(finish_reason: str | None) -> bool:
    """Whether a token limit ended the reply."""
    return meaning_of(finish_reason) == "cut"


def is_blocked(finish_reason: str | None) -> bool:
    """Whether a filter or the model itself declined to answer."""
    return meaning_of(finish_reason) in ("filtered", "refused")
