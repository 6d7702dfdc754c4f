"""CountBenchQA: how many of something are in a photograph, from two to ten.

Data: the hub's Parquet, whose questions have no ids, or VLMEvalKit's CountBenchQA.tsv. A row:

    {"image": ..., "text": "a photo of three cats", "question": "How many cats are there in the image?", "number": 3}

The caption in `text` gives the answer away: only the form `lmms_eval_captioned` shows it. Published: accuracy (Beyer et
al., PaliGemma, 2024, on the images of CountBench, Paiss et al., ICCV 2023).
"""

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Form, Home, Metric, Picture, Place, Prompt, Question, best_of, tables
from vqa_client.benchmark import verbatim
from vqa_client.scoring.maths import same_maths
from vqa_client.scoring.numbers import number
from vqa_client.scoring.short_answers import equal_stripped
from vqa_client.scoring.number_words import digits_to

HUB = Home("hf://vikhyatk/CountBenchQA", "images from the web", megabytes=30)
DIGITS = {"none": "0", **digits_to(20)}
ONLY_NUMBER = " Note that: answer with a number directly e.g. 3. Do not include any additional text."
COUNT = "Look at the image carefully and count the objects. Answer with just a number, without any additional text. "


class Row(Struct):
    image: Picture
    question: str
    number: str
    caption: str = ""
    index: str = ""


def question(row: Row, place: Place) -> Question:
    return Question(
        id=row.index or f"{place.file}#{place.number}",
        text=row.question,
        images=(row.image,),
        references=(row.number,),
        groups={"number": row.number},
        row=row,
    )


def captioned(question: Question) -> str:
    return f"{question.row_as(Row).caption}\n\n{question.text}\nAnswer with a single number."


def lmms_eval(reply: str, reference: str) -> float:
    word = reply.strip().lower()
    return float(DIGITS.get(word, word) == reference)


def vlmevalkit(reply: str, reference: str) -> float:
    return float(reference in reply)


BENCHMARK = Benchmark(
    name="countbench",
    load=tables(
        Row,
        Form("data/{split}-*.parquet", columns={"caption": "text"}, home=HUB),
        Form("CountBenchQA.tsv", columns={"number": "answer"}),
        question=question,
    ),
    prompt="{question}\nAnswer with the number alone.",
    prompt_forms={
        "lmms_eval": Prompt(COUNT + "{question}", max_tokens=16),
        "lmms_eval_captioned": Prompt(captioned, max_tokens=32),
        "vlmevalkit": Prompt("{question}" + ONLY_NUMBER),
    },
    parse=number,
    metrics=(
        Metric("accuracy", best_of(same_maths), "says the number, in digits or words"),
        Metric("lmms_eval", best_of(lmms_eval), "the number or its word alone", read=verbatim),
        Metric("lmms_eval_qa", best_of(equal_stripped), "the digits alone", read=verbatim),
        Metric("vlmevalkit", best_of(vlmevalkit), "the digits, even within a number", read=verbatim),
    ),
    breakdowns=("number",),
)
