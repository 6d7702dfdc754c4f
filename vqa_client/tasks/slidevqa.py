"""SlideVQA: questions on decks of 20 slides, some of which need several slides or arithmetic.

Data: annotations/qa/dev.jsonl with --images DIR, where DIR has a folder of slides for each deck; the hub's Parquet;
or VLMEvalKit's SLIDEVQA.tsv, whose ids are different. NTT's evaluation licence forbids copies. A row:

    {"deck_name": "a-deck_1", "qa_id": 17, "question": "How many regions are listed?", "answer": "7 regions",
     "arithmetic_expression": "None", "evidence_pages": [2], "reasoning_type": "Single-hop", "answer_type": "Non-Span"}

Published: exact match and F1 of normalised answers (Tanaka et al., AAAI 2023), "published" of the whole reply;
"lmms_eval" and "vlmevalkit" as these compute it, without their F1, which may exceed 1. lmms-eval shows the slides in
grids, which are not made here.
"""

import re

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, Columns, Form, Home, Metric, Picture, Place, Prompt, Question
from vqa_client.benchmark import Pages, best_of, short_answer, tables, verbatim
from vqa_client.images.documents import pages_of
from vqa_client.scoring.published.slidevqa import em, f1, harness_anls, harness_em


class Row(Struct):
    id: str
    question: str
    answer: str = "Not answerable"
    slides: tuple[Picture, ...] = ()
    deck: Picture = ""
    deck_name: str = ""
    evidence_pages: tuple[int, ...] = ()
    arithmetic_expression: str = ""
    reasoning: tuple[str, ...] = ()
    answer_type: tuple[str, ...] = ()


def question(row: Row, place: Place) -> Question:
    slides = row.slides or pages_of(row.deck)
    operators = tuple(sorted(set(re.findall(r"[-+*/]", row.arithmetic_expression))))
    return Question(
        id=row.id,
        text=row.question,
        images=slides,
        references=(row.answer,),
        groups={
            "reasoning": row.reasoning,
            "answer_type": row.answer_type,
            "evidence_slides": (str(len(row.evidence_pages)),) if row.evidence_pages else (),
            "operation": (operators or ("none",)) if row.arithmetic_expression else (),
        },
        cluster=row.deck_name or slides[0],
        evidence=tuple(page for page in row.evidence_pages if 0 < page <= len(slides)),
    )


COLUMNS = {"id": "qa_id", "reasoning": "reasoning_type"}
SLIDES = Columns(*(f"page_{number}" for number in range(1, 21)))
HOME = Home("https://github.com/nttmdlab-nlp/SlideVQA", "NTT's evaluation licence", megabytes=15_000)
HUB = Home("hf://NTT-hil-insight/SlideVQA", "NTT's evaluation licence", megabytes=15_000)
BENCHMARK = Benchmark(
    name="slidevqa",
    load=tables(
        Row,
        Form("annotations/qa/{split}.jsonl", columns={**COLUMNS, "deck": Beside("{deck_name}")}, home=HOME),
        Form("data/{split}-*.parquet", columns={**COLUMNS, "slides": SLIDES}, splits={"dev": "val"}, home=HUB),
        Form(("SLIDEVQA.tsv", "SLIDEVQA_MINI.tsv"), columns={"id": "index", "slides": "image"}),
        question=question,
        split="dev",
    ),
    prompt="{question}\nAnswer with as few words as possible.",
    prompt_forms={
        "lmms_eval": Prompt("{question}\nAnswer using only the short answer, without explanation.", max_tokens=128),
        "vlmevalkit": Prompt("{question}"),
    },
    parse=short_answer,
    measure="exact match",
    metrics=(
        Metric("em", em, "the same words, once normalised"),
        Metric("f1", f1, "how far the words overlap"),
        Metric("published", em, "exact match of the whole reply", read=verbatim),
        Metric("published_f1", f1, "F1 of the whole reply", read=verbatim),
        Metric("lmms_eval_em", best_of(harness_em), "exact match as lmms-eval computes it", read=verbatim),
        Metric("lmms_eval_anls", best_of(harness_anls), "ANLS as lmms-eval computes it", read=verbatim),
    ),
    breakdowns=("evidence_slides", "reasoning", "operation", "answer_type"),
    unit="deck",
    pages=Pages(),
)
