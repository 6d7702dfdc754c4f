"""MathVista: mathematics in charts, figures and photographs, with choices or a number as the answer.

Data: testmini.json beside images/, the hub's Parquet, or VLMEvalKit's MathVista_MINI.tsv, without precision. A row:

    "1": {"pid": "1", "question": "What is the slope?", "image": "images/1.jpg", "choices": null, "unit": null,
          "precision": 1.0, "answer": "1.2", "question_type": "free_form", "answer_type": "float", "metadata": {...}}

Published: accuracy after a model has extracted answers (Lu et al., ICLR 2024); "published" uses the script's rules.
"""

from collections.abc import Callable

from vqa_client.benchmark import Answer, Benchmark, Beside, Columns, Form, Home, Judge, Metric, Picture, Place
from vqa_client.benchmark import Prompt, Question, choice, tables, verbatim
from vqa_client.prompt import choices_text
from vqa_client.scoring.maths import right_choice_or_maths
from vqa_client.scoring.numbers import number, numbers
from vqa_client.scoring.published import mathvista as rules
from vqa_client.scoring.reply import Reply


class Row(rules.Problem):
    pid: str
    image: Picture


def question(row: Row, place: Place) -> Question:
    return Question(
        id=row.pid,
        text=row.text,
        images=(row.image,),
        references=(row.label or row.answer,),
        choices=row.labelled,
        groups=row.groups,
        cluster=row.image,
        row=row,
    )


def answer(reply: Reply, question: Question) -> Answer:
    read = choice if question.choices else numbers if question.row_as(Row).answer_type == "list" else number
    return read(reply, question)


def asked(question: Question) -> str:
    if question.choices:
        return f"{question.text}\n{choices_text(question.choices)}\nAnswer with the letter of your choice."
    row = question.row_as(Row)
    amount = {"integer": "a whole number", "list": "a list of numbers in brackets"}.get(row.answer_type)
    return f"{question.text}\nAnswer with {amount or f'a number rounded to {row.places} decimals'} alone."


def by(rule: Callable[[str, rules.Problem], float]) -> Callable[[str, Question], float]:
    return lambda reply, question: rule(reply, question.row_as(Row))


def put(asks: Callable[[rules.Problem], str], max_tokens: int | None = None) -> Prompt:
    return Prompt(lambda question: asks(question.row_as(Row)), max_tokens=max_tokens)


HOME = Home("github.com/lupantech/MathVista", "CC BY-SA 4.0", megabytes=900)
HUB = Home("hf://AI4Math/MathVista", "CC BY-SA 4.0", megabytes=150)
META: dict[str, str | Columns | Beside] = {name: f"metadata.{name}" for name in rules.KINDS[2:]}
BENCHMARK = Benchmark(
    name="mathvista",
    load=tables(
        Row,
        Form(("{split}.json", "data/{split}.json"), columns=META, home=HOME),
        Form("data/{split}-*.parquet", columns={**META, "image": "decoded_image"}, home=HUB),
        Form("MathVista_{split}.tsv", columns={"pid": "index"}, splits={"testmini": "MINI"}),
        question=question,
        split="testmini",
    ),
    prompt=Prompt(asked),
    prompt_forms={
        "official": put(rules.asked_officially),
        "official_solution": put(rules.asked_with_solution, 1024),
        "lmms_eval": put(rules.asked_by_lmms_eval, 1024),
        "vlmevalkit": put(rules.asked_officially),
    },
    parse=answer,
    metrics=(
        Metric("accuracy", right_choice_or_maths, "the choice, or the number to the decimals of the reference"),
        Metric("published", by(rules.right), "the published rules; they leave sentences to a model", read=verbatim),
        Metric("vlmevalkit", by(rules.vlmevalkit), "the rules of VLMEvalKit, before it asks a model", read=verbatim),
    ),
    judge=Judge("extract"),
    ideal_reply=lambda question: question.row_as(Row).answer,
    breakdowns=rules.KINDS,
)
