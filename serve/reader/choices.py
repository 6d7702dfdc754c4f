"""Answers questions with lettered choices by the words that they share with the pages' passages."""

import re
from dataclasses import dataclass

from reader.words import Rarity, Roots, roots, sentences

CHOICE = re.compile(r"^[ \t]*\(?([A-J])[.):][ \t]+(\S.*)$", re.MULTILINE)
PASSAGE_SENTENCES = 3
FORMS = (
    (re.compile(r"correct answer is", re.IGNORECASE), "The correct answer is ({letter})."),
    (re.compile(r"\b(?:only|just|single)\b[^.\n]*\bletter\b|\bletter (?:only|alone)\b", re.IGNORECASE), "{letter}"),
    (re.compile(r"\banswer:", re.IGNORECASE), "Answer: {letter}"),
    (re.compile(""), "The correct answer is ({letter})."),
)
"""Phrases in a prompt and the form of answer that they ask for; the first one found decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceQuestion:
    """A question and its choices by letter."""

    text: str
    choices: dict[str, str]


def asked(prompt: str) -> ChoiceQuestion | None:
    """Find the question of a prompt with at least two choices lettered from A in order, or None.

    The question is the last paragraph before choice A, so that instructions above it don't count.
    """
    found = list(CHOICE.finditer(prompt))
    letters = [match[1] for match in found]
    if len(found) < 2 or letters != list("ABCDEFGHIJ"[: len(found)]):
        return None
    before = prompt[: found[0].start()].strip()
    return ChoiceQuestion(text=before.split("\n\n")[-1], choices={match[1]: match[2] for match in found})


def best(question: ChoiceQuestion, text: str) -> str | None:
    """The letter of the choice that a passage supports best; None without evidence or if two are equal."""
    read = [roots(sentence) for sentence in sentences(text)]
    rarity = Rarity(read)
    passages = [frozenset[str]().union(*read[i : i + PASSAGE_SENTENCES]) for i in range(len(read))]
    support = {
        letter: max((_support(roots(question.text), own, passage, rarity) for passage in passages), default=0.0)
        for letter, own in _own_words(question).items()
    }
    first, second, *_ = sorted(support.values(), reverse=True)
    return max(support, key=lambda letter: support[letter]) if first > second else None


def in_form(letter: str, prompt: str) -> str:
    """The answer in the form that the prompt asks for."""
    return next(form for pattern, form in FORMS if pattern.search(prompt)).format(letter=letter)


def _own_words(question: ChoiceQuestion) -> dict[str, Roots]:
    """The words that distinguish each choice: without the question's, and without those that all choices share."""
    words = {letter: roots(choice) for letter, choice in question.choices.items()}
    shared = frozenset.intersection(*words.values()) | roots(question.text)
    return {letter: own - shared or own for letter, own in words.items()}


def _support(question: Roots, choice: Roots, passage: Roots, rarity: Rarity) -> float:
    """The passage's share of the choice's weight times its share of the question's: it has to mention both."""
    return _share(choice, passage, rarity) * _share(question, passage, rarity)


def _share(words: Roots, passage: Roots, rarity: Rarity) -> float:
    return rarity.weight(words & passage) / (rarity.weight(words) or 1.0)
