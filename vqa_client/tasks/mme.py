"""MME: fourteen tasks of perception and cognition, two questions about each image, one answered yes and one no.

Data: the hub's Parquet, or VLMEvalKit's MME.tsv. A row:

    {"question_id": "code_reasoning/0020.png", "image": ..., "question": "... Please answer yes or no.",
     "answer": "Yes", "category": "code_reasoning"}

Published: for each task the share of right questions plus the share of images with both right, in per cent; added up,
at most 2,000 points for perception and 800 for cognition (Fu et al., 2023).
"""

from typing import Any

from msgspec import Struct

from vqa_client.aggregates import Aggregate
from vqa_client.benchmark import ALL_RIGHT, MEAN, Benchmark, Breakdown, Combined, Form, Home, Metric, Over, Picture
from vqa_client.benchmark import Place, Prompt, Question, Scored, Total, best_of, mean_over, tables, yes_no, yorn
from vqa_client.scoring.published import mme as rules
from vqa_client.scoring.short_answers import equal

COGNITION = ("commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning")
PERCEPTION = (
    *("existence", "count", "position", "color", "posters", "celebrity", "scene", "landmark", "artwork", "OCR"),
)
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
        groups={"task": row.category, "ability": "cognition" if row.category in COGNITION else "perception"},
        cluster=f"{row.category}/{row.question_id}",
    )


IMAGES = mean_over(lambda scored: scored.question.cluster, ALL_RIGHT)


def points(ability: str = "") -> Aggregate:
    def task(scored: Scored) -> Any:
        groups = scored.question.groups
        return groups["task"] if ability in ("", groups["ability"]) else None

    of_task = Combined((MEAN, IMAGES), lambda questions, images: 100 * (questions + images))
    return Over(task, of_task, lambda tasks: sum(tasks.values()))


BENCHMARK = Benchmark(
    name="mme",
    load=tables(
        Row,
        Form("data/{split}-*.parquet", home=Home("hf://lmms-lab-encoder/MME", "for research only", megabytes=900)),
        Form("MME.tsv", columns={"question_id": "image_path"}),
        question=question,
    ),
    prompt="{question}\nAnswer yes or no.",
    prompt_forms={
        "official": Prompt("{question}" + ENDING),
        "lmms_eval": Prompt("{question}\nAnswer the question using a single word or phrase.", max_tokens=16),
        "vlmevalkit": Prompt("{question}" + ENDING),
    },
    parse=yes_no,
    metrics=(
        Metric("accuracy", best_of(equal), "says rightly yes or no"),
        Metric("published", best_of(equal), "one of the words in the first four characters", read=rules.published),
        Metric("lmms_eval", best_of(equal), 'the same of the stripped reply; or "y" or "n"', read=rules.lmms_eval),
        Metric("vlmevalkit", best_of(equal), "VLMEvalKit: one of the words, not the other", read=yorn),
    ),
    headline="points",
    totals=(
        Total("points", points(), "accuracy and accuracy+ of each task, added up", most=2800),
        Total("perception", points("perception"), "the same of ten tasks", most=2000),
        Total("cognition", points("cognition"), "the same of four tasks", most=800),
        Total("accuracy_plus", IMAGES, "images with both questions right"),
    ),
    breakdowns=("ability", Breakdown("task", order=(*PERCEPTION, *COGNITION))),
)
