"""LongDocURL: understanding, reasoning and finding on some thirty pages of a long document.

Data: LongDocURL_public_with_subtask_category.jsonl, or LongDocURL.jsonl, beside pdf_pngs/
(https://github.com/dengc2023/LongDocURL, Apache-2.0, the documents are others'). A row:

    {"question_id": "free_x_4000001_1_2_8", "doc_no": "4000001", "question_type": "calculate", "question": "...",
     "answer": 5, "evidence_pages": [2], "evidence_sources": ["Table"], "answer_format": "Integer",
     "task_tag": "Reasoning", "start_end_idx": [1, 2], "images": ["/any/pdf_pngs/4000-4999/4000/4000001_0.png"]}

Published: generalised accuracy (Deng et al., ACL 2025) of an answer that a model extracts from the reply. Here rules
read it; "published" reads the tags of that extraction if the reply has them, else the whole reply.
"""

from pathlib import Path
from typing import Any

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, Breakdown, Form, Home, Metric, Picture, Place, Prompt, Question
from vqa_client.benchmark import Pages, Sums, Total, short_answer, tables, verbatim
from vqa_client.scoring.published import longdocurl as rules
from vqa_client.scoring.published.longdocurl import interleaved, scored_by
from vqa_client.tables.pictures import below


class Row(Struct):
    question_id: str
    doc_no: str
    question: str
    question_type: str
    answer: Any
    answer_format: str
    task_tag: str
    images: tuple[str, ...]
    folder: Picture
    start_end_idx: tuple[int, ...] = ()
    evidence_pages: tuple[int, ...] = ()
    evidence_sources: tuple[str, ...] = ()


def question(row: Row, place: Place) -> Question:
    first = row.start_end_idx[0] if row.start_end_idx else 1
    return Question(
        id=row.question_id,
        text=row.question,
        images=tuple(below(Path(row.folder), path.rpartition("/pdf_pngs/")[2]) for path in row.images),
        references=(str(row.answer),),
        groups=rules.kinds(row.task_tag, row.question_type, len(row.evidence_pages), row.evidence_sources),
        cluster=row.doc_no,
        evidence=tuple(page - first + 1 for page in row.evidence_pages if 0 <= page - first < len(row.images)),
        row=row,
    )


BENCHMARK = Benchmark(
    name="longdocurl",
    load=tables(
        Row,
        Form(
            ("LongDocURL*.jsonl", "data/LongDocURL*.jsonl"),
            columns={"folder": Beside("pdf_pngs")},
            home=Home("hf://dengchao/LongDocURL", "Apache-2.0", megabytes=50_000),
        ),
        Form("data/*.parquet", columns={"folder": Beside("pdf_pngs")}),
        question=question,
    ),
    prompt="{question}\nAnswer in a few words, with a number, or with a list such as ['a', 'b'].",
    prompt_forms={"official": Prompt(interleaved), "vlmevalkit": Prompt(interleaved)},
    parse=short_answer,
    measure="generalised accuracy",
    metrics=(
        Metric("accuracy", scored_by(rules.score), "by the rule for the format of the reference"),
        Metric("published", scored_by(rules.score), "of the tagged answer, else of the whole reply", read=verbatim),
        Metric("vlmevalkit", scored_by(rules.vlmevalkit), "the same in VLMEvalKit", read=verbatim),
    ),
    totals=(Total("rectified", Sums(lambda scored: (scored.score,), lambda score: score / 2325), "over all 2,325"),),
    breakdowns=("task", "element", "pages", "elements", Breakdown("task_pages", crossed_with="element"), "locating"),
    unit="document",
    pages=Pages(),
)
