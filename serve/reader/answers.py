"""Makes the reply from a prompt and the text of its pages: one rule for each kind of question, and no knowledge."""

import re

from reader import CANT_FIND, CANT_TELL, NO_PAGES, choices, needles
from reader.words import Rarity, roots, sentences

_BRIEF = re.compile(r"\bin a few words\b|\b(single )?word or phrase\b", re.IGNORECASE)
"""Phrases with which a prompt asks for an answer without a sentence around it."""


def answer(prompt: str, pages: list[str]) -> str:
    """The reply to a prompt, taken only from the page texts."""
    text = "\n".join(pages)
    if not pages:
        return NO_PAGES
    if question := choices.asked(prompt):
        letter = choices.best(question, text)
        return choices.in_form(letter, prompt) if letter else CANT_TELL
    if key := needles.asked(prompt):
        value = needles.value(key, text)
        if value and _BRIEF.search(prompt):
            return value
        return f"The secret {key} is {value}." if value else CANT_FIND
    return _best_sentence(prompt, text) or CANT_FIND


def _best_sentence(prompt: str, text: str) -> str | None:
    read = sentences(text)
    words = [roots(sentence) for sentence in read]
    rarity, wanted = Rarity(words), roots(prompt)
    weights = [rarity.weight(wanted & each) for each in words]
    best = max(weights, default=0.0)
    return read[weights.index(best)] if best > 0 else None
