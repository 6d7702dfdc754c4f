"""MM-NIAH: needles of text and images in long documents of both, to find, to count and to reason about.

Data: retrieval-text-val.jsonl and the other tasks' files beside images/ (https://github.com/OpenGVLab/MM-NIAH, no
licence), or VLMEvalKit's MM_NIAH_VAL.tsv, which says neither how deep a needle is nor how long its document is. A
row:

    {"id": 0, "images_list": ["a/1.jpg"], "context": "A page.<image>The key is under the oak.", "question": "Where?",
     "answer": "oak", "meta": {"placed_depth": 0.4, "context_length": 1200, "choices": null, ...}}

Published: accuracy, of lists by place (Wang et al., NeurIPS 2024); the overall score is the mean over tasks, lengths
and five depths, and an empty cell counts as 0. For VLMEvalKit a list with one right place is right.

A reply is scored by the type of the reference: a choice's number, a list of counts, or a text. Source:
calculate_scores.py and utils/tools.py.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.benchmark import MEAN, Benchmark, Beside, Breakdown, Form, Home, Metric, Over, Picture, Place, Prompt
from vqa_client.benchmark import Question, Total, mean_over, numbered, short_answer, tables, verbatim
from vqa_client.prompt import SHORTLY, choices_text
from vqa_client.scoring.published.mmlongbench_doc import UNREADABLE, literal
from vqa_client.scoring.number_words import SMALL
from vqa_client.scoring.vqa_normalise import on_one_line, with_plain_words, without_punctuation
from vqa_client.tables.pictures import below
from vqa_client.tasks.choices import DIRECTLY, labelled

_CAMERA: Final = {"the camera is moving left": "a", "the camera is moving right": "b"}
_LONGEST: Final = 9
"""Digits of a number that can name a choice; Python refuses to read thousands of them."""
_WORDS: Final = {**{word: str(value) for word, value in SMALL.items()}, "none": "none"}
TASKS: Final = {
    "find-text": "retrieval-text",
    "count-text": "counting-text",
    "infer-choose": "reasoning-text",
    "find-image": "retrieval-image",
    "count-image": "counting-image",
    "visual-reasoning": "reasoning-image",
}
"""What VLMEvalKit calls the tasks."""
_EDGES: Final = (1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 64)
LENGTHS: Final = tuple(f"{thousands}k" for thousands in _EDGES)
"""Bins of the context's length in tokens, called by the least of each."""
DEPTHS: Final = ("0-0.2", "0.2-0.4", "0.4-0.6", "0.6-0.8", "0.8-1")


class Meta(Struct, frozen=True):
    """What a row says of its needles: what there is to choose, as texts or pictures, where they are, and the length."""

    choices: list[str] | None = None
    choices_image_path: list[str] | None = None
    placed_depth: float | list[float] | None = None
    context_length: int = 0

    def choosing(self, choices: list[str] | None, pictures: list[str] | None) -> "Meta":
        return replace(self, choices=choices, choices_image_path=pictures)


def cell(length: int, depth: float | Sequence[float] | None) -> dict[str, tuple[str, ...]]:
    """The cell of a document's length and its needles' mean depth, from 0 to 1; none where they aren't known."""
    at = bisect_right(_EDGES, length / 1000)
    depths = depth if isinstance(depth, Sequence) else () if depth is None else (depth,)
    mean = sum(depths) / len(depths) if depths else 1.0
    row = int((0.99 if mean == 1 else mean) / 0.2)
    return {"length": LENGTHS[at - 1 : at] if at else (), "depth": DEPTHS[row : row + 1] if depths else ()}


def last_marks(count: int, images: int) -> list[str]:
    """The marks of the last of a question's images."""
    return [f"<image {number}>" for number in range(images - count + 1, images + 1)]


def typed(answer: Any, *, counts: bool, chooses: bool) -> Any:
    """An answer as its task has it, where the data gives it as text: a list of counts, or a choice's number."""
    if not isinstance(answer, str) or not answer or not (counts or chooses):
        return answer
    return json.loads(answer) if counts else int(answer)


def written(answer: str | int | list[Any]) -> str:
    """An answer as a model would give it: the letter of a choice, a JSON list, or the text."""
    if isinstance(answer, int):
        if not 0 <= answer < len(ascii_uppercase):
            raise ValueError(f"the answer {answer} is the number of no choice")
        return ascii_uppercase[answer]
    return json.dumps(answer, ensure_ascii=False) if isinstance(answer, list) else answer


def asked(of_choices: str, of_list: str, otherwise: str, before_image: str = "") -> Callable[[Question], str]:
    """The question, its choices, and what the answer has to be; a text comes before each image but those to choose."""

    def text(question: Question) -> str:
        text = question.text.replace("<image ", f"{before_image}<image ")
        if question.choices:
            return f"{text}\n{choices_text(question.choices)}\n{of_choices}"
        return f"{text}\n{of_list if str(question.groups['task']).startswith('counting') else otherwise}"

    return text


def published(before_image: str = "") -> Prompt:
    """The same in the published wording."""
    return Prompt(asked(DIRECTLY, SHORTLY, SHORTLY, before_image), images="marked")


def pair(cell: str) -> tuple[Any, Any]:
    """The two members of a Python list in a cell; raises ValueError where it is none."""
    try:
        first, second = literal(cell)
    except UNREADABLE:
        raise ValueError(f"expected a Python list of two, got {cell[:60]!r}") from None
    return first, second


def score(reply: str, reference: str | int | list[Any]) -> float:
    """1 or 0; for a list the share of its places that the reply has right."""
    reply = reply.strip(".")
    if isinstance(reference, int):
        return float(_choice(reply) == reference)
    if isinstance(reference, list):
        matches = sum(said == wanted for said, wanted in zip(_list(reply), reference, strict=False))
        return matches / len(reference) if reference else 0.0
    return float(re.search(rf"\b{re.escape(normalised(reference))}\b", normalised(reply)) is not None)


def normalised(text: str) -> str:
    """As VQA's evaluator does, with number words up to ninety, and "none" as it is."""
    words = without_punctuation(on_one_line(text)).lower().split()
    return " ".join(filter(None, (_WORDS.get(word) or with_plain_words(word) for word in words)))


def _choice(reply: str) -> int | None:
    """The number of a choice, from 0: a number, or a letter's place in the alphabet."""
    if reply.isdecimal():
        return int(reply) if len(reply) <= _LONGEST else None
    reply, stop, _ = reply.lower().replace("the answer is", "").replace("*", "").partition(".")
    reply = (reply.replace(",", "") if stop else reply).strip()
    reply = next((letter for phrase, letter in _CAMERA.items() if phrase in reply), reply)
    return ord(reply) - ord("a") if len(reply) == 1 else None


def _list(reply: str) -> list[Any]:
    """The list that a reply is as JSON, or the values of an object of lists; empty where it is neither."""
    try:
        value = json.loads(reply.replace("json", "").replace("```", "").strip())
    except (ValueError, RecursionError):
        return []
    lists = [*value.values()] if isinstance(value, dict) else [value]
    return [*chain(*lists)] if all(isinstance(each, list) for each in lists) else []


class Row(Struct):
    id: str
    question: str
    answer: Any = ""
    context: str = ""
    meta: Meta = Meta()
    images: tuple[Picture, ...] = ()
    folder: Picture = ""
    category: str = ""
    options: str = "[None, None]"


def question(row: Row, place: Place) -> Question:
    task, meta = TASKS.get(row.category) or place.file.removesuffix(f"-{place.split}"), row.meta
    pictured = meta.choices_image_path or []
    images = row.images + tuple(below(Path(row.folder), name) for name in pictured if row.folder)
    choices = labelled(meta.choices or last_marks(len(pictured), len(images)))
    row.answer = typed(row.answer, counts=task.startswith("counting"), chooses=bool(choices))
    return Question(
        id=f"{task}/{row.id}",
        text=numbered(f"{row.context}\n{row.question}"),
        images=images,
        references=(written(row.answer),),
        choices=choices,
        groups={"task": task, **cell(meta.context_length, meta.placed_depth)},
        row=row,
    )


def of_pairs(row: Row, place: Place) -> Question:
    """VLMEvalKit's cells are pairs, of context and question, of texts and pictures to choose; `image` has them all."""
    row.context, row.question = pair(row.question)
    row.meta = row.meta.choosing(*pair(row.options))
    return question(row, place)


def right(reply: str, question: Question) -> float:
    return score(reply, question.row.answer)


FILES = {"images": Beside("images/{images_list}"), "folder": Beside("images")}
TSV = {"id": "index", "images": "image", "options": "multi-choice options"}
OURS = asked("Answer with the letter alone.", "Answer with a JSON list of numbers.", "Answer in a few words.")
CELLS = mean_over("length", Over("depth", MEAN, lambda cells: sum(cells.values()) / len(DEPTHS)))
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
    prompt_forms={"official": published(), "vlmevalkit": published("\n")},
    parse=short_answer,
    metrics=(
        Metric("accuracy", right, "by the kind of answer: a choice, a list of counts, or words"),
        Metric("published", right, "the same of the whole reply", read=verbatim),
        Metric("vlmevalkit", lambda said, question: float(right(said, question) > 0), "any place right", read=verbatim),
    ),
    totals=(Total("overall", mean_over("task", CELLS), "mean over tasks, lengths and depths"),),
    breakdowns=("task", Breakdown("length", order=LENGTHS, crossed_with="depth", steps=True), "depth"),
    unit="document",
)
