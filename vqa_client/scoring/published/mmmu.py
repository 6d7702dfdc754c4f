"""MMMU's own scoring and its domains. Source: mmmu/utils of MMMU-Benchmark/MMMU (bb0b95a)."""

import re
from collections.abc import Iterable
from typing import Final

from vqa_client.scoring.published.choice_readers import kit
from vqa_client.types import Question

_DOMAIN_SUBJECTS: Final = {
    "Art and Design": "Art Art_Theory Design Music",
    "Business": "Accounting Economics Finance Manage Marketing",
    "Science": "Biology Chemistry Geography Math Physics",
    "Health and Medicine": "Basic_Medical_Science Clinical_Medicine Diagnostics_and_Laboratory_Medicine Pharmacy"
    " Public_Health",
    "Humanities and Social Science": "History Literature Sociology Psychology",
    "Tech and Engineering": "Agriculture Architecture_and_Engineering Computer_Science Electronics Energy_and_Power"
    " Materials Mechanical_Engineering",
}
DOMAINS: Final = {subject: domain for domain, names in _DOMAIN_SUBJECTS.items() for subject in names.split()}
"""The domain of each subject."""

_CUES: Final = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
_NUMBERS: Final = tuple(  # a run of digits is looked at from its first one only, which keeps the time linear
    re.compile(form)
    for form in (
        r"-?\b\d{1,3}(?:,\d{3})+\b",
        r"-?(?<!\d)\d++(?:\.\d++)?[eE][+-]?\d++",
        r"-?(?:(?<!\d)\d++\.\d++|\.\d++|(?<!\d)\d++\b)(?![eE][+-]?\d)(?![,\d])",
    )
)
Normal = float | str


def open_right(reply: str, references: Iterable[str]) -> bool:
    """Whether a number in the reply equals a reference to two places, or a reference is part of what it declares."""
    wanted = [each for reference in references for each in _normal(reference)]
    return any(
        said in wanted if isinstance(said, float) else any(isinstance(each, str) and each in said for each in wanted)
        for said in open_candidates(reply)
    )


def open_candidates(reply: str) -> set[Normal]:
    """What a reply may answer: the shortest text behind a cue in each line, and the numbers there; else all of it."""
    whole = reply.strip().strip(".").lower()
    *lines, last = whole.split("\n")
    declared = [*(_behind_cue(line, _CUES) for line in lines), _behind_cue(last, (*_CUES, "="))]
    texts = [text for text in declared if text not in ("", *":,.!?;'")] or [whole]
    found = [*texts, *(number for text in texts for form in _NUMBERS for number in form.findall(text))]
    return {each for text in found for each in _normal(text)}


def _behind_cue(line: str, cues: Iterable[str]) -> str:
    shortest = ""
    for cue in cues:
        if cue in line:
            tail = line.rpartition(cue)[2].strip()
            if not shortest or len(tail) < len(shortest):
                shortest = tail
    return shortest


def _normal(text: str) -> tuple[Normal, ...]:
    """A number rounded to two places; a text in lower case, a lone character with a space on either side."""
    text = text.strip()
    try:
        return (round(float(text.replace(",", "")), 2),)
    except ValueError:
        lower = text.lower()
        return (f" {lower}", f"{lower} ") if len(lower) == 1 else (lower,)


def right_answer(answer: str, question: Question) -> float:
    """Whether a label, or the answer to an open question, is right."""
    return float(answer in question.references if question.choices else open_right(answer, question.references))


def kit_right(answer: str, question: Question) -> float:
    """VLMEvalKit's rule (e8e78f05): an open question is a choice between its answer and "Other Answers"."""
    if question.choices:
        return float(answer in question.references)
    others = {"B": "Other Answers"}
    return float(any(kit(answer, {"A": reference, **others}) == "A" for reference in question.references))
