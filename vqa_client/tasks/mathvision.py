"""MATH-Vision: problems of mathematics competitions with a drawing, open or with five choices.

Data: data/test.jsonl or data/testmini.jsonl beside images/, the hub's Parquet, or VLMEvalKit's MathVision.tsv and
MathVision_MINI.tsv, which have no levels. A row:

    {"id": "1", "question": "Which is longest?\\n<image1>", "options": ["A", "B", "C", "D", "E"], "answer": "B",
     "level": 2, "subject": "arithmetic", "image": "images/1.jpg"}

Published: accuracy, also by level and subject (Wang et al., NeurIPS 2024). lmms-eval scores by the same code.
"""

import re

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Breakdown, Columns, Beside, Form, Home, Metric, Picture, Place, Prompt
from vqa_client.benchmark import Question, tables, verbatim
from vqa_client.prompt import choices_text
from vqa_client.scoring.maths import right_choice_or_maths
from vqa_client.scoring.numbers import formula
from vqa_client.scoring.published import mathvision as rules

MARK = re.compile(r"\s*<image ?\d*>")


class Row(Struct):
    id: str
    question: str
    answer: str
    image: Picture
    options: tuple[str, ...] = ()
    level: str = ""
    subject: str = ""


def question(row: Row, place: Place) -> Question:
    return Question(
        id=row.id,
        text=row.question,
        images=(row.image,),
        references=(row.answer,),
        choices=dict(zip("ABCDEFGHIJ", row.options, strict=False)),
        groups={"level": row.level or "unknown", "subject": row.subject or "unknown"},
        cluster=row.image,
    )


def beside_data(row: Row, place: Place) -> Question:
    """The authors' images are beside data/, not in it."""
    row.image = row.image.replace("/data/images/", "/images/")
    return question(row, place)


def asked(question: Question) -> str:
    """Choices that are drawn in the image are only letters, and are not listed."""
    text = MARK.sub("", question.text)
    if not question.choices:
        return f"{text}\nSolve it step by step, and end with \\boxed{{your answer}}."
    drawn = all(label == choice for label, choice in question.choices.items())
    listed = "" if drawn else f"\n{choices_text(question.choices)}"
    return f"{text}{listed}\nSolve it step by step, and end with \\boxed{{the letter of your choice}}."


ASKED: dict[str, str | Columns | Beside] = {"id": "index", "options": "choices", "subject": "category"}
HUB = Home("hf://MathLLMs/MathVision", "MIT", megabytes=300)
KIT = {"test": "MathVision", "testmini": "MathVision_MINI"}
LMMS_EVAL = Prompt(rules.lmms_eval, max_tokens=16384)
BENCHMARK = Benchmark(
    name="mathvision",
    load=tables(
        Row,
        Form("data/{split}.jsonl", question=beside_data, home=Home("github.com/mathvision-cuhk/MATH-V", "MIT", 300)),
        Form("data/{split}-*.parquet", columns={"image": "decoded_image"}, home=HUB),
        Form("{split}.tsv", columns=ASKED, splits=KIT),
        question=question,
    ),
    prompt=Prompt(asked),
    prompt_forms={"official": Prompt(rules.official), "lmms_eval": LMMS_EVAL, "vlmevalkit": Prompt()},
    parse=formula,
    metrics=(
        Metric("accuracy", right_choice_or_maths, "the choice, or the same value, in LaTeX or not"),
        Metric("published", rules.right, "extraction and comparison of the published script", read=verbatim),
        Metric("vlmevalkit", rules.vlmevalkit, "the rules of VLMEvalKit, before it asks a model", read=verbatim),
    ),
    breakdowns=("subject", Breakdown("level", crossed_with="subject")),
)
