"""OCRBench v2: 10,000 questions on reading, locating, parsing and reasoning with text, in English and Chinese.

Data: OCRBench_v2.json beside its pictures (https://github.com/Yuliang-Liu/MultimodalOCR, MIT), the hub's Parquet, or
VLMEvalKit's OCRBench_v2.tsv. A row:

    {"dataset_name": "a set", "id": 1, "image_path": "a/1.png", "type": "text counting en", "question": "How many?",
     "answers": [4], "eval": "regression"}

Published: the mean over groups of tasks, for each language (Fu et al., 2025; eval_scripts/vqa_metric.py and eval.py).
Only the text tasks are scored here, by their own rules: tables, boxes, whole pages and translations need other programs
and are in no score.
"""

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from msgspec import Struct

from vqa_client.aggregates import Aggregate
from vqa_client.benchmark import Benchmark, Beside, Breakdown, Form, Home, Metric, Picture, Place, Question, Scored
from vqa_client.benchmark import Total, mean_over, tables, verbatim, whole_reply
from vqa_client.scoring.published.anls import KEPT, closeness
from vqa_client.tables.pictures import literal
from vqa_client.tasks.ocrbench import line, one_line, unspaced
from vqa_client.types import Group

HOME = Home("https://github.com/Yuliang-Liu/MultimodalOCR", "MIT", megabytes=8000)
HUB = Home("hf://ling99/OCRBench_v2", "MIT", megabytes=8000)
TSV_COLUMNS = {"id": "index", "answers": "answer", "type": "category"}
_GROUP_TASKS: Final = {
    "text_recognition": ("text recognition", "fine-grained text recognition", "full-page OCR"),
    "text_detection": ("text grounding", "VQA with position"),
    "text_spotting": ("text spotting",),
    "relationship_extraction": (
        *("key information extraction", "key information mapping", "handwritten answer extraction"),
    ),
    "element_parsing": ("document parsing", "chart parsing", "table parsing", "formula recognition"),
    "mathematical_calculation": ("math QA", "text counting"),
    "visual_text_understanding": ("document classification", "cognition VQA", "diagram QA"),
    "knowledge_reasoning": (
        *("reasoning VQA", "science QA", "APP agent", "ASCII art classification", "text translation"),
    ),
}
GROUPS: Final = {task: group for group, tasks in _GROUP_TASKS.items() for task in tasks}
"""The group of each task of OCRBench v2."""
_TEXT_TASKS: Final = {
    *("APP agent", "ASCII art classification", "math QA", "reasoning VQA", "science QA", "text recognition"),
    *("document classification", "cognition VQA", "diagram QA"),
}
_TEXT_TAG = re.compile(r"\\text\{([^{}]*)\}")
_DIGITS = re.compile(r"\d+")
_BETWEEN: Final = ("", ".", ". ", ",", ", ", "、", ";", "; ", " ", "和")


class Row(Struct):
    id: str
    question: str
    type: str
    answers: Any
    image: Picture
    eval: str = ""


def question(row: Row, place: Place) -> Question:
    row.answers = (literal(row.answers) if isinstance(row.answers, str) else None) or row.answers
    answers = row.answers if isinstance(row.answers, list) else [row.answers]
    kind, _, language = row.type.rpartition(" ")
    return Question(
        id=row.id,
        text=row.question,
        images=(row.image,),
        references=tuple(map(str, answers)),
        groups={"task": kind, "language": language, "group": GROUPS.get(kind, ())},
        cluster=row.image,
        row=row,
    )


def vqa(
    answer: str,
    references: Iterable[str],
    *,
    prepare: Callable[[str], str] = line,
    is_short: Callable[[str], bool] = lambda reference: len(reference.split()) < 5,
    single: bool = False,
) -> float:
    """A reference of fewer than five words must be in the reply, a longer one must be close to the reply.

    A `single` reference isn't in a list: a short one may also be close, a long one scores 0.
    """
    text = prepare(answer)

    def score(reference: str) -> float:
        if (short := is_short(reference)) and reference in text:
            return 1.0
        close = closeness(text, reference) if short == single else 0.0
        return close if close >= KEPT else 0.0

    return max(map(score, map(prepare, references)), default=0.0)


vqa_case_sensitive = partial(vqa, prepare=one_line)
"""The same with case."""
vqa_chinese = partial(
    vqa, prepare=lambda text: line(text).replace(" ", ""), is_short=lambda reference: reference.count(",") < 3
)
"""The same without case and spaces; a short reference has fewer than four parts between commas."""


def multiple_choice(answer: str, references: Iterable[str]) -> float:
    """1 where the letters of the reply, joined, are the first reference."""
    return float("".join(filter(str.isalpha, answer)) == next(iter(references), None))


def counting(answer: str, references: Iterable[str], *, regression: bool) -> float:
    """1 where a reference is in the reply; with `regression`, how near the reply's first number is to it."""
    if not regression:
        return float(any(line(reference) in answer for reference in references))
    match = _DIGITS.search(answer)
    return max((_nearness(match[0], line(reference)) for reference in references), default=0.0) if match else 0.0


def formula(answer: str, references: Iterable[str]) -> float:
    """1 where a reference is in the reply, both without spaces."""
    text = unspaced(answer)
    return float(any(unspaced(reference) in text for reference in references))


def formula_chinese(answer: str, references: Iterable[str]) -> float:
    r"""The same, where every \text{...} is replaced by its content."""
    return formula(_TEXT_TAG.sub(r"\1", answer), [_TEXT_TAG.sub(r"\1", reference) for reference in references])


def letters(answer: str, references: Iterable[str]) -> float:
    """1 where the characters of the first reference are in the reply in order, with the same sign between all."""
    reference = next(iter(references), "")
    return float(any(between.join(reference) in answer for between in _BETWEEN))


def _nearness(answer: str, reference: str) -> float:
    try:
        number, expected = int(answer), int(reference)
    except ValueError:
        return 0.0
    near = 1 - abs(number - expected) / expected if 0 < number < 2 * expected else 0.0
    return near if near > KEPT else 0.0


def right(answer: str, question: Question) -> float | None:
    """The score of a text task by its rule, None for other tasks."""
    row, references = question.row_as(Row), question.references
    kind, _, language = row.type.rpartition(" ")
    single = not isinstance(row.answers, list)
    match kind, language:
        case "text counting", _:
            return counting(answer, references, regression=row.eval == "regression")
        case "formula recognition", _:
            return (formula_chinese if language == "cn" else formula)(answer, references)
        case "handwritten answer extraction", _:
            return None if "简答" in question.text else letters(answer, references)
    if kind not in _TEXT_TASKS:
        return None
    if row.eval == "multiple choice":
        return multiple_choice(answer, references)
    if row.eval == "case sensitive":
        return vqa_case_sensitive(answer, references, single=single)
    return vqa_chinese(answer, references, single=single) if language == "cn" else vqa(answer, references)


def mean_of(language: str) -> Aggregate:
    def group(scored: Scored) -> Group | None:
        return scored.question.groups["group"] if scored.question.groups["language"] == language else None

    return mean_over(group)


BENCHMARK = Benchmark(
    name="ocrbench-v2",
    load=tables(
        Row,
        Form("OCRBench_v2.json", columns={"image": Beside("{image_path}")}, home=HOME),
        Form("data/test-*.parquet", home=HUB),
        Form("OCRBench_v2.tsv", columns=TSV_COLUMNS),
        question=question,
    ),
    prompt="{question}",
    parse=whole_reply,
    metrics=(
        Metric("accuracy", right, "by the rule of the task"),
        Metric("published", right, "the same with all that the model wrote, thoughts too", read=verbatim),
    ),
    totals=(
        Total("english", mean_of("en"), "mean over the groups of English tasks"),
        Total("chinese", mean_of("cn"), "mean over the groups of Chinese tasks"),
    ),
    breakdowns=("group", Breakdown("task", crossed_with="language"), "language"),
)
