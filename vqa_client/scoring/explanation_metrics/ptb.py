"""Penn Treebank tokens of English text, without Java: what coco-caption's wrapper of Stanford's tokeniser gives.

Tokens are in lower case and those of its list of punctuation are left out. Its quirks are kept: brackets stay as
"-lrb-" and "-rrb-" (the list has them in capitals only), and characters that Stanford's 2014 program doesn't know,
emoji among them, are dropped; so are the marks of some scripts, at which a word is then split. Equal on some 50,000
human explanations, hypotheses and questions of VQA-X and e-SNLI-VE, on each character of the basic plane in eight
places, and on all but 4 of 12,000 sentences of model replies, school mathematics and lists of files.

Three things differ on purpose. A line break of any kind is a space (the wrapper takes what follows most of them for
the next caption). A text never depends on its neighbour: "the answer is a." keeps "a." (the wrapper's does so unless
the next caption starts with a capital). A token in which the program keeps a space ("1 1/2") is two, as BLEU and CIDEr
then read it.
"""

import re
from functools import lru_cache
from typing import Final

from vqa_client.scoring.explanation_metrics.ptb_rules import ENTITIES, RULES, SPELLINGS

PUNCTUATION: Final = frozenset(["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "---", "----", "...", ";"])
"""Left out: coco-caption's list, as far as a token in lower case can be on it; the program writes "---" as "--"."""
_SPELLED: Final = str.maketrans(SPELLINGS)
_PLAIN: Final = re.compile(r"[a-z]+")
_SPLIT: Final = frozenset(["cannot", "gonna", "gotta", "lemme", "gimme", "wanna"])
_ACROSS_SPACES: Final = re.compile(r"<|['’]\d\d\s|\.[,:]?\s+\d|\d\s+\d+/|\(\d{3}\)\s")
"""Text in which what follows a space can belong to the token before it."""


def ptb_tokens(text: str) -> list[str]:
    """Split a text into tokens, in time linear in its length."""
    if _ACROSS_SPACES.search(text):
        return _scanned(" ".join(text.split()))
    tokens: list[str] = []
    for word in text.split():
        if _PLAIN.fullmatch(word) and word not in _SPLIT:
            tokens.append(word)
        else:
            tokens += _word(word)
    return tokens


@lru_cache(maxsize=1 << 16)
def _word(word: str) -> tuple[str, ...]:
    return tuple(_scanned(word))


def _scanned(text: str) -> list[str]:
    tokens: list[str] = []
    fails_until = [0] * len(RULES)
    at = 0
    while at < len(text):
        end = _token_end(text, at, fails_until)
        tokens += _spelled(text[at:end])
        at = max(end, at + 1)
    return tokens


def _token_end(text: str, at: int, fails_until: list[int]) -> int:
    """Where the token that starts at `at` ends: at `at` itself for a space or a character that no rule knows.

    `fails_until` holds for each rule where the run ends in which it is known to fail.
    """
    longest, end = 0, at
    for number, (token, run) in enumerate(RULES):
        if at < fails_until[number]:
            continue
        if match := token.match(text, at):
            if match.end() - at > longest:
                longest, end = match.end() - at, match.end(token.groups)
        elif run and (failed := run.match(text, at)):
            fails_until[number] = failed.end()
    return end


def _spelled(token: str) -> list[str]:
    """Write a token as the treebank does: none for a space or for punctuation."""
    lower = token.lower()
    spelled = ENTITIES[lower] if lower in ENTITIES else lower.translate(_SPELLED)
    return [part for part in spelled.split() if part not in PUNCTUATION]
