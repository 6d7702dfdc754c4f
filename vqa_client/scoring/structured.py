"""Answers that come as JSON: the value under the answer's key is the reply, whatever else the object says."""

import json
import re
from typing import Any, Final

KEYS: Final = (
    "answer",
    "finalanswer",
    "correctanswer",
    "choice",
    "option",
    "letter",
    "label",
    "selected",
    "selectedoption",
)
KEYS_IF_ALONE: Final = ("prediction", "response", "output", "result", "solution")
_START = re.compile(r"\s*(?:```\w*\s*)?(?=\{)")
_NOT_LETTERS = re.compile(r"[^a-z]")
_LONGEST: Final = 50_000
"""An object longer than this is no answer; it is read as prose."""


def answer_in_json(text: str) -> str | None:
    """The answer that a reply consisting of one JSON object holds, as text; None where it is no such object."""
    start = _START.match(text)
    if not start or len(text) > _LONGEST:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start.end())
    except (ValueError, RecursionError):
        return None
    return _said(value)


def _said(value: Any) -> str | None:
    if isinstance(value, dict):
        folded = {_NOT_LETTERS.sub("", str(key).lower()): each for key, each in value.items()}
        keys = [key for key in (*KEYS, *KEYS_IF_ALONE) if key in folded]
        return _said(folded[keys[0]]) if keys else None
    if isinstance(value, list):
        return ", ".join(filter(None, map(_said, value)))
    return "" if value is None else str(value)
