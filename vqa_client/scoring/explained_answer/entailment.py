"""Read one of the three labels of visual entailment: whole words of its family, before the separator, not denied."""

import re
from collections.abc import Iterator
from typing import Final

from vqa_client.scoring.explained_answer.separator import take_apart
from vqa_client.scoring.reply import Reply
from vqa_client.types import Answer

LABELS: Final = ("entailment", "contradiction", "neutral")
_WORDS: Final = {
    "entailment": r"entail(?:s|ed|ing|ments?)?",
    "contradiction": r"contradict(?:s|ed|ing|ions?|ory|ive)?",
    "neutral": r"neutral(?:ity|ly)?|undetermined|inconclusive",
}
_HEAD_READ: Final = 2000
"""Characters of a head in which labels are looked for, a bound on the time that a runaway reply can take."""
_NAMED = re.compile(
    r"(?P<non>\bnon-? ?)?\b(?:" + "|".join(f"(?P<{label}>{words})" for label, words in _WORDS.items()) + r")\b", re.I
)
_CLAUSE = re.compile(r"[,;.:!?()\n]|\b(?:but|so|therefore|thus|hence|however|although|though|while|whereas)\b", re.I)
_DENIED = re.compile(r"\b(?:not|neither|nor|no|never|cannot|rather than|instead of|without)\b|n't\b", re.I)
_DECLARED = re.compile(
    r"\b(?:label|answer|relation(?:ship)?|verdict)\b[^\w]{0,3}(?: ?(?:is|would be|must be)\b)?[^\w]*", re.I
)


def read_label(reply: Reply) -> Answer:
    """The label that the words before the first "because" commit to; without one, what is declared anywhere.

    Several labels that are not denied are ambiguous; where two are denied, the third is meant.
    """
    parts = take_apart(reply)
    if isinstance(parts, Answer):
        return _declared(parts.rationale or "", parts) if parts.status == "unparsed" else parts
    labels, denied = _labels_of(parts.head[:_HEAD_READ], first_clause=not parts.explicit)
    if len(labels) == 1:
        return Answer(text=labels[0], rule=parts.rule, rationale=parts.rationale)
    if labels:
        return Answer(status="ambiguous", rule=parts.rule, rivals=tuple(labels), rationale=parts.rationale)
    left = [label for label in LABELS if label not in denied]
    if len(left) == 1:
        return Answer(text=left[0], rule="the others denied", rationale=parts.rationale)
    rivals = tuple(left) if denied else ()
    return _declared(
        parts.rationale or "", Answer(status="unparsed", rule="no label", rivals=rivals, rationale=parts.rationale)
    )


def _declared(text: str, otherwise: Answer) -> Answer:
    """The one label that a text names as the label or the answer ("Because ..., the answer is neutral")."""
    found = {label for place in _DECLARED.finditer(text) for label in LABELS if _opens(text, place.end(), label)}
    if len(found) != 1:
        return otherwise
    return Answer(text=found.pop(), rule="declaration", rationale=otherwise.rationale)


def _opens(text: str, at: int, label: str) -> bool:
    named = _NAMED.match(text, at)
    return named is not None and named.lastgroup == label and not named["non"]


def _labels_of(head: str, *, first_clause: bool) -> tuple[list[str], set[str]]:
    """The labels that are meant, in order, and those that are only denied; or those of the first clause with one."""
    meant: dict[str, None] = {}
    denied: set[str] = set()
    for clause in _CLAUSE.split(head):
        for label, is_denied in _named(clause):
            denied.add(label) if is_denied else meant.setdefault(label)
        if meant and first_clause:
            break
    return list(meant), denied - meant.keys()


def _named(clause: str) -> Iterator[tuple[str, bool]]:
    for named in _NAMED.finditer(clause):
        is_denied = named["non"] is not None or _DENIED.search(clause, 0, named.start()) is not None
        yield str(named.lastgroup), is_denied
