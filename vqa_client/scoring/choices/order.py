"""The order in which a question's choices are shown: as filed, turned by some places, or drawn from a seed."""

import re
from collections.abc import Sequence
from hashlib import blake2b

from msgspec.structs import replace

from vqa_client.types import Question

ROTATION, SHUFFLED = "rotation", "shuffled"
Order = tuple[str, ...]
"""The filed labels of the choices in the order in which they are shown."""

_LETTER = r"\(?(?-i:[A-H])\)?"
_OTHERS = re.compile(
    r"\b(?:all|none|any|both|neither|either|each|some|one|two|three) of (?:the |these |those )?"
    r"(?:above|below|preceding|previous|following|other (?:options|choices|answers|statements))"
    rf"|\b(?:options?|choices?|answers?|alternatives?) {_LETTER}(?!\w)"
    rf"|^\W*(?:both |neither |either |only |all of )?{_LETTER}(?:, ?{_LETTER})*,? (?:and|or|nor|&) {_LETTER}\W*$",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"^[ \t]*\(?([A-Z])[.):] +(\S.*)$", re.MULTILINE)


def rotation(by: int) -> str:
    """Name the variant whose choices are turned by so many places; 0 leaves them as filed."""
    return f"{ROTATION}/{by}"


def shuffled(seed: int) -> str:
    """Name the variant whose choices are in a drawn order."""
    return f"{SHUFFLED}/{seed}"


def order_of(variant: str, labels: Sequence[str], question_id: str) -> Order | None:
    """In which order a variant shows the choices of these labels; None where it says nothing of an order.

    A drawn order depends on the seed and the question's id alone, and each order is as likely as another.
    """
    kind, slash, number = variant.rpartition("/")
    ordered = sorted(labels)
    if not slash or not number.lstrip("-").isdecimal():
        return None
    if kind == ROTATION:
        by = int(number) % max(1, len(ordered))
        return (*ordered[by:], *ordered[:by])
    if kind == SHUFFLED:
        return tuple(sorted(ordered, key=lambda label: _draw(f"{number} {question_id} {label}")))
    return None


def as_shown(question: Question) -> Question:
    """The question as its variant shows it: one whose variant says nothing of an order stays as it is."""
    order = order_of(question.variant, tuple(question.choices), question.id)
    if order is None or not question.choices:
        return question
    labels = sorted(question.choices)
    shown = dict(zip(order, labels, strict=True))
    return replace(
        question,
        choices={label: question.choices[filed] for filed, label in shown.items()},
        references=tuple(shown.get(reference, reference) for reference in question.references),
    )


def names_others(choices: dict[str, str]) -> bool:
    """Whether one of the choices speaks of others by their letter or place, such as "all of the above"."""
    return any(_OTHERS.search(" ".join(text.split())) for text in choices.values())


def _draw(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def choices_in(prompt: str) -> dict[str, str]:
    """The choices that a prompt lists, one per line from A on, such as "A. red" or "(A) red"; the last such list."""
    found: dict[str, str] = {}
    for line in _CHOICE.finditer(prompt):
        label, text = line[1], line[2].strip()
        if label == "A":
            found = {}
        if label == chr(ord("A") + len(found)):
            found[label] = text
    return found if len(found) > 1 else {}
