"""MM-NIAH: needles of text and images in long documents of both, to find, to count and to reason about.

Data: retrieval-text-val.jsonl and the other tasks' files beside images/ (https://github.com/OpenGVLab/MM-NIAH, no
licence), or VLMEvalKit's MM_NIAH_VAL.tsv, which says neither how deep a needle is nor how long its document is. A
row:

    {"id": 0, "images_list": ["a/1.jpg"], "context": "A page.<image>The key is under the oak.", "question": "Where?",
     "answer": "oak", "meta": {"placed_depth": 0.4, "context_length": 1200, "choices": null, ...}}

Published: accuracy, of lists by place (Wang et al., NeurIPS 2024); the overall score is the mean over tasks, lengths
and five depths, and an empty cell counts as 0. For VLMEvalKit a list with one right place is right.
"""

from pathlib import Path
from typing import Any

from msgspec import Struct

from vqa_client.benchmark import MEAN, Benchmark, Beside, Breakdown, Form, Home, Metric, Over, Picture, Place, Prompt
from vqa_client.benchmark import Question, Total, mean_over, numbered, short_answer, tables, verbatim
from vqa_client.scoring.published import mm_niah as rules
from vqa_client.tables.pictures import below


class Row(Struct):
    id: str
    answer: Any
    question: str
    context: str = ""
    meta: rules.Meta = rules.Meta()
    images: tuple[Picture, ...] = ()
    folder: Picture = ""
    category: str = ""
    options: str = "[None, None]"


def question(row: Row, place: Place) -> Question:
    task, meta = rules.TASKS.get(row.category) or place.file.removesuffix(f"-{place.split}"), row.meta
    pictured = meta.choices_image_path or []
    images = row.images + tuple(below(Path(row.folder), name) for name in pictured if row.folder)
    choices = rules.labelled(meta.choices or rules.last_marks(len(pictured), len(images)))
    row.answer = rules.typed(row.answer, counts=task.startswith("counting"), chooses=bool(choices))
    return Question(
        id=f"{task}/{row.id}",
        text=numbered(f"{row.context}\n{row.question}"),
        images=images,
        references=(rules.written(row.answer),),
        choices=choices,
        groups={"task": task, **rules.cell(meta.context_length, meta.placed_depth)},
        row=row,
    )


def of_pairs(row: Row, place: Place) -> Question:
    """VLMEvalKit's cells are pairs, of context and question, of texts and pictures to choose; `image` has them all."""
    row.context, row.question = rules.pair(row.question)
    row.meta = row.meta.choosing(*rules.pair(row.options))
    return question(row, place)


def right(said: str, question: Question) -> float:
    return rules.score(said, question.row.answer)


FILES = {"images": Beside("images/{images_list}"), "folder": Beside("images")}
TSV = {"id": "index", "images": "image", "options": "multi-choice options"}
OURS = rules.asked("Answer with the letter alone.", "Answer with a JSON list of numbers.", "Answer in a few words.")
CELLS = mean_over("length", Over("depth", MEAN, lambda cells: sum(cells.values()) / len(rules.DEPTHS)))
BENCHMARK = Benchmark(
    name="mm-niah",
    load=tables(
        Row,
        Form("*-{split}.jsonl", columns=FILES, home=Home("https://github.com/OpenGVLab/MM-NIAH", "none given", 60_000)),
        Form("MM_NIAH_{split}*.tsv", columns=TSV, splits={"val": "VAL", "test": "TEST"}, question=of_pairs),
        question=question,
        split="val",
    ),
    prompt=Prompt(OURS, images="marked"),
    prompt_forms={name: Prompt(rules.published(before), images="marked") for name, before in rules.FORMS.items()},
    parse=short_answer,
    metrics=(
        Metric("accuracy", right, "by the kind of answer: a choice, a list of counts, or words"),
        Metric("published", right, "the same of the whole reply", read=verbatim),
        Metric("vlmevalkit", lambda said, question: float(right(said, question) > 0), "any place right", read=verbatim),
    ),
    totals=(Total("overall", mean_over("task", CELLS), "mean over tasks, lengths and depths"),),
    breakdowns=("task", Breakdown("length", order=rules.LENGTHS, crossed_with="depth", steps=True), "depth"),
    unit="document",
)
