"""MathVista's published scorer without a model, VLMEvalKit's, and the words that the benchmark is asked in.

`Problem` is what all of them look at. Source: evaluation/{extract_answer,calculate_score,build_query}.py of
lupantech/MathVista, vlmeval/dataset/utils/mathvista.py of VLMEvalKit (e8e78f05).
"""

import re
from typing import Final

from msgspec import Struct

from vqa_client.scoring.published.anls import distance
from vqa_client.scoring.published.choice_readers import kit
from vqa_client.types import Group

_HINTED = re.compile(r"(?:Hint: [^\n]*\n)?Question: (?P<text>.*?)(?:\nChoices:.*)?", re.DOTALL)
_OPENS, _CLOSES = 'The answer is "', '".'
_LETTER = re.compile(r"\(([a-zA-Z])\)")
KINDS: Final = (
    *("question_type", "answer_type", "language", "source", "category", "task", "context", "grade", "skills"),
)
LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Problem(Struct, kw_only=True):
    """A row: a question, its kinds, its choices, its answer (a choice's text) and how many decimals that has."""

    question_type: str
    answer_type: str
    answer: str
    choices: tuple[str, ...] = ()
    precision: float | None = None
    question: str
    unit: str = ""
    language: str = ""
    source: str = ""
    category: str = ""
    task: str = ""
    context: str = ""
    grade: str = ""
    skills: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The question with its unit, without the hint and the choices that VLMEvalKit's rows have around it."""
        hinted = _HINTED.fullmatch(self.question)
        return (hinted["text"] if hinted else self.question) + (f" (Unit: {self.unit})" if self.unit else "")

    @property
    def labelled(self) -> dict[str, str]:
        return dict(zip(LETTERS, self.choices, strict=False))

    @property
    def label(self) -> str:
        """The letter of the right choice, "" where there is none."""
        return next((letter for letter, text in self.labelled.items() if text == self.answer), "")

    @property
    def groups(self) -> dict[str, Group]:
        """What the row says of its kind."""
        return {kind: value for kind in KINDS if (value := getattr(self, kind))}

    @property
    def chooses(self) -> bool:
        """Whether it is a multiple-choice question."""
        return self.question_type == "multi_choice"

    @property
    def places(self) -> int:
        """The number of decimals, by the answer where the data doesn't say."""
        return len(self.answer.partition(".")[2]) if self.precision is None else int(self.precision)


def quick_extraction(reply: str, problem: Problem) -> str | None:
    """What is taken from a reply by rule; None where the script asks a model."""
    if not reply or (problem.chooses and reply in problem.choices):
        return reply
    kind = {"integer": int, "float": float}.get(problem.answer_type)
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


def normalised(extraction: str, problem: Problem) -> str | None:
    """An extraction as it is compared with the answer; None where it is not of the answer's type."""
    if problem.chooses:
        text = extraction.strip()
        letter = _LETTER.search(text)
        text = letter[1].upper() if letter else text
        place = LETTERS.find(text) if len(text) == 1 else -1
        if 0 <= place < len(problem.choices):
            return problem.choices[place]
        return min(problem.choices, key=lambda choice: distance(text, choice))
    try:
        if problem.answer_type == "integer":
            return str(int(float(extraction)))
        if problem.answer_type == "float":
            return str(round(float(extraction), problem.places))
    except (ValueError, OverflowError):
        return None
    return extraction


def right(reply: str, problem: Problem) -> float:
    """Whether the published rules alone find the answer in a reply."""
    extraction = quick_extraction(reply, problem)
    return float(extraction is not None and normalised(extraction, problem) == problem.answer)


def vlmevalkit(reply: str, problem: Problem) -> float:
    """VLMEvalKit's comparison without a model: a letter as it reads one, else the same number."""
    if problem.chooses:
        return float(kit(reply, problem.labelled) == problem.label != "")
    kind = {"integer": int, "float": float}.get(problem.answer_type)
    try:
        return float(kind is not None and kind(reply) == kind(problem.answer))
    except ValueError:
        return 0.0


def asked_officially(problem: Problem) -> str:
    """A question as the authors ask it: the hint comes first."""
    lines = [f"Question: {problem.text}"]
    if problem.choices:
        lines += ["Choices:", *(f"({letter}) {choice}" for letter, choice in problem.labelled.items())]
    return "\n".join([_hint(problem), *lines])


def asked_with_solution(problem: Problem) -> str:
    """The same for a solution, in the order of build_query.py: the hint comes last."""
    hint, _, asked = asked_officially(problem).partition("\n")
    return f"{asked}\n{hint}\nSolution:"


def asked_by_lmms_eval(problem: Problem) -> str:
    """A question as lmms-eval asks it for a bare answer."""
    lines = [problem.text, *(f"{letter}. {choice}" for letter, choice in problem.labelled.items())]
    if problem.chooses:
        return "\n".join([*lines, "Answer with the option's letter from the given choices directly."])
    kind = {"integer": "a single integer number", "list": "a Python list"}.get(problem.answer_type)
    kind = kind or f"a single floating-point number with {_places(problem)}"
    return "\n".join([*lines, f"Answer the question using {kind}."])


def _places(problem: Problem) -> str:
    return "two decimal places" if problem.places == 2 else "one decimal place"


def _hint(problem: Problem) -> str:
    if problem.chooses:
        return "Hint: Please answer the question and provide the correct option letter, e.g., A, B, C, D, at the end."
    kind, final = {
        "integer": ("an integer answer", "value, e.g., 1, 2, 3"),
        "list": ("a Python list as an answer", "list, e.g., [1, 2, 3], [1.2, 1.3, 1.4]"),
    }.get(problem.answer_type) or (
        f"a floating-point number with {_places(problem)}",
        "value, e.g., 1.23, 1.34, 1.45" if problem.places == 2 else "value, e.g., 1.2, 1.3, 1.4",
    )
    return f"Hint: Please answer the question requiring {kind} and provide the final {final}, at the end."
