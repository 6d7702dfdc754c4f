"""MathVerse: geometry and functions, each problem in versions with fewer words and more in the drawing.

Data: testmini.json beside images/, the hub's Parquet, or VLMEvalKit's MathVerse_MINI.tsv; the version without an image
is the split testmini_text_only. A row:

    {"sample_index": "1", "problem_index": "1", "problem_version": "Text Dominant", "question": "...",
     "image": "images_version_1-4/image_1.png", "answer": "A", "question_type": "multi-choice",
     "metadata": {"subject": "Plane Geometry", "subfield": "Angle"}, "query_wo": "...", "query_cot": "..."}

Published: accuracy by version, as GPT-4 judges (Zhang et al., ECCV 2024). Here rules read and compare answers.
"""

import re

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Breakdown, Form, Home, Metric, Picture, Place, Prompt, Question, Total
from vqa_client.benchmark import best_of, mean_over, tables, verbatim
from vqa_client.scoring.maths import right_choice_or_maths
from vqa_client.scoring.numbers import formula
from vqa_client.scoring.short_answers import equal_stripped

HOME = Home("github.com/ZrrSkywalker/MathVerse", "MIT", megabytes=200)
HUB = Home("hf://AI4Math/MathVerse", "MIT", megabytes=170)
COLUMNS = {"subject": "metadata.subject", "subfield": "metadata.subfield"}
CHOICE = re.compile(r"^[ \t]*\(?([A-H])\)?[:.)][ \t]*(\S[^\n]*?)[ \t]*$", re.MULTILINE)
VERSIONS = ("Text Dominant", "Text Lite", "Vision Intensive", "Vision Dominant", "Vision Only", "Text Only")


class Row(Struct):
    sample_index: str
    question: str
    answer: str
    question_type: str
    image: Picture = ""
    problem_index: str = ""
    problem_version: str = ""
    subject: str = ""
    subfield: str = ""
    query_wo: str = ""
    query_cot: str = ""


def question(row: Row, place: Place) -> Question:
    choices = dict(CHOICE.findall(row.question.rpartition("Choices:")[2])) or {letter: letter for letter in "ABCD"}
    kinds = ("problem_version", "question_type", "subject", "subfield")
    return Question(
        id=row.sample_index,
        text=row.question,
        images=(row.image,) if row.image else (),
        references=(row.answer.strip(),),
        choices=choices if row.question_type == "multi-choice" else {},
        groups={kind: value for kind in kinds if (value := getattr(row, kind))},
        cluster=row.problem_index or row.sample_index,
        row=row,
    )


def ours(question: Question) -> str:
    form = "letter of your choice" if question.choices else "final value"
    return f"{question.text or 'The question is in the image.'}\nAnswer with the {form} alone."


BENCHMARK = Benchmark(
    name="mathverse",
    load=tables(
        Row,
        Form("{split}.json", columns=COLUMNS, home=HOME),
        Form(("{split}.parquet", "data/{split}-*.parquet"), columns=COLUMNS, home=HUB),
        Form("MathVerse_{split}.tsv", columns={"sample_index": "index"}, splits={"testmini": "MINI"}),
        question=question,
        split="testmini",
    ),
    prompt=Prompt(ours),
    prompt_forms={
        "official": Prompt(lambda question: question.row_as(Row).query_wo or question.text),
        "official_step_by_step": Prompt(lambda question: question.row_as(Row).query_cot or question.text),
        "vlmevalkit": Prompt(),
    },
    parse=formula,
    metrics=(
        Metric("accuracy", right_choice_or_maths, "the choice, or the same value; published scores are of a judge"),
        Metric("quick_match", best_of(equal_stripped), "the reply is the reference", read=verbatim),
    ),
    totals=(Total("mean_of_versions", mean_over("problem_version"), "the mean over versions"),),
    breakdowns=(Breakdown("problem_version", order=VERSIONS), "question_type", "subject", "subfield"),
)
