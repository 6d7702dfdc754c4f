"""OK-VQA: questions on photographs that need knowledge from outside, with ten answers each.

Data: OpenEnded_mscoco_val2014_questions.json with mscoco_val2014_annotations.json beside val2014/
(https://okvqa.allenai.org, CC BY 4.0), or the hub's Parquet. Rows:

    {"image_id": 42, "question": "What sport is this?", "question_id": 425}
    {"question_id": 425, "question_type": "four", "answer_type": "other", "answers": [{"answer": "surf", ...}, ...]}

Published: VQA accuracy by VQA's own evaluator over the stemmed answers (Marino et al., CVPR 2019); lmms-eval normalises
as TextVQA does.
"""

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, Form, Home, Join, Metric, Picture, Place, Prompt, Question
from vqa_client.benchmark import short_answer, tables, verbatim
from vqa_client.prompt import SHORTLY
from vqa_client.scoring.vqa_accuracy import HumanAnswer, most_given, official, soft, texts
from vqa_client.scoring.vqa_normalise import evalai, normalised

HOME = Home("https://okvqa.allenai.org/download.html", "CC BY 4.0", megabytes=6500)
HUB = Home("hf://lmms-lab-encoder/OK-VQA", "CC BY 4.0", megabytes=800)
COLUMNS = {"folder": Beside("val2014")}
ANNOTATIONS = Join("mscoco_val2014_annotations.json", on="question_id", key="question_id", records="annotations")
SHORT = f"When the provided information is insufficient, respond with 'Unanswerable'.\n{SHORTLY}"
"""How lmms-eval ends the prompts of OK-VQA and VizWiz."""


class Row(Struct):
    question_id: str
    question: str
    answers: tuple[HumanAnswer | str, ...]
    question_type: str
    image: Picture = ""
    folder: Picture = ""
    image_id: str = ""


def question(row: Row, place: Place) -> Question:
    image = row.image or f"{row.folder}/COCO_val2014_{row.image_id:0>12}.jpg"
    return Question(
        id=row.question_id,
        text=row.question,
        images=(image,),
        references=tuple(texts(row.answers)),
        groups={"question_type": row.question_type},
        cluster=row.image_id or image,
    )


BENCHMARK = Benchmark(
    name="okvqa",
    load=tables(
        Row,
        Form(
            "OpenEnded_mscoco_val2014_questions.json", columns=COLUMNS, records="questions", join=ANNOTATIONS, home=HOME
        ),
        Form("data/val2014-*.parquet", home=HUB),
        question=question,
    ),
    prompt="{question}\nAnswer with as few words as possible.",
    prompt_forms={"lmms_eval": Prompt(f"{{question}}\n{SHORT}")},
    parse=short_answer,
    measure="VQA accuracy",
    metrics=(
        Metric("accuracy", official, "how many of the ten gave the answer, 1 from three on", normalise=normalised),
        Metric("published", official, "the same of the whole reply", read=verbatim),
        Metric("lmms_eval", soft(evalai), "with the normaliser of TextVQA", read=verbatim, normalise=evalai),
    ),
    breakdowns=("question_type",),
    ideal_reply=most_given,
)
