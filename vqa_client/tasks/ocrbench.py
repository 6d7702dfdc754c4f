"""OCRBench: 1,000 questions on reading text, from single words to key information and formulas.

Data: OCRBench.json beside OCRBench_Images/ (https://github.com/Yuliang-Liu/MultimodalOCR, MIT), the hub's Parquet, or
VLMEvalKit's OCRBench.tsv. A row:

    {"dataset_name": "IIIT5K", "id": 1, "image_path": "IIIT5K/test/1_1.png", "question": "what is written?",
     "answers": ["LAMP"], "type": "Regular Text Recognition"}

Published: points, one for each reply that contains an answer (Liu et al., 2023, example.py); lmms-eval reads full-width
characters as ASCII. Some images come from sources with other licences.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, ColumnNames, Form, Home, Metric, Picture, Place, Prompt, Question
from vqa_client.benchmark import Sums, Total, only_in, tables, verbatim, whole_reply

HOME = Home("https://github.com/Yuliang-Liu/MultimodalOCR", "MIT", megabytes=90)
HUB = Home("hf://echo840/OCRBench", "MIT", megabytes=90)
COLUMNS: ColumnNames = {"dataset": "dataset_name", "image": Beside("OCRBench_Images/{image_path}")}
FORMULAS: Final = "HME100k"
"""The dataset of handwritten formulas, where spaces never count and case does."""
FORMULA_TYPE: Final = "Handwritten Mathematical Expression Recognition"
RECOGNITION: Final = (
    "Regular Text Recognition",
    "Irregular Text Recognition",
    "Artistic Text Recognition",
    "Handwriting Recognition",
    "Digit String Recognition",
    "Non-Semantic Text Recognition",
)
"""The types that are reported together as text recognition."""
_HALF_WIDTH: Final = {0xFF00 + sign: 0x20 + sign for sign in range(1, 0x5F)} | {0x3000: " "}


class Row(Struct):
    question: str
    answers: tuple[str, ...]
    type: str
    image: Picture
    id: str = ""
    dataset: str = ""


def question(row: Row, place: Place) -> Question:
    row.dataset = row.dataset or (FORMULAS if row.type == FORMULA_TYPE else "")
    return Question(
        id=row.id or str(place.number + 1),
        text=row.question,
        images=(row.image,),
        references=row.answers,
        groups={"type": row.type},
        cluster=row.image,
        row=row,
    )


def contains(answer: str, reference: str, dataset: str) -> float:
    """OCRBench: 1 where the reference is in the reply; the empty one always is."""
    prepared = unspaced if dataset == FORMULAS else line
    return float(prepared(reference) in prepared(answer))


def contains_half_width(answer: str, reference: str, dataset: str) -> float:
    """The same in lmms-eval, where full-width signs are those of ASCII but in formulas."""
    if dataset != FORMULAS:
        answer, reference = answer.translate(_HALF_WIDTH), reference.translate(_HALF_WIDTH)
    return contains(answer, reference, dataset)


def one_line(text: str) -> str:
    return text.strip().replace("\n", " ")


def line(text: str) -> str:
    return one_line(text.lower())


def unspaced(text: str) -> str:
    return one_line(text).replace(" ", "")


def scored_by(rule: Callable[[str, str, str], float]) -> Callable[[str, Question], float]:
    """The best score over the references."""
    return lambda answer, question: max(rule(answer, right, question.row.dataset) for right in question.references)


POINTS = Sums(lambda scored: (scored.score,), lambda points: points)
BENCHMARK = Benchmark(
    name="ocrbench",
    load=tables(
        Row,
        Form("OCRBench.json", columns=COLUMNS, home=HOME),
        Form("data/test-*.parquet", columns={"answers": "answer", "type": "question_type"}, home=HUB),
        Form("OCRBench.tsv", columns={"answers": "answer", "type": "category", "id": "index"}),
        question=question,
    ),
    prompt="{question}",
    prompt_forms={
        "lmms_eval": Prompt(lambda question: question.text.strip(), max_tokens=128),
        "vlmevalkit": Prompt(),
    },
    parse=whole_reply,
    measure="share of points",
    metrics=(
        Metric("accuracy", scored_by(contains), "an answer is in the reply"),
        Metric("published", scored_by(contains), "the same with all that the model wrote, thoughts too", read=verbatim),
        Metric("lmms_eval", scored_by(contains_half_width), "with full-width signs as those of ASCII", read=verbatim),
    ),
    totals=(
        Total("points", POINTS, "right replies", most=1000),
        Total(
            "recognition", only_in("type", *RECOGNITION, inner=POINTS), "right replies of text recognition", most=300
        ),
    ),
    headline="points",
    breakdowns=("type",),
)
