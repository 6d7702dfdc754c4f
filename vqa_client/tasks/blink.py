"""BLINK: fourteen tasks that people solve at a glance, with up to four images and choices that may be images.

Data: the hub's Parquet, a folder for each task, or VLMEvalKit's BLINK.tsv, whose question ids are different; --split
circular reads BLINK_circular.tsv, in which a rotation of a question is a row whose index is a multiple of 1,000,000
higher. Answers of the test split are not public. A row:

    {"idx": "val_Counting_1", "question": "How many cups are there?", "sub_task": "Counting", "choices": ["0", "1"],
     "image_1": {"bytes": ...}, "answer": "(B)", "prompt": "How many cups ...? Select from ...\\n(A) 0\\n(B) 1"}

Published: accuracy by task, and the mean over the tasks (Fu et al., ECCV 2024, section 4). The official script gives
a reply that its rule can't read to a judge; here it counts as wrong. The disclaimer that it puts before the questions
of Art_Style, Forensic_Detection and Jigsaw is not in the form `official`.
"""

from vqa_client.benchmark import ALL_RIGHT, Benchmark, ColumnNames, Form, Home, Picture, Place, Question, Total, choice
from vqa_client.benchmark import mean_over, tables
from vqa_client.scoring.published.choice_readers import blink as published_letter
from vqa_client.scoring.published.choice_readers import lmms_blink
from vqa_client.tasks.choices import CHOICE_PROMPT, IMAGES, KIT_PROMPT, LETTERED, OURS, VLMEVALKIT, ChoiceRow, lmms_eval
from vqa_client.tasks.choices import original_index, prompt_from, published

HUB = Home("hf://BLINK-Benchmark/BLINK", "Apache-2.0")
COLUMNS: ColumnNames = {"id": "idx", "images": IMAGES, "options": "choices", "task": "sub_task"}
TSV_COLUMNS: ColumnNames = {**LETTERED, "id": "index", "images": "image", "task": "category"}
SPLITS = {"val": "BLINK", "circular": "BLINK_circular"}
SELECT = "\nSelect from the following choices.\n"
OFFICIAL = f"{{question}}{SELECT}{{choices}}"
NOTE = "Note: You only need to respond with {letters} without providing any additional information.\n"


class Row(ChoiceRow):
    id: str
    images: tuple[Picture, ...]
    answer: str
    task: str
    prompt: str = ""


def original_id(id: str) -> str:
    """The id of the question that this one is a rotation of; the hub's ids have no rotations."""
    return str(original_index(int(id))) if id.isdecimal() else id


def question(row: Row, place: Place) -> Question:
    return Question(
        id=row.id,
        text=row.prompt.partition(SELECT)[0] or row.question,
        images=row.images,
        choices=row.choices(),
        references=(row.answer.strip("()"),),
        groups={"task": row.task},
        cluster=original_id(row.id) if row.id.isdecimal() else "".join(row.images[:1]),
    )


BENCHMARK = Benchmark(
    name="blink",
    load=tables(
        Row,
        Form(("*/{split}-*.parquet", "{split}-*.parquet"), columns=COLUMNS, home=HUB),
        Form("{split}.tsv", columns=TSV_COLUMNS, splits=SPLITS),
        question=question,
        split="val",
    ),
    prompt=CHOICE_PROMPT,
    prompt_forms={
        "official": prompt_from(OFFICIAL, line="({label}) {text}"),
        "lmms_eval": prompt_from(NOTE + OFFICIAL, line="({label}) {text}"),
        "vlmevalkit": KIT_PROMPT,
    },
    parse=choice,
    metrics=(OURS, published(published_letter), VLMEVALKIT, lmms_eval(lmms_blink)),
    totals=(
        Total("by_task", mean_over("task"), "the mean over tasks, as published"),
        Total(
            "circular",
            mean_over(lambda scored: original_id(scored.question.id), ALL_RIGHT),
            "right in every rotation, where the data has them",
        ),
    ),
    breakdowns=("task",),
    labels=tuple("ABCDE"),
    rotation_of=lambda question: original_id(question.id),
)
