"""SlideVQA: questions on decks of 20 slides, some of which need several slides or arithmetic.

Data: annotations/qa/dev.jsonl with --images DIR, where DIR has a folder of slides for each deck; the hub's Parquet;
or VLMEvalKit's SLIDEVQA.tsv, whose ids are different. NTT's evaluation licence forbids copies. A row:

    {"deck_name": "a-deck_1", "qa_id": 17, "question": "How many regions are listed?", "answer": "7 regions",
     "arithmetic_expression": "None", "evidence_pages": [2], "reasoning_type": "Single-hop", "answer_type": "Non-Span"}

Published: exact match and F1 of normalised answers (Tanaka et al., AAAI 2023), "published" of the whole reply;
"lmms_eval" and "vlmevalkit" as these compute it, without their F1, which may exceed 1. lmms-eval shows the slides in
grids, which are not made here.

The rules are a description of its evaluation.
"""

import re
from collections import Counter
from typing import Final

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, ColumnNames, Columns, Form, Home, Metric, Pages, Picture, Place
from vqa_client.benchmark import Prompt, Question, best_of, short_answer, tables, verbatim
from vqa_client.images.find import pages_of
from vqa_client.scoring.published.anls import anls_doc
from vqa_client.scoring.short_answers import ARTICLE, NO_PUNCTUATION
from vqa_client.scoring.number_words import digits_to

HOME = Home("https://github.com/nttmdlab-nlp/SlideVQA", "NTT's evaluation licence", megabytes=15_000)
HUB = Home("hf://NTT-hil-insight/SlideVQA", "NTT's evaluation licence", megabytes=15_000)
COLUMNS = {"id": "qa_id", "reasoning": "reasoning_type"}
OWN_COLUMNS: ColumnNames = {**COLUMNS, "deck": Beside("{deck_name}")}
HUB_COLUMNS: ColumnNames = {**COLUMNS, "slides": Columns(*(f"page_{number}" for number in range(1, 21)))}
TSV_COLUMNS = {"id": "index", "slides": "image"}
_REPLACED: Final = (
    *(("this is ", ""), ("it is ", ""), ("&", ","), ("and", ","), ("percent", ""), ("organisation", "organization")),
    *(("because of", ""), ("because", ""), ("due to", ""), ("hours", "hrs"), ("minites", "min")),
)
_ASKED: Final = ("how many", "which")
_NUMBERS: Final = digits_to(19)


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


def em_and_f1(answer: str, reference: str, question: str) -> tuple[float, float]:
    """Whether the normalised words are the same in order, and their F1; 0 where the question ends before its unit."""
    try:
        words, reference_words = (normalised(text, question).split() for text in (answer, reference))
    except IndexError:
        return 0.0, 0.0
    shared = (Counter(words) & Counter(reference_words)).total()
    if not shared:
        return 0.0, 0.0
    precision, recall = shared / len(words), shared / len(reference_words)
    return float(words == reference_words), 2 * precision * recall / (precision + recall)


def em(answer: str, question: Question) -> float:
    return em_and_f1(answer, question.references[0], question.text)[0]


def f1(answer: str, question: Question) -> float:
    return em_and_f1(answer, question.references[0], question.text)[1]


def normalised(text: str, question: str) -> str:
    """An answer as it is compared; the unit that the question asks for is left out.

    Raises IndexError for a question that ends with "how many" or "which".
    """
    text = text.lower()
    for old, new in _REPLACED:
        text = text.replace(old, new)
    for asked in _ASKED:
        _, separator, rest = question.partition(asked)
        if separator:
            text = text.replace(rest.split()[0], "")
    text = ARTICLE.sub(" ", text.translate(NO_PUNCTUATION))
    words = text.split()[: 1 if text.startswith(("yes", "no")) else None]
    return " ".join(_NUMBERS.get(word, word) for word in words)


def harness_anls(answer: str, reference: str) -> float:
    """ANLS as the harnesses compute it for slides; lmms-eval gives 0 for two empty texts."""
    return anls_doc(answer.lower(), _harness_reference(reference)) if answer or reference else 0.0


def harness_em(answer: str, reference: str) -> float:
    """Equality as the harnesses compute it."""
    return float(answer.lower().strip() == _harness_reference(reference).strip())


def _harness_reference(reference: str) -> str:
    return reference.replace("\n", "").lower()


BENCHMARK = Benchmark(
    name="slidevqa",
    load=tables(
        Row,
        Form("annotations/qa/{split}.jsonl", columns=OWN_COLUMNS, home=HOME),
        Form("data/{split}-*.parquet", columns=HUB_COLUMNS, splits={"dev": "val"}, home=HUB),
        Form(("SLIDEVQA.tsv", "SLIDEVQA_MINI.tsv"), columns=TSV_COLUMNS),
        question=question,
        split="dev",
    ),
    prompt="{question}\nAnswer with as few words as possible.",
    prompt_forms={
        "lmms_eval": Prompt("{question}\nAnswer using only the short answer, without explanation.", max_tokens=128),
        "vlmevalkit": Prompt(),
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
