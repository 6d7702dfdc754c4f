"""MathVista: mathematics in charts, figures and photographs, with choices or a number as the answer.

Data: testmini.json beside images/, the hub's Parquet, or VLMEvalKit's MathVista_MINI.tsv, without precision. A row:

    "1": {"pid": "1", "question": "What is the slope?", "image": "images/1.jpg", "choices": null, "unit": null,
          "precision": 1.0, "answer": "1.2", "question_type": "free_form", "answer_type": "float", "metadata": {...}}

Published: accuracy after a model has extracted answers (Lu et al., ICLR 2024); "published" uses the script's rules.

Source of scorer and wording: evaluation/{extract_answer,calculate_score,build_query}.py of lupantech/MathVista, and
vlmeval/dataset/utils/mathvista.py of VLMEvalKit (e8e78f05).
"""

import re
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from vqa_client.benchmark import Answer, Benchmark, Form, Home, Judge, Metric, Picture, Place, Prompt, Question, choice
from vqa_client.benchmark import tables, verbatim
from vqa_client.prompt import choices_text
from vqa_client.scoring.maths import right_choice_or_maths
from vqa_client.scoring.numbers import number, numbers
from vqa_client.scoring.published.anls import distance
from vqa_client.scoring.published.choice_readers import kit
from vqa_client.scoring.reply import Reply
from vqa_client.tasks.choices import DIRECTLY, label_choices
from vqa_client.types import Group

HOME = Home("github.com/lupantech/MathVista", "CC BY-SA 4.0", megabytes=900)
HUB = Home("hf://AI4Math/MathVista", "CC BY-SA 4.0", megabytes=150)
_HINTED = re.compile(r"(?:Hint: [^\n]*\n)?Question: (?P<text>.*?)(?:\nChoices:.*)?", re.DOTALL)
_OPENS, _CLOSES = 'The answer is "', '".'
_LETTER = re.compile(r"\(([a-zA-Z])\)")
KINDS: Final = (
    *("question_type", "answer_type", "language", "source", "category", "task", "context", "grade", "skills"),
)
COLUMNS = {name: f"metadata.{name}" for name in KINDS[2:]}


class Row(Struct, kw_only=True):
    """A row; `answer` is the text of a choice where there are choices, `precision` the number of its decimals."""

    pid: str
    image: Picture
    question_type: str
    answer_type: str
    answer: str = ""
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
        return label_choices(self.choices)

    @property
    def label(self) -> str:
        """The letter of the right choice, "" where there is none."""
        return next((letter for letter, text in self.labelled.items() if text == self.answer), "")

    @property
    def groups(self) -> dict[str, Group]:
        """The kinds that the row names."""
        return {kind: value for kind in KINDS if (value := getattr(self, kind))}

    @property
    def chooses(self) -> bool:
        """Whether it is a multiple-choice question."""
        return self.question_type == "multi_choice"

    @property
    def places(self) -> int:
        """The number of decimals, counted in the answer where the data has no precision."""
        return len(self.answer.partition(".")[2]) if self.precision is None else int(self.precision)


def question(row: Row, place: Place) -> Question:
    return Question(
        id=row.pid,
        text=row.text,
        images=(row.image,),
        references=(row.label or row.answer,),
        choices=row.labelled,
        groups=row.groups,
        cluster=row.image,
        row=row,
    )


def quick_extraction(reply: str, problem: Row) -> str | None:
    """The answer that a rule takes from a reply; None where the script asks a model."""
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


def normalised(extraction: str, problem: Row) -> str | None:
    """An extraction in the form that is compared with the answer; None where it has another type."""
    if problem.chooses:
        text = extraction.strip()
        letter = _LETTER.search(text)
        text = letter[1].upper() if letter else text
        nearest = min(problem.choices, key=lambda choice: distance(text, choice))
        return problem.labelled.get(text, nearest)
    try:
        if problem.answer_type == "integer":
            return str(int(float(extraction)))
        if problem.answer_type == "float":
            return str(round(float(extraction), problem.places))
    except (ValueError, OverflowError):
        return None
    return extraction


def right(reply: str, problem: Row) -> float:
    """Whether the published rules alone find the answer in a reply."""
    extraction = quick_extraction(reply, problem)
    return float(extraction is not None and normalised(extraction, problem) == problem.answer)


def vlmevalkit(reply: str, problem: Row) -> float:
    """VLMEvalKit's comparison without a model: a letter as it reads one, else the same number."""
    if problem.chooses:
        return float(kit(reply, problem.labelled) == problem.label != "")
    kind = {"integer": int, "float": float}.get(problem.answer_type)
    try:
        return float(kind is not None and kind(reply) == kind(problem.answer))
    except ValueError:
        return 0.0


def official(problem: Row) -> str:
    """The authors' prompt: the hint comes first."""
    lines = [f"Question: {problem.text}"]
    if problem.choices:
        lines += ["Choices:", choices_text(problem.labelled, "({label}) {text}")]
    return "\n".join([_hint(problem), *lines])


def official_solution(problem: Row) -> str:
    """The authors' prompt for a solution, in the order of build_query.py: the hint comes last."""
    hint, _, rest = official(problem).partition("\n")
    return f"{rest}\n{hint}\nSolution:"


def lmms_eval(problem: Row) -> str:
    """lmms-eval's prompt for an answer alone."""
    lines = [problem.text, *([choices_text(problem.labelled)] if problem.choices else [])]
    if problem.chooses:
        return "\n".join([*lines, DIRECTLY])
    kind = {"integer": "a single integer number", "list": "a Python list"}.get(problem.answer_type)
    kind = kind or f"a single floating-point number with {_places(problem)}"
    return "\n".join([*lines, f"Answer the question using {kind}."])


def _places(problem: Row) -> str:
    return "two decimal places" if problem.places == 2 else "one decimal place"


def _hint(problem: Row) -> str:
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


def answer(reply: Reply, question: Question) -> Answer:
    reading = choice if question.choices else numbers if question.row_as(Row).answer_type == "list" else number
    return reading(reply, question)


def ours(question: Question) -> str:
    if question.choices:
        return f"{question.text}\n{choices_text(question.choices)}\nAnswer with the letter of your choice."
    row = question.row_as(Row)
    amount = {"integer": "a whole number", "list": "a list of numbers in brackets"}.get(row.answer_type)
    return f"{question.text}\nAnswer with {amount or f'a number rounded to {row.places} decimals'} alone."


def scored_by(rule: Callable[[str, Row], float]) -> Callable[[str, Question], float]:
    return lambda reply, question: rule(reply, question.row_as(Row))


def prompt_by(words: Callable[[Row], str], max_tokens: int | None = None) -> Prompt:
    return Prompt(lambda question: words(question.row_as(Row)), max_tokens=max_tokens)


BENCHMARK = Benchmark(
    name="mathvista",
    load=tables(
        Row,
        Form(("{split}.json", "data/{split}.json"), columns=COLUMNS, home=HOME),
        Form("data/{split}-*.parquet", columns={**COLUMNS, "image": "decoded_image"}, home=HUB),
        Form("MathVista_{split}.tsv", columns={"pid": "index"}, splits={"testmini": "MINI"}),
        question=question,
        split="testmini",
    ),
    prompt=Prompt(ours),
    prompt_forms={
        "official": prompt_by(official),
        "official_solution": prompt_by(official_solution, max_tokens=1024),
        "lmms_eval": prompt_by(lmms_eval, max_tokens=1024),
        "vlmevalkit": prompt_by(official),
    },
    parse=answer,
    metrics=(
        Metric("accuracy", right_choice_or_maths, "the choice, or the number to the decimals of the reference"),
        Metric("published", scored_by(right), "the published rules; they leave sentences to a model", read=verbatim),
        Metric("vlmevalkit", scored_by(vlmevalkit), "the rules of VLMEvalKit, before it asks a model", read=verbatim),
    ),
    judge=Judge("extract"),
    ideal_reply=lambda question: question.row_as(Row).answer,
    breakdowns=KINDS,
)
