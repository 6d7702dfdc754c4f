"""MMLongBench-Doc: questions on long documents, some across pages and some that the document can't answer.

Data: samples.json or the hub's Parquet with documents/, or VLMEvalKit's MMLongBench_DOC.tsv with PDFs in cells. These
are drawn at 144 dpi, unless their pages are images, as `vqa-client render --pdf` draws them. CC BY-NC 4.0. A row:

    {"doc_id": "a.pdf", "doc_type": "Guidebook", "question": "How many steps are there?", "answer": "4",
     "evidence_pages": "[3, 5]", "evidence_sources": "['Table', 'Figure']", "answer_format": "Int"}

Published: accuracy and F1 (Ma et al., NeurIPS 2024) of an answer that a model extracts from the reply. Here rules
read it; "published" scores the whole reply, unread. No answer to five of the questions can be right. lmms-eval shows
only the evidence pages.
"""

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Beside, Form, Home, Metric, Pages, Picture, Place, Prompt, Question, Sums
from vqa_client.benchmark import Total, short_answer, tables, verbatim
from vqa_client.images.find import pages_of
from vqa_client.scoring.published import mmlongbench_doc as rules
from vqa_client.tables.pdf_pages import written_or_drawn

HOME = Home("https://github.com/mayubo2333/MMLongBench-Doc", "CC BY-NC 4.0", megabytes=600)
HUB = Home("hf://yubo2333/MMLongBench-Doc", "CC BY-NC 4.0", megabytes=600)
COLUMNS = {"document": Beside("documents/{doc_id}")}
TSV_COLUMNS = {"pages": "image_path", "in_cell": "image"}


class Row(Struct):
    doc_id: str
    doc_type: str
    question: str
    answer: str
    evidence_pages: tuple[int, ...] = ()
    evidence_sources: tuple[str, ...] = ()
    answer_format: str = "None"
    document: Picture = ""
    pages: tuple[Picture, ...] = ()
    in_cell: tuple[Picture, ...] = ()


def question(row: Row, place: Place) -> Question:
    pages = written_or_drawn(row.pages, row.in_cell) or pages_of(row.document)
    return Question(
        id=f"{row.doc_id}#{place.number}",
        text=row.question,
        images=pages,
        references=(row.answer,),
        groups={
            "evidence": rules.evidence_kinds(row.answer, len(row.evidence_pages)),
            "source": row.evidence_sources,
            "document_type": row.doc_type,
            "format": row.answer_format,
        },
        cluster=row.doc_id,
        evidence=tuple(page for page in row.evidence_pages if 0 < page <= len(pages)),
        row=row,
    )


LMMS_EVAL = (
    "{question}\nAnswer with a single word or phrase. If the answer is not in the document, answer 'Not answerable'."
)
BENCHMARK = Benchmark(
    name="mmlongbench-doc",
    load=tables(
        Row,
        Form(("samples.json", "data/samples.json"), columns=COLUMNS, home=HOME),
        Form("data/train-*.parquet", columns=COLUMNS, home=HUB),
        Form("MMLongBench_DOC.tsv", columns=TSV_COLUMNS),
        question=question,
    ),
    prompt="{question}\nAnswer in a few words, with a number or a list such as ['a', 'b'], or write Not answerable.",
    prompt_forms={
        "official": Prompt(images="last", max_tokens=1024),
        "vlmevalkit": Prompt(),
        "lmms_eval": Prompt(LMMS_EVAL, max_tokens=64),
    },
    parse=short_answer,
    metrics=(
        Metric("accuracy", rules.scored_by(rules.score), "by the rule for the format of the reference"),
        Metric("published", rules.scored_by(rules.score), "the same of the whole reply", read=verbatim),
        Metric("vlmevalkit", rules.scored_by(rules.vlmevalkit), "in VLMEvalKit, without a judge", read=verbatim),
        Metric("lmms_eval", rules.scored_by(rules.lmms_eval), "in lmms-eval", read=verbatim),
    ),
    totals=(
        Total(
            "f1", Sums(rules.f1_terms(), rules.f1), "of questions answered and answerable", on=("accuracy", "published")
        ),
        Total("f1_vlmevalkit", Sums(rules.f1_terms("vlmevalkit"), rules.f1), "in VLMEvalKit", on=("vlmevalkit",)),
        Total("f1_lmms_eval", Sums(rules.f1_terms("lmms_eval"), rules.f1), "in lmms-eval", on=("lmms_eval",)),
    ),
    breakdowns=("evidence", "source", "document_type", "format"),
    unit="document",
    pages=Pages(dpi=144, most=120),
)
