"""How MM-NIAH scores a reply, by the type of the reference: a choice's number, a list of counts, or a text.

Source: Wang et al., Needle in a Multimodal Haystack (NeurIPS 2024), calculate_scores.py and utils/tools.py.
"""

import json
import re
from itertools import chain
from typing import Any, Final

from vqa_client.scoring.strict.number_words import SMALL
from vqa_client.scoring.vqa_normalise import on_one_line, with_plain_words, without_punctuation

_CAMERA: Final = {"the camera is moving left": "a", "the camera is moving right": "b"}
_LONGEST: Final = 9
"""Digits of a number that can name a choice; Python refuses to read thousands of them."""
_WORDS: Final = {**{word: str(value) for word, value in SMALL.items()}, "none": "none"}


def score(reply: str, reference: str | int | list[Any]) -> float:
    """1 or 0; for a list the share of its places that the reply has right."""
    reply = reply.strip(".")
    if isinstance(reference, int):
        return float(_choice(reply) == reference)
    if isinstance(reference, list):
        matches = sum(said == wanted for said, wanted in zip(_list(reply), reference, strict=False))
        return matches / len(reference) if reference else 0.0
    return float(re.search(rf"\b{re.escape(normalised(reference))}\b", normalised(reply)) is not None)


def normalised(text: str) -> str:
    """As VQA's evaluator does, with number words up to ninety, and "none" as it is."""
    words = without_punctuation(on_one_line(text)).lower().split()
    return " ".join(filter(None, (_WORDS.get(word) or with_plain_words(word) for word in words)))


def _choice(reply: str) -> int | None:
    """The number of a choice, from 0: a number, or a letter's place in the alphabet."""
    if reply.isdecimal():
        return int(reply) if len(reply) <= _LONGEST else None
    reply, stop, _ = reply.lower().replace("the answer is", "").replace("*", "").partition(".")
    reply = (reply.replace(",", "") if stop else reply).strip()
    reply = next((letter for said, letter in _CAMERA.items() if said in reply), reply)
    return ord(reply) - ord("a") if len(reply) == 1 else None


def _list(reply: str) -> list[Any]:
    """The list that a reply is as JSON, or the values of an object of lists; empty where it is neither."""
    try:
        found = json.loads(reply.replace("json", "").replace("```", "").strip())
        found = [*chain(*found.values())] if isinstance(found, dict) else found
    except (ValueError, TypeError, RecursionError):
        return []
    return found if isinstance(found, list) else []
