"""CharXiv: charts of scientific papers, with four descriptive questions and one of reasoning for each.

Data: descriptive_val.json, reasoning_val.json and image_metadata_val.json beside images/, or the hub's val.parquet
(code Apache-2.0, questions CC BY-SA 4.0, the charts are their authors'). Rows:

    "0": {"figure_id": 0, "num_subplots": 2, "subplot_loc": [1, 2], "qids": [7, 13, 11, 15], "answers": ["60", ...]}
    "0": {"figure_id": 0, "query": "Which curve is higher?", "answer": "a", "inst_category": 1, "qa_source": 1}

Published: the share of answers that GPT-4o finds right (Wang et al., NeurIPS 2024). Here a stricter rule decides: the
same words, or the same number. The authors number their descriptive questions; we word them ourselves.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, Columns, Form, Home, Join, Judge, Metric, Picture
from vqa_client.benchmark import Place, Question, Total, best_of, only, short_answer, tables
from vqa_client.scoring.published import charxiv as kinds


class Row(Struct):
    figure: str
    image: Picture
    category: str = ""
    year: str = ""
    num_subplots: int = 0
    subplot_loc: Any = None
    subplot_row: int = 0
    subplot_col: int = 0
    qids: tuple[int, ...] = ()
    answers: tuple[str, ...] = ()
    query: str = ""
    answer: str = ""
    answer_type: int = 0
    qa_source: int = 0


def question(row: Row, place: Place) -> Iterator[Question]:
    figure = row.figure.rpartition("/")[2].partition(".")[0]
    location = row.subplot_loc or (row.subplot_row, row.subplot_col)
    chart = kinds.about(row.category, row.year, row.num_subplots)

    def asked(id: str, text: str, answer: str, kind: dict[str, str]) -> Question:
        groups: dict[str, str | tuple[str, ...]] = {**chart, **kind}
        return Question(id=id, text=text, images=(row.image,), references=(answer,), groups=groups, cluster=figure)

    for at, (number, answer) in enumerate(zip(row.qids, row.answers, strict=True)):
        yield asked(f"{figure}_{at}", kinds.described(number, location), answer, kinds.of_descriptive(number))
    if row.query:
        text = kinds.instructed(row.query, row.answer_type, row.answer)
        yield asked(figure, text, row.answer, kinds.of_reasoning(row.answer_type, row.qa_source))


def of_half(name: str) -> Any:
    return only(lambda scored: scored.question.groups["half"] == name)


IMAGE = Beside("images/{figure_id}.jpg")
AUTHORS: dict[str, str | Beside] = {"figure": "figure_id", "image": IMAGE, "answer_type": "inst_category"}
HUB: dict[str, str | Columns] = {
    "figure": "figure_path",
    "qids": Columns("descriptive_q1", "descriptive_q2", "descriptive_q3", "descriptive_q4"),
    "answers": Columns("descriptive_a1", "descriptive_a2", "descriptive_a3", "descriptive_a4"),
    "query": "reasoning_q",
    "answer": "reasoning_a",
    "answer_type": "reasoning_a_type",
    "qa_source": "reasoning_q_source",
}
HOME = Home("https://github.com/princeton-nlp/CharXiv", "CC BY-SA 4.0", megabytes=300)
META = Join("image_metadata_{split}.json", on="figure_id", key="key")
BENCHMARK = Benchmark(
    name="charxiv",
    load=tables(
        Row,
        Form(("descriptive_{split}.json", "reasoning_{split}.json"), columns=AUTHORS, join=META, home=HOME),
        Form("{split}.parquet", columns=HUB, home=Home("hf://princeton-nlp/CharXiv", "CC BY-SA 4.0", megabytes=300)),
        question=question,
        split="val",
    ),
    prompt="{question}",
    parse=short_answer,
    metrics=(Metric("exact", best_of(kinds.same), "the same words or number; published scores are of a judge"),),
    totals=tuple(Total(half, of_half(half), f"of the {half} questions") for half in ("descriptive", "reasoning")),
    judge=Judge("correct", lambda question: kinds.rubric(question.groups)),
    breakdowns=("half", "category", "question", "answer_type", "source", "subject", "subplots", "year"),
)
