"""Read a reply that says one choice in its own order: one sentence has all telling words of one choice."""

import re
from typing import Final

from vqa_client.scoring.choices.reading import ChoiceReply, Found
from vqa_client.scoring.choices.text import folded, spaced

TELLING: Final = 3
"""A choice of fewer telling words is too easily met by chance."""
RIVALLING: Final = 0.75
"""The share of another choice's words in one sentence from which on the reply may mean that choice."""
READ: Final = 700
"""Characters at the end of a reply that are read; of a longer one, its last sentence."""
_SENTENCE_END = re.compile(r"[.!?;\n](?=\s|$)")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_DENIES = re.compile(r"\b(?:not|no|never|cannot|without|none|unlikely|less)\b|n't")
_COMMON_WORDS = """this that with from have been were which their there would will than then them they does about into
    because over more most some such also"""
_COMMON: Final = frozenset(_COMMON_WORDS.split())


def paraphrased(reply: ChoiceReply) -> Found | None:
    """The choice whose words one sentence has, all of them; a denial must be in both or in neither."""
    if not any(_may_be_said(choice, reply.lower) for choice in reply.texts.choices.values()):
        return None
    owned = {label: spaced(reply.texts.own[label]) for label in reply.texts.labels}
    telling = {label: {word for word in _WORD.findall(own) if _tells(word)} for label, own in owned.items()}
    if max(map(len, telling.values()), default=0) < TELLING:
        return None
    text = spaced(folded(reply.text)).rstrip(". \n")
    sentences = _SENTENCE_END.split(text) if len(text) <= READ else _SENTENCE_END.split(text[-READ:])[-1:]
    shares = dict.fromkeys(owned, 0.0)
    for sentence in sentences:
        said, denies = {*_WORD.findall(sentence)}, _DENIES.search(sentence) is None
        for label, words in telling.items():
            if words and denies == (_DENIES.search(owned[label]) is None):
                shares[label] = max(shares[label], sum(_said(word, said) for word in words) / len(words))
    first, *rest = sorted(shares, key=lambda label: -shares[label])
    if shares[first] < 1 or len(telling[first]) < TELLING or any(shares[label] > RIVALLING for label in rest):
        return None
    return Found(labels=(first,), rule="paraphrase")


def _may_be_said(choice: str, text: str) -> bool:
    """Whether a choice has enough words and the text a part of its longest one: a cheap look before the real one."""
    words = choice.split()
    return len(words) >= TELLING - 1 and max(words, key=len).lower()[1:5] in text


def _tells(word: str) -> bool:
    return word.isdecimal() or (len(word) > 3 and word not in _COMMON)


def _said(word: str, said: set[str]) -> bool:
    """Whether the word, or another form of a long one, was said."""
    if word in said or len(word) < 6:
        return word in said
    return any(other.startswith(word[:5]) and abs(len(other) - len(word)) < 4 for other in said)
