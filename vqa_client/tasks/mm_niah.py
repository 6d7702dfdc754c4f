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
from collections.abc import Sequence
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
from vqa_client.scoring.number_words import digits_to
from vqa_client.scoring.vqa_normalise import on_one_line, with_plain_words, without_punctuation
from vqa_client.tables.pictures import below
from vqa_client.tasks.choices import DIRECTLY, label_choices

HOME = Home("https://github.com/OpenGVLab/MM-NIAH", "no licence stated", megabytes=60_000)
COLUMNS = {"images": Beside("images/{images_list}"), "folder": Beside("images")}
TSV_COLUMNS = {"id": "index", "images": "image", "options": "multi-choice options"}
_CAMERA: Final = {"the camera is moving left": "a", "the camera is moving right": "b"}
_LONGEST: Final = 9
"""Digits of a number that can name a choice; Python refuses to read thousands of them."""
_WORDS: Final = {**digits_to(90), "none": "none"}
TASKS: Final = {
    "find-text": "retrieval-text",
    "count-text": "counting-text",
    "infer-choose": "reasoning-text",
    "find-image": "retrieval-image",
    "count-image": "counting-image",
    "visual-reasoning": "reasoning-image",
}
"""The tasks by VLMEvalKit's names."""
_EDGES: Final = (1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 64)
LENGTHS: Final = tuple(f"{thousands}k" for thousands in _EDGES)
"""Bins of the context's length in tokens, each named after its lower edge."""
DEPTHS: Final = ("0-0.2", "0.2-0.4", "0.4-0.6", "0.6-0.8", "0.8-1")


class Meta(Struct, frozen=True):
    """The choices of a row, as texts or pictures, the depths of its needles and the length of its context."""

    choices: list[str] | None = None
    choices_image_path: list[str] | None = None
    placed_depth: float | list[float] | None = None
    context_length: int = 0


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
    choices = label_choices(meta.choices or last_marks(len(pictured), len(images)))
    row.answer = typed_answer(row.answer, counts=task.startswith("counting"), chooses=bool(choices))
    return Question(
        id=f"{task}/{row.id}",
        text=numbered(f"{row.context}\n{row.question}"),
        images=images,
        references=(answer_text(row.answer),),
        choices=choices,
        groups={"task": task, **cell(meta.context_length, meta.placed_depth)},
        row=row,
    )


def pair_question(row: Row, place: Place) -> Question:
    """The question of a row of VLMEvalKit, with pairs in cells: context and question, and choices as texts or pictures.

    The column `image` has all pictures.
    """
    row.context, row.question = pair(row.question)
    choices, pictures = pair(row.options)
    row.meta = replace(row.meta, choices=choices, choices_image_path=pictures)
    return question(row, place)


def cell(length: int, depth: float | Sequence[float] | None) -> dict[str, tuple[str, ...]]:
    """The bins of a document's length and of its needles' mean depth, from 0 to 1; none where they aren't known."""
    at = bisect_right(_EDGES, length / 1000)
    depths = depth if isinstance(depth, Sequence) else () if depth is None else (depth,)
    mean = sum(depths) / len(depths) if depths else 1.0
    row = int((0.99 if mean == 1 else mean) / 0.2)
    return {"length": LENGTHS[at - 1 : at] if at else (), "depth": DEPTHS[row : row + 1] if depths else ()}


def last_marks(count: int, images: int) -> list[str]:
    """The marks of the last `count` of a question's images."""
    return [f"<image {number}>" for number in range(images - count + 1, images + 1)]


def typed_answer(answer: Any, *, counts: bool, chooses: bool) -> Any:
    """The list of counts, or the number of a choice, that an answer is, where the data has it as text."""
    if not isinstance(answer, str) or not answer or not (counts or chooses):
        return answer
    return json.loads(answer) if counts else int(answer)


def answer_text(answer: str | int | list[Any]) -> str:
    """The answer in a model's words: the letter of a choice, a JSON list, or the text."""
    if isinstance(answer, int):
        if not 0 <= answer < len(ascii_uppercase):
            raise ValueError(f"the answer {answer} is the number of no choice")
        return ascii_uppercase[answer]
    return json.dumps(answer, ensure_ascii=False) if isinstance(answer, list) else answer


def prompt_ending(choose: str, count: str, answer: str, *, before_image: str = "") -> Prompt:
    """The question and its choices, and how to choose, to count or to answer; `before_image` isn't before choices."""

    def text(question: Question) -> str:
        text = question.text.replace("<image ", f"{before_image}<image ")
        if question.choices:
            return f"{text}\n{choices_text(question.choices)}\n{choose}"
        return f"{text}\n{count if str(question.groups['task']).startswith('counting') else answer}"

    return Prompt(text, images="marked")


def pair(cell: str) -> tuple[Any, Any]:
    """The two members of a Python list in a cell; raises ValueError for anything else."""
    try:
        first, second = literal(cell)
    except UNREADABLE:
        raise ValueError(f"expected a Python list of two, got {cell[:60]!r}") from None
    return first, second


def score(reply: str, reference: str | int | list[Any]) -> float:
    """1 or 0; for a list the share of its items that are right in the reply."""
    reply = reply.strip(".")
    if isinstance(reference, int):
        return float(_choice(reply) == reference)
    if isinstance(reference, list):
        matches = sum(count == wanted for count, wanted in zip(_list(reply), reference, strict=False))
        return matches / len(reference) if reference else 0.0
    return float(re.search(rf"\b{re.escape(normalised(reference))}\b", normalised(reply)) is not None)


def normalised(text: str) -> str:
    """A text normalised by VQA's evaluator, with number words up to ninety; "none" stays."""
    words = without_punctuation(on_one_line(text)).lower().split()
    return " ".join(filter(None, (_WORDS.get(word) or with_plain_words(word) for word in words)))


def _choice(reply: str) -> int | None:
    """The number of a choice, from 0: a number, or the place of a letter in the alphabet."""
    if reply.isdecimal():
        return int(reply) if len(reply) <= _LONGEST else None
    reply, stop, _ = reply.lower().replace("the answer is", "").replace("*", "").partition(".")
    reply = (reply.replace(",", "") if stop else reply).strip()
    reply = next((letter for phrase, letter in _CAMERA.items() if phrase in reply), reply)
    return ord(reply) - ord("a") if len(reply) == 1 else None


def _list(reply: str) -> list[Any]:
    """The list in a reply of JSON, or the values of an object of lists; empty for anything else."""
    try:
        value = json.loads(reply.replace("json", "").replace("```", "").strip())
    except (ValueError, RecursionError):
        return []
    lists = [*value.values()] if isinstance(value, dict) else [value]
    return [*chain(*lists)] if all(isinstance(row_list, list) for row_list in lists) else []


def right(reply: str, question: Question) -> float:
    return score(reply, question.row.answer)


def any_right(reply: str, question: Question) -> float:
    return float(right(reply, question) > 0)


OURS = prompt_ending("Answer with the letter alone.", "Answer with a JSON list of numbers.", "Answer in a few words.")
CELLS = mean_over("length", Over("depth", MEAN, lambda cells: sum(cells.values()) / len(DEPTHS)))
BENCHMARK = Benchmark(
    name="mm-niah",
    load=tables(
        Row,
        Form("*-{split}.jsonl", columns=COLUMNS, home=HOME),
        Form(
            "MM_NIAH_{split}*.tsv", columns=TSV_COLUMNS, splits={"val": "VAL", "test": "TEST"}, question=pair_question
        ),
        question=question,
        split="val",
    ),
    prompt=OURS,
    prompt_forms={
        "official": prompt_ending(DIRECTLY, SHORTLY, SHORTLY),
        "vlmevalkit": prompt_ending(DIRECTLY, SHORTLY, SHORTLY, before_image="\n"),
    },
    parse=short_answer,
    metrics=(
        Metric("accuracy", right, "by the kind of answer: a choice, a list of counts, or words"),
        Metric("published", right, "the same of the whole reply", read=verbatim),
        Metric("vlmevalkit", any_right, "any place right", read=verbatim),
    ),
    totals=(Total("overall", mean_over("task", CELLS), "mean over tasks, lengths and depths"),),
    breakdowns=("task", Breakdown("length", order=LENGTHS, crossed_with="depth", steps=True), "depth"),
    unit="document",
)
