"""MP-DocVQA: questions on documents of up to 20 scanned pages, and on which page the answer is.

Data: val.json beside images/ (the portal of the Robust Reading Competition, after registration), or the hub's Parquet.
A row:

    {"questionId": 90001, "question": "What is the date?", "doc_id": "abcd0001", "page_ids": ["abcd0001_p0"],
     "answers": ["3 May 1999"], "answer_page_idx": 0}

Published: ANLS, accuracy and page accuracy of its own evaluator (Tito et al., Pattern Recognition 2023), where the
answer "none" scores 0. lmms-eval takes the whole reply as the answer and doesn't ask for the page. The answers of the
test split are not public: --submission writes the file for its server.

Source of its evaluator: metrics.py.
"""

import re
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.benchmark import Answer, Benchmark, Beside, Breakdown, ColumnNames, Columns, Form, Home, Metric, Pages
from vqa_client.benchmark import Picture, Place, Prompt, Question, Scored, Submission, best_of, tables
from vqa_client.prompt import SHORT_PROMPT
from vqa_client.scoring.published.anls import anls_mmf
from vqa_client.scoring.readings import short_answer
from vqa_client.scoring.reply import Reply, reply_from
from vqa_client.types import Completion

PORTAL = Home("https://rrc.cvc.uab.es/?ch=17", "terms of the portal", megabytes=30_000)
HUB = Home("hf://lmms-lab-encoder/MP-DocVQA", "terms of the portal", megabytes=30_000)
COLUMNS = {"id": "questionId", "text": "question"}
NUMBERS = tuple(map(str, range(1, 21)))
PORTAL_COLUMNS: ColumnNames = {**COLUMNS, "images": Beside("images/{page_ids}.jpg")}
HUB_COLUMNS: ColumnNames = {**COLUMNS, "images": Columns(*(f"image_{number}" for number in NUMBERS))}
_PAGE = re.compile(
    r"[\s,;]*[(\[]?(?:\bon )?(?:\*\*)?\bpage:?(?:\*\*)?\s*(?:number:?\s*)?(\d{1,4})(?:\*\*)?[)\]]?\.?\s*$",
    re.IGNORECASE,
)


class Row(Struct):
    id: str
    text: str
    doc_id: str
    images: tuple[Picture, ...]
    answers: tuple[str, ...] = ()
    answer_page_idx: int | None = None


def question(row: Row, place: Place) -> Question:
    page = () if row.answer_page_idx is None else (row.answer_page_idx + 1,)
    return Question(
        id=row.id,
        text=row.text,
        images=row.images,
        references=row.answers,
        groups={"pages": str(len(row.images)), "answer_page": tuple(map(str, page))},
        cluster=row.doc_id,
        evidence=page,
    )


def anls_mp(answer: str, reference: str) -> float:
    """MP-DocVQA's own evaluator: without case and outer spaces; an empty reply and "none" are 0."""
    return 0.0 if answer.lower().strip() in ("", "none") else anls_mmf(answer, reference)


def exact_mp(answer: str, reference: str) -> float:
    """MP-DocVQA's own accuracy: the same text without case and outer spaces; "none" is 0."""
    return float(answer.lower().strip() == reference.lower().strip() != "none")


def answer_without_page(reply: Reply, question: Question) -> Answer:
    """The short answer of a reply without the page that is named at its end."""
    short = short_answer(reply, question)
    bare = _PAGE.sub("", short.text or "")
    if bare == (short.text or ""):
        return short
    return replace(short_answer(reply_from(Completion(text=bare)), question), source=short.source)


def reply_without_page(reply: Reply, question: Question) -> Answer:
    """The whole reply without the page at its end, which lmms-eval takes for the answer."""
    return Answer(text=_PAGE.sub("", reply.raw), rule="verbatim")


def page_named(reply: Reply, question: Question) -> Answer:
    """The number of the page that is named at the end of a reply."""
    match = _PAGE.search(reply.text)
    return Answer(text=match[1], rule="page") if match else Answer(status="unparsed", rule="page")


def right_page(page: str, question: Question) -> float:
    """1 for the page that the answer is on."""
    return float((int(page),) == question.evidence)


def has_evidence(question: Question) -> bool:
    return bool(question.evidence)


def entry(scored: Scored) -> dict[str, Any]:
    page = scored.said("page")
    answered = {"questionId": int(scored.question.id), "answer": scored.answer or ""}
    return {**answered, "answer_page": int(page) - 1 if page else None}


BENCHMARK = Benchmark(
    name="mp-docvqa",
    load=tables(
        Row,
        Form("{split}.json", columns=PORTAL_COLUMNS, records="data", home=PORTAL),
        Form("data/{split}-*.parquet", columns=HUB_COLUMNS, home=HUB),
        question=question,
        split="val",
    ),
    prompt="{question}\nAnswer with words of the pages, as few as possible. Then name the page, as in: Page: 1",
    prompt_forms={"lmms_eval": Prompt(SHORT_PROMPT, max_tokens=32)},
    parse=answer_without_page,
    measure="ANLS",
    metrics=(
        Metric("anls", best_of(anls_mp), "how near the answer is to the nearest reference, 0 below 0.5"),
        Metric("exact", best_of(exact_mp), "the same text"),
        Metric("page", right_page, "names the page of the answer", read=page_named, when=has_evidence),
        Metric("published", best_of(anls_mp), "ANLS of the whole reply but for the page", read=reply_without_page),
    ),
    breakdowns=(Breakdown("pages", order=NUMBERS, steps=True), Breakdown("answer_page", order=NUMBERS, steps=True)),
    ideal_reply=lambda question: "\n".join((question.references[0], *(f"Page: {page}" for page in question.evidence))),
    unit="document",
    pages=Pages(),
    submission=Submission(entry),
)
