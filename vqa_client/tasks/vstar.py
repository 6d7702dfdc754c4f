"""V*Bench: small details in large photographs, colours and places, with two to four choices.

Data: the authors' test_questions.jsonl beside its folders of images, the hub's Parquet, or VLMEvalKit's VStarBench.tsv.
A row, whose text contains the choices and how to answer:

    {"question_id": "0", "image": "direct_attributes/sa_4690.jpg", "category": "direct_attributes", "label": "A",
     "text": "Which colour is the cup?\\n(A) red\\n(B) blue\\nAnswer with the option's letter from the ..."}

Published: accuracy over all and by category (Wu and Xie, CVPR 2024, section 5); the official script ranks the choices
by their loss, which chat endpoints don't give.
"""

import re

from vqa_client.benchmark import Benchmark, Form, Home, Picture, Place, Prompt, Question, choice, tables
from vqa_client.scoring.published.choice_readers import lmms_vstar
from vqa_client.tasks.choices import CHOICE_PROMPT, DIRECTLY, KIT_PROMPT, LETTERED, LMMS_PROMPT, OURS, VLMEVALKIT
from vqa_client.tasks.choices import ChoiceRow, lmms_eval, split_choices

HUB = Home("hf://craigwu/vstar_bench", "MIT", megabytes=350)
COLUMNS = {"id": "question_id", "question": "text", "answer": "label"}
LETTER = re.compile(r"\s\(([A-D])\) ?")


class Row(ChoiceRow):
    id: str
    image: Picture
    answer: str
    category: str


def question(row: Row, place: Place) -> Question:
    text, choices = split_choices(row.question.partition(f"\n{DIRECTLY}")[0], LETTER)
    return Question(
        id=row.id,
        text=text,
        images=(row.image,),
        choices=row.choices() or choices,
        references=(row.answer,),
        groups={"category": row.category},
        cluster=row.image,
    )


BENCHMARK = Benchmark(
    name="vstar",
    load=tables(
        Row,
        Form("test_questions.jsonl", columns=COLUMNS, home=HUB),
        Form("data/{split}-*.parquet", columns=COLUMNS),
        Form("VStarBench.tsv", columns={**LETTERED, "id": "index"}),
        question=question,
    ),
    prompt=CHOICE_PROMPT,
    prompt_forms={"lmms_eval": Prompt(f"{LMMS_PROMPT}\n{DIRECTLY}", max_tokens=16), "vlmevalkit": KIT_PROMPT},
    parse=choice,
    metrics=(OURS, VLMEVALKIT, lmms_eval(lmms_vstar)),
    breakdowns=("category",),
    labels=tuple("ABCD"),
)
