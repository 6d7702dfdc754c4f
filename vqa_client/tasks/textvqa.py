"""TextVQA: questions that need the text in a photograph, with ten answers each.

Data: TextVQA_0.5.1_val.json beside train_images/, for test beside test_images/ (https://textvqa.org, CC BY 4.0), the
hub's Parquet, or VLMEvalKit's TextVQA_VAL.tsv. A row:

    {"question": "what does it say?", "image_id": "00aa", "answers": ["stop", "stop sign", ...], "question_id": 34602}

Published: VQA accuracy over ten answers with the normaliser of the challenge on EvalAI (Singh et al., CVPR 2019). The
answers of the test split are not public: --submission writes the file for its server.
"""

from typing import Any

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, Form, Home, Metric, Picture, Place, Prompt, Question, Scored
from vqa_client.benchmark import Submission, short_answer, tables, verbatim
from vqa_client.prompt import SHORTLY, SHORT_PROMPT
from vqa_client.scoring.vqa_accuracy import most_given, soft
from vqa_client.scoring.vqa_normalise import evalai, vlmevalkit

HOME = Home("https://textvqa.org/dataset", "CC BY 4.0", megabytes=7000)
HUB = Home("hf://lmms-lab-encoder/textvqa", "CC BY 4.0", megabytes=9000)
COLUMNS = {"image": Beside("train_images/{image_id}.jpg")}
TSV_COLUMNS = {"question_id": "index", "answers": "answer"}


class Row(Struct):
    question: str
    question_id: str
    image: Picture
    answers: tuple[str, ...] = ()
    image_id: str = ""


def question(row: Row, place: Place) -> Question:
    image = row.image.replace("/train_images/", "/test_images/") if place.split == "test" else row.image
    return Question(
        id=row.question_id,
        text=row.question,
        images=(image,),
        references=row.answers,
        cluster=row.image_id or row.image,
    )


def entry(scored: Scored) -> dict[str, Any]:
    return {"question_id": int(scored.question.id), "answer": evalai(scored.answer or "")}


METRICS = (
    Metric("accuracy", soft(evalai), "how many of the ten gave the answer, 1 from three on", normalise=evalai),
    Metric("published", soft(evalai), "the same of the whole reply", read=verbatim, normalise=evalai),
    Metric("vlmevalkit", soft(vlmevalkit), "with the normaliser of VLMEvalKit", read=verbatim, normalise=vlmevalkit),
)
BENCHMARK = Benchmark(
    name="textvqa",
    load=tables(
        Row,
        Form("TextVQA_0.5.1_{split}.json", columns=COLUMNS, records="data", home=HOME),
        Form("data/{split}-*.parquet", splits={"val": "validation"}, home=HUB),
        Form("TextVQA_{split}.tsv", columns=TSV_COLUMNS, splits={"val": "VAL"}),
        question=question,
        split="val",
    ),
    prompt="{question}\nAnswer with as few words as possible.",
    prompt_forms={
        "lmms_eval": Prompt(lambda question: f"{question.text.capitalize()}\n{SHORTLY}"),
        "vlmevalkit": Prompt(SHORT_PROMPT),
    },
    parse=short_answer,
    measure="VQA accuracy",
    metrics=METRICS,
    ideal_reply=most_given,
    submission=Submission(entry),
)
