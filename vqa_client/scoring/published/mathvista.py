"""MathVista's published scorer: what it extracts without a model, and how it compares an extraction.

Source: evaluation/{extract_answer,calculate_score}.py of lupantech/MathVista (CC BY-SA 4.0).
"""

import re
from collections.abc import Sequence

from vqa_client.scoring.published.anls import distance

_OPENS, _CLOSES = 'The answer is "', '".'
_LETTER = re.compile(r"\(([a-zA-Z])\)")


def quick_extraction(reply: str, question_type: str, answer_type: str, choices: Sequence[str]) -> str | None:
    """What is taken from a reply by rule; None where the script asks a model."""
    if not reply or (question_type == "multi_choice" and reply in choices):
        return reply
    kind = {"integer": int, "float": float}.get(answer_type)
    try:
        if kind is not None:
            return str(kind(reply))
    except ValueError:
        pass
    for line in reply.split("\n"):
        _, opens, rest = line.partition(_OPENS)
        if opens and _CLOSES in rest:
            return rest[: rest.rindex(_CLOSES)]
    return None


def normalised(
    extraction: str, question_type: str, answer_type: str, choices: Sequence[str], precision: float | None
) -> str | None:
    """An extraction as it is compared with the reference; None where it is not of the answer's type."""
    if question_type == "multi_choice":
        text = extraction.strip()
        letter = _LETTER.search(text)
        place = ord(letter[1].upper() if letter else text) - ord("A") if letter or len(text) == 1 else -1
        return choices[place] if 0 <= place < len(choices) else _nearest(letter[1].upper() if letter else text, choices)
    try:
        if answer_type == "integer":
            return str(int(float(extraction)))
        if answer_type == "float":
            return str(round(float(extraction), int(precision or 0)))
    except (ValueError, OverflowError):
        return None
    return extraction


def _nearest(text: str, choices: Sequence[str]) -> str:
    return min(choices, key=lambda choice: distance(text, choice))
