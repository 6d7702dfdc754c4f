"""OCRBench v2: 10,000 questions on reading, locating, parsing and reasoning with text, in English and Chinese.

Data: OCRBench_v2.json beside its pictures (https://github.com/Yuliang-Liu/MultimodalOCR, MIT), the hub's Parquet, or
VLMEvalKit's OCRBench_v2.tsv. A row:

    {"dataset_name": "a set", "id": 1, "image_path": "a/1.png", "type": "text counting en", "question": "How many?",
     "answers": [4], "eval": "regression"}

Published: the mean over groups of tasks, for each language (Fu et al., 2025). Only the text tasks are scored here, by
their own rules: tables, boxes, whole pages and translations need other programs and are in no score.
"""

from typing import Any

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, Breakdown, Form, Home, Metric, Picture, Place, Question, Scored
from vqa_client.benchmark import Total, mean_over, tables, verbatim, whole_reply
from vqa_client.scoring.published.ocrbench import GROUPS, v2_score
from vqa_client.tables.pictures import literal


class Row(Struct):
    id: str
    question: str
    type: str
    answers: Any
    image: Picture
    eval: str = ""


def question(row: Row, place: Place) -> Question:
    row.answers = (literal(row.answers) if isinstance(row.answers, str) else None) or row.answers
    answers = row.answers if isinstance(row.answers, list) else [row.answers]
    kind, _, language = row.type.rpartition(" ")
    return Question(
        id=row.id,
        text=row.question,
        images=(row.image,),
        references=tuple(map(str, answers)),
        groups={"task": kind, "language": language, "group": GROUPS.get(kind, ())},
        cluster=row.image,
        row=row,
    )


def right(said: str, question: Question) -> float | None:
    kind, _, language = question.row.type.rpartition(" ")
    single = not isinstance(question.row.answers, list)
    return v2_score(said, question, kind, language, question.row.eval, single=single)


def group_of(language: str) -> Any:
    def of(scored: Scored) -> Any:
        return scored.question.groups["group"] if scored.question.groups["language"] == language else None

    return mean_over(of)


COLUMNS = {"id": "index", "answers": "answer", "type": "category"}
BENCHMARK = Benchmark(
    name="ocrbench-v2",
    load=tables(
        Row,
        Form(
            "OCRBench_v2.json",
            columns={"image": Beside("{image_path}")},
            home=Home("https://github.com/Yuliang-Liu/MultimodalOCR", "MIT", megabytes=8000),
        ),
        Form("data/test-*.parquet", home=Home("hf://ling99/OCRBench_v2", "MIT", megabytes=8000)),
        Form("OCRBench_v2.tsv", columns=COLUMNS),
        question=question,
    ),
    prompt="{question}",
    parse=whole_reply,
    metrics=(
        Metric("accuracy", right, "by the rule of the task"),
        Metric("published", right, "the same with all that the model wrote, thoughts too", read=verbatim),
    ),
    totals=(
        Total("english", group_of("en"), "mean over the groups of English tasks"),
        Total("chinese", group_of("cn"), "mean over the groups of Chinese tasks"),
    ),
    breakdowns=("group", Breakdown("task", crossed_with="language"), "language"),
)
