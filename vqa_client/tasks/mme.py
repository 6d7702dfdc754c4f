"""MME: fourteen tasks of perception and cognition, two questions about each image, one answered yes and one no.

Data: the folders of the release, the hub's Parquet, or VLMEvalKit's MME.tsv. A row:

    {"question_id": "OCR/0020.png", "image": {...}, "question": "Is it a shop?", "answer": "Yes", "category": "OCR"}

Published: for each task the share of right questions plus the share of images with both right, in per cent; added up,
at most 2,000 points for perception and 800 for cognition (Fu et al., 2023).
"""

from typing import Any

from msgspec import Struct

from vqa_client.aggregates import Aggregate
from vqa_client.benchmark import ALL_RIGHT, MEAN, Benchmark, Breakdown, Combined, Form, Home, Metric, Over, Picture
from vqa_client.benchmark import Place, Prompt, Question, Scored, Total, best_of, equal, mean_over, tables, yes_no, yorn
from vqa_client.images.find import picture_of
from vqa_client.prompt import SHORT_PROMPT
from vqa_client.scoring.published import yes_no_readers as rules

HUB = Home("hf://lmms-lab-encoder/MME", "for research only", megabytes=900)
MOST = {"perception": 2000, "cognition": 800}
ENDING = " Please answer yes or no."


class Row(Struct):
    question_id: str
    image: Picture
    question: str
    answer: str
    category: str


def question(row: Row, place: Place) -> Question:
    text = row.question.strip().removesuffix(ENDING.strip()).rstrip()
    return Question(
        id=f"{row.question_id}: {text}",
        text=text,
        images=(row.image,),
        references=(row.answer.lower().strip(" ."),),
        groups={"task": row.category, "ability": "cognition" if row.category in rules.COGNITION else "perception"},
        cluster=f"{row.category}/{row.question_id}",
    )


def line_question(row: rules.ImageLine, place: Place) -> Question:
    image, task = picture_of(place.path, rules.APART)
    return question(Row(f"{task}/{image.rpartition('/')[2]}", image, row.question, row.answer, task), place)


IMAGES = mean_over(lambda scored: scored.question.cluster, ALL_RIGHT)


def points(ability: str = "") -> Aggregate:
    def task(scored: Scored) -> Any:
        return scored.question.groups["task"] if ability in ("", scored.question.groups["ability"]) else None

    of_task = Combined((MEAN, IMAGES), lambda questions, images: 100 * (questions + images))
    return Over(task, of_task, lambda tasks: sum(tasks.values()))


BENCHMARK = Benchmark(
    name="mme",
    load=tables(
        Row,
        Form("data/{split}-*.parquet", home=HUB),
        Form("MME.tsv", columns={"question_id": "image_path"}),
        Form(
            (f"*/{rules.APART}/*.txt", "*/*.txt"),
            row=rules.ImageLine,
            question=line_question,
            header=("question", "answer"),
        ),
        question=question,
    ),
    prompt="{question}\nAnswer yes or no.",
    prompt_forms={
        **dict.fromkeys(("official", "vlmevalkit"), Prompt("{question}" + ENDING)),
        "lmms_eval": Prompt(SHORT_PROMPT, max_tokens=16),
    },
    parse=yes_no,
    metrics=(
        Metric("accuracy", best_of(equal), "says rightly yes or no"),
        Metric("published", best_of(equal), "one of the words in the first four characters", read=rules.mme),
        Metric("lmms_eval", best_of(equal), 'the same of the stripped reply; or "y" or "n"', read=rules.lmms_mme),
        Metric("vlmevalkit", best_of(equal), "VLMEvalKit: one of the words, not the other", read=yorn),
    ),
    headline="points",
    totals=(
        Total("points", points(), "accuracy and accuracy+ of each task, added up", most=2800),
        *(Total(name, points(name), "the same of its tasks", most=most) for name, most in MOST.items()),
        Total("accuracy_plus", IMAGES, "images with both questions right"),
    ),
    breakdowns=("ability", Breakdown("task", order=(*rules.PERCEPTION, *rules.COGNITION))),
)
