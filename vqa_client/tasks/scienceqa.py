"""ScienceQA: school science, with two to five choices; half of the questions have an image.

Data: the authors' problems.json beside images/, the hub's Parquet, or VLMEvalKit's ScienceQA_TEST.tsv, which has only
the questions with an image; --images_only asks the same of the other two. A row (its answer counts from 0):

    {"12": {"question": "Which is soft?", "choices": ["rock", "pillow"], "answer": 1, "hint": "", "image": "image.png",
     "grade": "grade3", "subject": "natural science", "topic": "physics", "split": "test"}}

Published: accuracy by subject, context, grades and topic (Lu et al., NeurIPS 2022); what isn't read is drawn, seed 10.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from vqa_client.benchmark import ASKS, Benchmark, Beside, Breakdown, ColumnNames, Form, Home, Picture, Place, Question
from vqa_client.benchmark import ChoiceSettings, Shots, choice, tables
from vqa_client.scoring.published import choice_readers as readers
from vqa_client.settings.validation import Switch
from vqa_client.tasks.choices import CHOICE_PROMPT, DRAW_TOTALS, KIT_PROMPT, LETTERED, LMMS_PROMPT, OURS, VLMEVALKIT
from vqa_client.tasks.choices import ChoiceRow, letter_of, lmms_eval, prompt_from, published_draws

HUB = Home("hf://lmms-lab-encoder/ScienceQA", "CC BY-NC-SA 4.0")
COLUMNS: ColumnNames = {"id": "key", "options": "choices", "image": Beside("images/{split}/{key}/{image}")}
TSV_COLUMNS: ColumnNames = {**LETTERED, "id": "index", "subject": "category"}
SPLITS = {"test": "TEST", "val": "VAL"}
OFFICIAL = "Question: {question}\nContext: {hint}\nOptions: {choices}\nAnswer:"


class Row(ChoiceRow):
    answer: str
    image: Picture | None = None
    id: str = ""
    split: str = ""
    subject: str = ""
    grade: str = ""
    topic: str = ""


def question(row: Row, place: Place, *, images_only: bool) -> Iterator[Question]:
    if row.split not in ("", place.split) or (images_only and not row.image):
        return
    context = [*(["has_text"] if row.hint else []), *(["has_image"] if row.image else [])]
    grade = int(row.grade.removeprefix("grade") or 0)
    groups = {"subject": row.subject, "grades": "7-12" if grade > 6 else "1-6" if grade else "", "topic": row.topic}
    yield Question(
        id=row.id or f"{place.file}#{place.number}",
        text=row.text(),
        images=(row.image,) if row.image else (),
        choices=row.choices(),
        references=(letter_of(row.answer),),
        groups={name: group for name, group in groups.items() if group} | {"context": tuple(context or ["no_context"])},
        row=row,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Options(ChoiceSettings):
    """Settings of a run on ScienceQA."""

    images_only: Annotated[Switch, ASKS] = False
    """Leave out questions without an image."""


def benchmark(options: Options) -> Benchmark:
    return Benchmark(
        name="scienceqa",
        load=tables(
            Row,
            Form("problems.json", columns=COLUMNS),
            Form(("ScienceQA-FULL/{split}-*.parquet", "{split}-*.parquet"), columns={"options": "choices"}, home=HUB),
            Form("ScienceQA_{split}.tsv", columns=TSV_COLUMNS, splits=SPLITS),
            Form("ScienceQA-IMG/{split}-*.parquet", columns={"options": "choices"}),
            question=partial(question, images_only=options.images_only),
        ),
        prompt=CHOICE_PROMPT,
        prompt_forms={
            "official": prompt_from(OFFICIAL, line="({label}) {text}", between=" ", hint="{hint}", no_hint="N/A"),
            "lmms_eval": prompt_from("{hint}" + LMMS_PROMPT, hint="Context: {hint}\n"),
            "vlmevalkit": KIT_PROMPT,
        },
        parse=choice,
        metrics=(OURS, *published_draws(readers.scienceqa, 10), VLMEVALKIT, lmms_eval(readers.lmms_scienceqa)),
        totals=DRAW_TOTALS,
        shots=Shots("train", same="subject"),
        breakdowns=("subject", "context", Breakdown("grades", ("1-6", "7-12")), "topic"),
        ideal_reply=lambda question: "{0}. The answer is {0}.".format(question.references[0]),
        labels=tuple("ABCDE"),
    )
