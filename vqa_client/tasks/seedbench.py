"""SEED-Bench, the image part: four choices, nine kinds of questions.

Data: the authors' SEED-Bench.json beside SEED-Bench-image/, the hub's Parquet, or VLMEvalKit's SEEDBench_IMG.tsv,
whose question ids are different. Questions on videos are left out. A row:

    {"question_id": "101669", "question": "How many towels are there?", "choice_a": "One", "choice_b": "Two",
     "choice_c": "Three", "choice_d": "Four", "answer": "A", "data_type": "image", "data_id": "1454426_2591111986",
     "question_type_id": 5}

Published: accuracy over all and by kind (Li et al., CVPR 2024, section 4); the official script ranks the choices by
their loss, which chat endpoints don't give.
"""

from typing import Any

from vqa_client.benchmark import Benchmark, Beside, ColumnNames, Columns, Form, Home, LeftOut, Picture, Place, Prompt
from vqa_client.benchmark import Question, Scored, Submission, Total, choice, mean_over, tables
from vqa_client.scoring.published.choice_readers import lmms_seedbench
from vqa_client.tasks.choices import CHOICE_PROMPT, KIT_PROMPT, LETTERED, LMMS_PROMPT, OURS, VLMEVALKIT, ChoiceRow
from vqa_client.tasks.choices import lmms_eval

HOME = Home("github.com/AILab-CVC/SEED-Bench", "CC BY-NC 4.0")
HUB = Home("hf://lmms-lab-encoder/SEED-Bench", "CC BY-NC 4.0")
CHOICES: ColumnNames = {"options": Columns("choice_a", "choice_b", "choice_c", "choice_d")}
COLUMNS: ColumnNames = {**CHOICES, "images": Beside("SEED-Bench-image/{data_id}")}
KINDS = (
    *("Scene Understanding", "Instance Identity", "Instance Attributes", "Instance Location", "Instances Counting"),
    *("Spatial Relation", "Instance Interaction", "Visual Reasoning", "Text Understanding"),
)


class Row(ChoiceRow):
    question_id: str
    images: tuple[Picture, ...]
    answer: str
    question_type_id: int = 0
    category: str = ""
    data_type: str = "image"


def question(row: Row, place: Place) -> Question | LeftOut:
    if row.data_type != "image":
        return LeftOut(row.data_type, row.question_id)
    kind = row.category or dict(enumerate(KINDS, 1)).get(row.question_type_id, f"kind {row.question_type_id}")
    return Question(
        id=row.question_id,
        text=row.question,
        images=row.images,
        choices=row.choices(),
        references=(row.answer,),
        groups={"kind": kind},
        cluster="".join(row.images[:1]),
    )


def entry(scored: Scored) -> dict[str, Any]:
    return {"question_id": scored.question.id, "prediction": scored.answer}


BENCHMARK = Benchmark(
    name="seedbench",
    load=tables(
        Row,
        Form("SEED-Bench.json", columns=COLUMNS, records="questions", home=HOME),
        Form("data/{split}-*.parquet", columns={**CHOICES, "images": "image"}, home=HUB),
        Form("SEEDBench_IMG.tsv", columns={**LETTERED, "images": "image", "question_id": "index"}),
        question=question,
    ),
    prompt=CHOICE_PROMPT,
    prompt_forms={"lmms_eval": Prompt(LMMS_PROMPT), "vlmevalkit": KIT_PROMPT},
    parse=choice,
    metrics=(OURS, VLMEVALKIT, lmms_eval(lmms_seedbench)),
    totals=(Total("by_kind", mean_over("kind"), "the mean over kinds of questions"),),
    breakdowns=("kind",),
    submission=Submission(entry, form="lines"),
    labels=tuple("ABCD"),
)
