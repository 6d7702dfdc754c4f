"""What a finish reason means, whatever server spells it and how."""

import re
from functools import lru_cache
from typing import Final, Literal

Meaning = Literal["stopped", "cut", "filtered", "refused", "exhausted", "broken", "called"]
"""Of a reply: the model ended it, a token limit did, a filter did, or the model declined; the server lacked resources
or broke off (asked again); the model called a tool, which is an answer only where there is text."""

GIVEN: Final = "given"
"""The finish reason of a blank that stands as an answer in a file of predictions."""

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
"""What a reason has in it when it is spelt in small letters alone; the first form that fits counts."""
_NOT_LETTERS: Final = re.compile(r"[^a-z]")
_LONGEST: Final = 80


@lru_cache(maxsize=256)
def meaning_of(finish_reason: str | None) -> Meaning | None:
    """What a finish reason says of its reply, in any case and with any signs between its words; None if unknown."""
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
