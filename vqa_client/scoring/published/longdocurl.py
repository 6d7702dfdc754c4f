"""How LongDocURL scores an extracted answer, to the letter, and how VLMEvalKit does.

The reference's format decides: Integer, Float, String, None or List. Where the published code stops with an error, as
on an empty list, the score is 0. Source: Deng et al., LongDocURL (ACL 2025), utils/utils_score_v3.py.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import pow as power
from typing import Any, Final

from vqa_client.scoring.published.anls import anls_doc
from vqa_client.scoring.published.mmlongbench_doc import (
    UNREADABLE,
    is_exact,
    is_number,
    literal,
    same_float,
    text_score,
    without_asides,
    without_quotes,
)

NOT_EXTRACTED: Final = "Fail to extract"
_UNITS: Final = ["kg", "mm", "m", "meters", "acres", "minutes", "mile", "miles", "million", "thousand", "billion"]
_ONE_UNIT: Final = ["kg", "mm", "meters", "minutes", "miles", "mile", "acres", "million", "thousand", "billion", "m"]
_CONCISE = re.compile(r"<concise_answer>(.*?)</concise_answer>", re.DOTALL)
_FORMAT = re.compile(r"<answer_format>.*?</answer_format>", re.DOTALL)


def extracted(reply: str) -> Any:
    """The answer between the tags that LongDocURL's extraction asks for, a Python literal where it is one."""
    found = _CONCISE.search(reply)
    if not found or not _FORMAT.search(reply):
        return NOT_EXTRACTED
    try:
        value = literal(found[1])
    except UNREADABLE:
        return found[1]
    return list(value) if isinstance(value, set) else value


def clean(text: object) -> str:
    """Lower case, without commas, units, remarks in brackets, quotation marks, currency and per cent signs.

    Of a unit at the end all its characters go, as many as there are: "team" loses its m.
    """
    bare = str(text).lower().strip().replace(",", "")
    for unit in _UNITS:
        if bare.endswith(unit):
            bare = bare.rstrip(unit).strip()
    return _without_signs(bare)


def clean_once(text: object) -> str:
    """The same in VLMEvalKit, where one unit goes, once."""
    bare = str(text).lower().strip().replace(",", "")
    unit = next((unit for unit in _ONE_UNIT if bare.endswith(unit)), "")
    return _without_signs(bare.removesuffix(unit).strip())


def _without_signs(text: str) -> str:
    return without_quotes(without_asides(text)).lstrip("$").strip().lstrip("£").strip().rstrip("%").strip()


def _score(cleaned: Callable[[object], str], answer: Any, reference: Any, answer_format: str) -> float:
    match answer_format:
        case "Integer":
            said, wanted = _number(int, cleaned(answer)), _number(int, cleaned(reference))
            return float(wanted == ("" if isinstance(said, str) else said))
        case "Float":
            try:
                return float(same_float(_number(float, cleaned(answer)), _number(float, cleaned(reference))))
            except ValueError:
                return 0.0
        case "String" | "None":
            return text_score(cleaned(answer), cleaned(reference))
    given, items = (list(map(cleaned, _items(value))) for value in (answer, reference))
    if not given or not items:
        return 0.0
    if is_number(items[0]) or is_exact(items[0]):
        return float("-".join(given) == "-".join(items))
    best = [max(anls_doc(one, item) for one in given) for item in items]
    return sum(best) / len(items) * power(min(1, len(items) / len(given)), 0.5)


score = partial(_score, clean)
"""The published score in [0, 1] of an extracted answer: `score(answer, reference, answer_format)`."""
vlmevalkit = partial(_score, clean_once)
"""The same with VLMEvalKit's units."""


def _number(kind: type[int] | type[float], text: str) -> float | str:
    try:
        return kind(text)
    except ValueError:
        return text


def _items(value: Any) -> list[Any]:
    if isinstance(value, str) and value.startswith("["):
        with suppress(*UNREADABLE):
            value = literal(value)
    items = value if isinstance(value, list) else [value]
    return ["-".join(map(str, item.values())) if isinstance(item, dict) else item for item in items]
