"""InfographicVQA: questions on infographics, answered with words or numbers from the picture.

Data: infographicsVQA_val_v1.0.json with the pictures in --images (the portal of the Robust Reading Competition, after
registration), the hub's Parquet, or VLMEvalKit's InfoVQA_VAL.tsv. A row:

    {"questionId": 98, "question": "Which colour leads?", "image_local_name": "12345.jpeg", "answers": ["red"],
     "answer_type": ["single span"], "operation/reasoning": []}

Published: ANLS (Mathew et al., WACV 2022), with the metrics of DocVQA. The answers of the test split are not public:
--submission writes the file for its server.
"""

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Form, Picture, Submission, short_answer, tables
from vqa_client.tasks.docvqa import COLUMNS, HUB, METRICS, PORTAL, PROMPT_FORMS, TSV_COLUMNS, entry

PICTURE_COLUMNS = {**COLUMNS, "operation": "operation/reasoning", "cluster": "image_url"}
PORTAL_COLUMNS = {**PICTURE_COLUMNS, "images": "image_local_name"}


class Row(Struct):
    id: str
    text: str
    images: tuple[Picture, ...]
    references: tuple[str, ...] = ()
    answer_type: tuple[str, ...] = ()
    operation: tuple[str, ...] = ()
    cluster: str = ""


BENCHMARK = Benchmark(
    name="infovqa",
    load=tables(
        Row,
        Form("infographicsVQA_{split}_v1.0*.json", columns=PORTAL_COLUMNS, records="data", home=PORTAL),
        Form("InfographicVQA/{split}-*.parquet", columns=PICTURE_COLUMNS, splits={"val": "validation"}, home=HUB),
        Form("InfoVQA_{split}.tsv", columns=TSV_COLUMNS, splits={"val": "VAL", "test": "TEST"}),
        split="val",
    ),
    prompt="{question}\nAnswer with words or numbers of the picture, as few as possible.",
    prompt_forms=PROMPT_FORMS,
    parse=short_answer,
    measure="ANLS",
    metrics=METRICS,
    breakdowns=("answer_type", "operation"),
    submission=Submission(entry),
)
