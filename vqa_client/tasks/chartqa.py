"""ChartQA: questions on charts, written by people and by a machine; a number is right within 5 %.

Data: test_human.json and test_augmented.json beside png/, the hub's Parquet, or VLMEvalKit's ChartQA_TEST.tsv. A row:

    {"imgname": "41699051005347.png", "query": "How many food items are shown in the bar graph?", "label": "14"}

Published: relaxed accuracy over both halves, and of each (Masry et al., ACL Findings 2022, section 5.1).
"""

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, Form, Home, Metric, Picture, Place, Prompt, Question, best_of
from vqa_client.benchmark import relaxed, relaxed_published, short_answer, tables, verbatim
from vqa_client.prompt import SHORT_PROMPT

HOME = Home("github.com/vis-nlp/ChartQA", "GPL-3.0", megabytes=900)
HUB = Home("hf://lmms-lab-encoder/ChartQA", "GPL-3.0", megabytes=80)
COLUMNS = {"query": "question", "label": "answer"}


class Row(Struct):
    query: str
    label: str
    image: Picture
    half: str = ""


def question(row: Row, place: Place) -> Question:
    half = row.half or place.file
    return Question(
        id=f"{place.file}#{place.number}",
        text=row.query,
        images=(row.image,),
        references=(row.label,),
        groups={"written_by": "people" if "human" in half else "machine" if "augmented" in half else ()},
        cluster=row.image,
    )


BENCHMARK = Benchmark(
    name="chartqa",
    load=tables(
        Row,
        Form(("{split}_human.json", "{split}_augmented.json"), columns={"image": Beside("png/{imgname}")}, home=HOME),
        Form("data/{split}-*.parquet", columns={**COLUMNS, "half": "type"}, home=HUB),
        Form("ChartQA_{split}.tsv", columns={**COLUMNS, "half": "split"}, splits={"test": "TEST"}),
        question=question,
    ),
    prompt="{question}\nAnswer with a single word or number.",
    prompt_forms={
        "lmms_eval": Prompt("{question}\nAnswer the question with a single word.", max_tokens=16),
        "vlmevalkit": Prompt(SHORT_PROMPT),
    },
    parse=short_answer,
    metrics=(
        Metric("relaxed", best_of(relaxed), "a number within 5 %, else the same words"),
        Metric("published", best_of(relaxed_published), "the published rule on the whole reply", read=verbatim),
    ),
    breakdowns=("written_by",),
)
