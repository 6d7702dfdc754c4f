"""VizWiz-VQA: questions that blind people asked about their photographs, some of which can't be answered.

Data: val.json beside val/ (https://vizwiz.org, CC BY 4.0), the hub's Parquet, or VLMEvalKit's VizWiz.tsv, whose ids
are different. A row:

    {"image": "VizWiz_val_00000001.jpg", "question": "What is this?", "answers": [{"answer_confidence": "yes",
     "answer": "stop"}, ...], "answer_type": "other", "answerable": 1}

Published: VQA accuracy over ten answers (Gurari et al., CVPR 2018), normalised as on EvalAI. The answers of the test
split are not public: --submission writes the file for its server.
"""

from typing import Any

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, ColumnNames, Form, Home, Picture, Place, Prompt, Question, Scored
from vqa_client.benchmark import Submission, short_answer, tables
from vqa_client.scoring.vqa_accuracy import HumanAnswer, most_given, texts
from vqa_client.scoring.vqa_normalise import evalai
from vqa_client.tasks.okvqa import SHORT
from vqa_client.tasks.textvqa import METRICS

HOME = Home("https://vizwiz.org/tasks-and-datasets/vqa", "CC BY 4.0", megabytes=5000)
HUB = Home("hf://lmms-lab-encoder/VizWiz-VQA", "CC BY 4.0", megabytes=5000)
COLUMNS: ColumnNames = {"id": "image", "image": Beside("val/{image}"), "kind": "answer_type"}


class Row(Struct):
    id: str
    image: Picture
    question: str
    answers: tuple[HumanAnswer | str, ...] = ()
    kind: str = ""


def question(row: Row, place: Place) -> Question:
    image = row.image.replace(f"/val/VizWiz_{place.split}_", f"/{place.split}/VizWiz_{place.split}_")
    answerable = "no" if row.kind == "unanswerable" else "yes"
    return Question(
        id=row.id.removesuffix(".jpg"),
        text=row.question,
        images=(image,),
        references=tuple(texts(row.answers)),
        groups={"answer_type": row.kind, "answerable": answerable} if row.kind else {},
        cluster=image,
    )


def entry(scored: Scored) -> dict[str, Any]:
    return {"image": f"{scored.question.id}.jpg", "answer": evalai(scored.answer or "")}


BENCHMARK = Benchmark(
    name="vizwiz",
    load=tables(
        Row,
        Form("{split}.json", columns=COLUMNS, home=HOME),
        Form("data/{split}-*.parquet", columns={"id": "question_id", "kind": "category"}, home=HUB),
        Form("VizWiz.tsv", columns={"id": "index"}),
        question=question,
        split="val",
    ),
    prompt="{question}\nAnswer with as few words as possible; say unanswerable where the photograph doesn't tell.",
    prompt_forms={
        "lmms_eval": Prompt(lambda question: f"{question.text.capitalize()}\n{SHORT}"),
        "vlmevalkit": Prompt(),
    },
    parse=short_answer,
    measure="VQA accuracy",
    metrics=METRICS,
    breakdowns=("answer_type", "answerable"),
    ideal_reply=most_given,
    submission=Submission(entry),
)
