"""DocVQA: questions on scanned pages, answered with words from the page.

Data: val_v1.0.json beside documents/ (the portal of the Robust Reading Competition, after registration), the hub's
Parquet, or VLMEvalKit's DocVQA_VAL.tsv. A row:

    {"questionId": 90001, "question": "What is the date?", "question_types": ["handwritten"],
     "image": "documents/abcd0001_1.png", "ucsf_document_id": "abcd0001", "answers": ["3 May 1999"]}

Published: ANLS (Mathew et al., WACV 2021). The test server's own program is not public: "published" is what lmms-eval
computes, and "vlmevalkit" differs by spaces around the reply. The answers of the test split are not public:
--submission writes the file for its server.
"""

from typing import Any

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, ColumnNames, Form, Home, Metric, Picture, Prompt, Scored, Submission
from vqa_client.benchmark import best_of, short_answer, tables, verbatim
from vqa_client.prompt import SHORT_PROMPT
from vqa_client.scoring.published.anls import anls, anls_stripped, exact

PORTAL = Home("https://rrc.cvc.uab.es/?ch=17", "terms of the portal", megabytes=9000)
HUB = Home("hf://lmms-lab-encoder/DocVQA", "terms of the portal", megabytes=9000)
COLUMNS = {"id": "questionId", "text": "question", "images": "image", "references": "answers"}
PAGE_COLUMNS: ColumnNames = {
    **COLUMNS,
    "question_type": "question_types",
    "cluster": Beside("{ucsf_document_id}_{ucsf_document_page_no}"),
}
TSV_COLUMNS = {"id": "index", "text": "question", "images": "image", "references": "answer"}


class Row(Struct):
    id: str
    text: str
    images: tuple[Picture, ...]
    references: tuple[str, ...] = ()
    question_type: tuple[str, ...] = ()
    cluster: str = ""


def entry(scored: Scored) -> dict[str, Any]:
    return {"questionId": int(scored.question.id), "answer": scored.answer or ""}


PROMPT_FORMS = {"lmms_eval": Prompt(SHORT_PROMPT, max_tokens=32), "vlmevalkit": Prompt(SHORT_PROMPT)}
METRICS = (
    Metric("anls", best_of(anls), "how near the answer is to the nearest reference, 0 below 0.5"),
    Metric("exact", best_of(exact), "the same words"),
    Metric("published", best_of(anls_stripped), "ANLS of the whole reply", read=verbatim),
    Metric("vlmevalkit", best_of(anls), "ANLS of the whole reply and the spaces around it", read=verbatim),
)
BENCHMARK = Benchmark(
    name="docvqa",
    load=tables(
        Row,
        Form("{split}_v1.0*.json", columns=PAGE_COLUMNS, records="data", home=PORTAL),
        Form("DocVQA/{split}-*.parquet", columns=PAGE_COLUMNS, splits={"val": "validation"}, home=HUB),
        Form("DocVQA_{split}.tsv", columns=TSV_COLUMNS, splits={"val": "VAL", "test": "TEST"}),
        split="val",
    ),
    prompt="{question}\nAnswer with words of the page, as few as possible.",
    prompt_forms=PROMPT_FORMS,
    parse=short_answer,
    measure="ANLS",
    metrics=METRICS,
    breakdowns=("question_type",),
    unit="page",
    submission=Submission(entry),
)
