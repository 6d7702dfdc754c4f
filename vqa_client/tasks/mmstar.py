"""MMStar: 1,500 questions that need their image, in six categories with three parts each.

Data: the hub's Parquet, or VLMEvalKit's MMStar.tsv, whose choices are columns. A row of the Parquet:

    {"index": 0, "question": "What is it?\\nOptions: A: cat, B: dog, C: cow, D: fox", "image": {"bytes": ...},
     "answer": "B", "category": "math", "l2_category": "geometry"}

Published: right answers divided by 1,500, however many were asked (Chen et al., NeurIPS 2024, section 3); lmms-eval
reports the mean over the parts of the categories.
"""

import re

from vqa_client.benchmark import Benchmark, Form, Home, Picture, Place, Question, Sums, Total, choice, mean_over, tables
from vqa_client.scoring.published.choice_readers import lmms_mcq_abcd
from vqa_client.scoring.published.choice_readers import mmstar as published_letter
from vqa_client.tasks.choices import CHOICE_PROMPT, DIRECTLY, KIT_PROMPT, LETTERED, OURS, VLMEVALKIT, ChoiceRow
from vqa_client.tasks.choices import label_choices, lmms_eval, prompt_from, published, split_choices

HUB = Home("hf://Lin-Chen/MMStar", "no licence stated")
LETTER = re.compile(r"(?:^|, )([A-D]): ")
LMMS_EVAL = f"{{question}}\nOptions: {{choices}}\n{DIRECTLY.rstrip('.')}"


class Row(ChoiceRow):
    index: str
    image: Picture
    answer: str
    category: str
    l2_category: str


def question(row: Row, place: Place) -> Question:
    text, _, options = row.question.partition("\nOptions: ")
    choices = row.choices() or split_choices(options, LETTER)[1]
    return Question(
        id=row.index,
        text=text if choices else row.question,
        images=(row.image,),
        choices=choices or label_choices([""] * 4),
        references=(row.answer,),
        groups={"category": row.category, "part": f"{row.category} ({row.l2_category})"},
        cluster=row.index,
    )


BENCHMARK = Benchmark(
    name="mmstar",
    load=tables(
        Row,
        Form(("mmstar.parquet", "{split}-*.parquet", "data/{split}-*.parquet"), home=HUB),
        Form("MMStar.tsv", columns=LETTERED),
        question=question,
        split="val",
    ),
    prompt=CHOICE_PROMPT,
    prompt_forms={"lmms_eval": prompt_from(LMMS_EVAL, line="{label}: {text}", between=", "), "vlmevalkit": KIT_PROMPT},
    parse=choice,
    metrics=(OURS, published(published_letter), VLMEVALKIT, lmms_eval(lmms_mcq_abcd)),
    totals=(
        Total("of_1500", Sums(lambda scored: (scored.score,), lambda right: right / 1500), "of 1,500, as published"),
        Total("by_category", mean_over("category"), "the mean over categories"),
        Total("by_part", mean_over("part"), "the mean over the parts of categories, as in lmms-eval"),
    ),
    breakdowns=("category", "part"),
    labels=tuple("ABCD"),
)
