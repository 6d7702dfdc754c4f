"""The workloads: data files and folders of page images in the forms that `vqa-client mc` and `niah` read.

`python -m tests.bench.workloads [NAME ...]` makes them below tests/bench/work/, once; the same seed gives the same
files. Pillow is imported only to draw: the process that starts the measured clients imports this module too, and what
it holds would show in their peak memory.
"""

import hashlib
import json
import os
import random
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

WORK = Path(__file__).parent / "work"
SEED = 20240229
VERSION = 2
"""Raise it when the written files change: folders of another version are made again."""
SUFFIXES = {"jpeg": ".jpg", "png": ".png"}
VOCABULARY = (
    "river ledger harbour copper evening margin orchard signal winter column bridge pattern letter market candle "
    "survey garden engine island number window record station figure valley report morning castle mirror journey"
)
WORDS = VOCABULARY.split()
AWKWARD = ('"quoted"', "naïve", "{choices}", "图像", "back\\slash", "café", "🛰", "<b>", "50 %", "tab\there")
"""Words that reveal an escaping mistake; each question has one."""
DEPTHS = ("0-20%", "20-40%", "40-60%", "60-80%", "80-100%")
"""The places of needles in a document, as published labels."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """The numbers of questions, distinct documents and pages; sizes are means, met within a tenth.

    `task` is the command it is for. A record of "mc" is one question, and its pages are links where its document has
    more of them; a record of "niah" is a document with all its questions.
    """

    name: str
    questions: int
    documents: int
    pages: int
    format: str
    page_bytes: int
    size_px: tuple[int, int]
    context_chars: int = 600
    task: Literal["mc", "niah"] = "mc"

    @property
    def records(self) -> int:
        """The number of records in the data file, which `--limit` counts."""
        return self.documents if self.task == "niah" else self.questions

    @property
    def questions_per_record(self) -> int:
        """The number of questions per record."""
        return self.questions // self.records


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            name="small", questions=3000, documents=3000, pages=1, format="jpeg", page_bytes=8_000, size_px=(224, 224)
        ),
        Workload(
            name="photo", questions=2560, documents=1000, pages=1, format="jpeg", page_bytes=50_000, size_px=(640, 480)
        ),
        # The client counts tokens of contexts of 8,000 bytes or more, which this doesn't measure.
        Workload(
            name="document",
            questions=200,
            documents=40,
            pages=20,
            format="png",
            page_bytes=300_000,
            size_px=(1240, 1754),
            context_chars=6000,
            task="niah",
        ),
        Workload(
            name="pages", questions=60, documents=60, pages=20, format="png", page_bytes=150_000, size_px=(1000, 1414)
        ),
        Workload(
            name="many", questions=20_000, documents=500, pages=1, format="jpeg", page_bytes=1_000, size_px=(48, 48)
        ),
    )
}


def make(workload: Workload, root: Path = WORK) -> Path:
    """The workload's folder, with data.json and pages/images/; made again only if its definition changed."""
    folder = root / workload.name
    stamp = folder / "made_from.json"
    definition = json.dumps({"seed": SEED, "version": VERSION} | asdict(workload))
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == definition:
        return folder
    unfinished = root / f"{workload.name}.unfinished"
    for stale in (folder, unfinished):
        shutil.rmtree(stale, ignore_errors=True)
    (unfinished / "pages" / "images").mkdir(parents=True)
    _write_records(workload, unfinished / "data.json")
    _write_pages(workload, unfinished / "pages" / "images")
    (unfinished / stamp.name).write_text(definition, encoding="utf-8")
    os.replace(unfinished, folder)
    return folder


def record_id(workload: Workload, index: int) -> str:
    """24 hexadecimal digits, as in the published data."""
    return hashlib.sha256(f"{workload.name} {index}".encode()).hexdigest()[:24]


def document_of(workload: Workload, index: int) -> int:
    """The number of a record's document; records on one document are neighbours."""
    return index * workload.documents // workload.records


def _write_records(workload: Workload, path: Path) -> None:
    rng = random.Random(SEED)
    contexts = [_words(rng, workload.context_chars) for _ in range(workload.documents)]
    rows = [_record(rng, workload, index, contexts[document_of(workload, index)]) for index in range(workload.records)]
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


def _record(rng: random.Random, workload: Workload, index: int, context: str) -> dict[str, Any]:
    first = index * workload.questions_per_record
    questions = [_question(rng, first + place) for place in range(workload.questions_per_record)]
    return {
        "_id": record_id(workload, index),
        "domain": "Single-Document QA",
        "sub_domain": rng.choice(("Academic", "Legal", "Financial")),
        "difficulty": rng.choice(("easy", "hard")),
        "length": rng.choice(("short", "medium", "long")),
        **(_needles(rng, questions) if workload.task == "niah" else _choices(rng, *questions)),
        "context": context,
    }


def _question(rng: random.Random, index: int) -> str:
    return f"Question {index}: {_words(rng, 300)} {rng.choice(AWKWARD)} {_words(rng, 60)}?"


def _choices(rng: random.Random, question: str) -> dict[str, str]:
    choices = {f"choice_{letter}": _words(rng, 80) for letter in "ABCD"}
    return {"question": question, **choices, "answer": rng.choice("ABCD")}


def _needles(rng: random.Random, questions: Sequence[str]) -> dict[str, list[str]]:
    return {
        "questions": list(questions),
        "answers": [str(rng.randrange(100_000, 1_000_000)) for _ in questions],
        "question_depths": [DEPTHS[place % len(DEPTHS)] for place in range(len(questions))],
    }


def _words(rng: random.Random, chars: int) -> str:
    return " ".join(rng.choices(WORDS, k=chars // 7))


def _write_pages(workload: Workload, folder: Path) -> None:
    from tests.bench.drawings import drawer

    draw = drawer(workload.format, workload.page_bytes, workload.size_px, WORDS)
    first_record: dict[int, str] = {}
    for index in range(workload.records):
        ident, document = record_id(workload, index), document_of(workload, index)
        source = first_record.setdefault(document, ident)
        for page in range(1, workload.pages + 1):
            target = folder / _page_name(workload, ident, page)
            if source == ident:
                target.write_bytes(draw(random.Random(f"{SEED} {workload.name} {document} {page}")))
            else:
                os.link(folder / _page_name(workload, source, page), target)


def _page_name(workload: Workload, ident: str, page: int) -> str:
    return f"{ident}_page_{page:03d}{SUFFIXES[workload.format]}"


if __name__ == "__main__":
    for chosen in sys.argv[1:] or WORKLOADS:
        make(WORKLOADS[chosen])
