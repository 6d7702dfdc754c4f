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
KEYS_IF_ALONE: Final = ("activity", "prediction", "response", "output", "result", "solution")
EXPLANATIONS: Final = ("explanation", "rationale", "reason", "reasoning", "justification", "because", "why")
_BESIDE_A_LABEL: Final = frozenset({"label", "confidence", "score", "probability", *EXPLANATIONS})
"""An object with other keys describes a thing in the picture, whose label isn't an answer."""
_ANSWERS: Final = frozenset({*KEYS, *KEYS_IF_ALONE}) - {"label"}
_START = re.compile(r"\s*(?:```\w*\s*)?(?=\{)")
_FENCED = re.compile(r"```(?:json\w?)?\s{0,99}(?=\{)|\A\s{0,99}(?=\[\s{0,99}\{)", re.IGNORECASE)
_PAIR = re.compile(
    r"(?P<at>[\"'])(?P<key>[\w -]{1,40})(?P=at)\s{0,99}:\s{0,99}(?:(?P<bare>-?\d[\w.,]*|true|false)"
    r"|(?P<quote>[\"'])(?P<text>(?:(?!(?P=quote))[^\\]|\\.)*)(?P<end>(?P=quote)?))",
    re.DOTALL,
)
_NOT_LETTERS = re.compile(r"[^a-z]")
_LONGEST: Final = 50_000
"""An object longer than this is no answer; it is read as prose."""


def answer_in_json(text: str) -> str | None:
    """The answer that a reply consisting of one JSON object holds, as text; None where it is no such object."""
    start = _START.match(text)
    if not start or len(text) > _LONGEST:
        return None
    value = _decoded(text, start.end())
    return None if value is None else _said(value)


def answer_and_explanation(text: str) -> tuple[str, str] | None:
    """What the object in a reply gives as its answer and as its explanation ("" for none); None without an answer.

    It may stand in a code fence after other words, be cut off behind the answer, or break JSON's rules for escapes.
    """
    if "{" not in text or len(text) > _LONGEST:
        return None
    start = _START.match(text) or _FENCED.search(text)
    if not start:
        return None
    value = _decoded(text, start.end())
    if value is None:
        value = _pairs(text[start.end() :])
    while isinstance(value, list | dict) and len(value) == 1:
        (held,) = value if isinstance(value, list) else value.values()
        if not _nests(held) or (isinstance(held, list) and not any(map(_nests, held))):
            break
        value = held
    answer = _said(value) if isinstance(value, dict) else None
    if answer is None:
        return None
    given = {_folded(key): each for key, each in value.items()}
    if not given.keys() & _ANSWERS and given.keys() - _BESIDE_A_LABEL:
        return None
    explanation = next((given[key] for key in EXPLANATIONS if isinstance(given.get(key), str)), "")
    return answer, explanation


def _decoded(text: str, start: int) -> Any:
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


def _pairs(text: str) -> dict[str, str]:
    """The members of a broken object; of one that the text's end cuts only an explanation counts."""
    return {
        pair["key"]: pair["bare"] or _unescaped(pair["text"])
        for pair in _PAIR.finditer(text)
        if pair["bare"] or pair["end"] or _folded(pair["key"]) in EXPLANATIONS
    }


def _nests(value: Any) -> bool:
    return isinstance(value, list | dict)


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def _folded(key: object) -> str:
    return _NOT_LETTERS.sub("", str(key).lower())


def _said(value: Any) -> str | None:
    if isinstance(value, dict):
        folded = {_folded(key): each for key, each in value.items()}
        keys = [key for key in (*KEYS, *KEYS_IF_ALONE) if key in folded]
        return _said(folded[keys[0]]) if keys else None
    if isinstance(value, list):
        return ", ".join(filter(None, map(_said, value)))
    return "" if value is None else str(value)
