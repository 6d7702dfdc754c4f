"""The rules of OCRBench and of OCRBench v2's text tasks: a reference inside the reply, or close to it.

Source: Liu et al., OCRBench (2023), example.py; Fu et al., OCRBench v2 (2025), eval_scripts/vqa_metric.py and eval.py.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final

from vqa_client.scoring.published.anls import KEPT, closeness
from vqa_client.types import Question

FORMULAS: Final = "HME100k"
"""The dataset of handwritten formulas, where spaces never count and case does."""
FORMULA_TYPE: Final = "Handwritten Mathematical Expression Recognition"
RECOGNITION: Final = (
    "Regular Text Recognition",
    "Irregular Text Recognition",
    "Artistic Text Recognition",
    "Handwriting Recognition",
    "Digit String Recognition",
    "Non-Semantic Text Recognition",
)
"""The types that are reported together as text recognition."""
_TASKS: Final = {
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
GROUPS: Final = {task: group for group, tasks in _TASKS.items() for task in tasks}
"""The group of each task of OCRBench v2."""
_TEXT_TASKS: Final = {
    *("APP agent", "ASCII art classification", "math QA", "reasoning VQA", "science QA", "text recognition"),
    *("document classification", "cognition VQA", "diagram QA"),
}
_HALF_WIDTH: Final = {0xFF00 + sign: 0x20 + sign for sign in range(1, 0x5F)} | {0x3000: " "}
_TEXT_TAG = re.compile(r"\\text\{([^{}]*)\}")
_DIGITS = re.compile(r"\d+")
_BETWEEN: Final = ("", ".", ". ", ",", ", ", "、", ";", "; ", " ", "和")


def contains(answer: str, reference: str, dataset: str) -> float:
    """OCRBench: 1 where the reference is in the reply; the empty one always is."""
    prepared = _formula if dataset == FORMULAS else _line
    return float(prepared(reference) in prepared(answer))


def contains_half_width(answer: str, reference: str, dataset: str) -> float:
    """The same in lmms-eval, where full-width signs are those of ASCII but in formulas."""
    if dataset != FORMULAS:
        answer, reference = answer.translate(_HALF_WIDTH), reference.translate(_HALF_WIDTH)
    return contains(answer, reference, dataset)


def v2_score(answer: str, question: Question, kind: str, language: str, how: str, *, single: bool) -> float | None:
    """OCRBench v2: the score of a text task; None for tasks that need more than text. `how` is the column `eval`."""
    given = question.references
    match kind, language:
        case "text counting", _:
            return counting(answer, given, regression=how == "regression")
        case "formula recognition", _:
            return (formula_chinese if language == "cn" else formula)(answer, given)
        case "handwritten answer extraction", _:
            return None if "简答" in question.text else letters(answer, given)
    if kind not in _TEXT_TASKS:
        return None
    if how == "multiple choice":
        return multiple_choice(answer, given)
    if how == "case sensitive":
        return vqa_case_sensitive(answer, given, single=single)
    return vqa_chinese(answer, given, single=single) if language == "cn" else vqa(answer, given)


def vqa(answer: str, references: Iterable[str]) -> float:
    """OCRBench v2: a reference of fewer than five words has to be in the reply, a longer one to be close to it."""
    return max((_in_or_close(_line(answer), _line(each), _few_words) for each in references), default=0.0)


def vqa_case_sensitive(answer: str, references: Iterable[str], *, single: bool = False) -> float:
    """The same with case. `single` is a reference that isn't in a list: a short one may be close, a long one is 0."""
    rule = _in_or_close if not single else _misplaced
    return max((rule(_one_line(answer), _one_line(each), _few_words) for each in references), default=0.0)


def vqa_chinese(answer: str, references: Iterable[str], *, single: bool = False) -> float:
    """The same without case and spaces; a reference of fewer than four parts between commas is short."""
    rule = _in_or_close if not single else _misplaced
    said = _line(answer).replace(" ", "")
    return max((rule(said, _line(each).replace(" ", ""), _few_parts) for each in references), default=0.0)


def multiple_choice(answer: str, references: Iterable[str]) -> float:
    """1 where the letters of the reply, joined, are the first reference."""
    return float("".join(filter(str.isalpha, answer)) == next(iter(references), None))


def counting(answer: str, references: Iterable[str], *, regression: bool) -> float:
    """1 where a reference is in the reply; with `regression`, how near the reply's first number is to it."""
    if not regression:
        return float(any(_line(each) in answer for each in references))
    found = _DIGITS.search(answer)
    return max((_nearness(found[0], _line(each)) for each in references), default=0.0) if found else 0.0


def formula(answer: str, references: Iterable[str]) -> float:
    """1 where a reference is in the reply, both without spaces."""
    said = _formula(answer)
    return float(any(_formula(each) in said for each in references))


def formula_chinese(answer: str, references: Iterable[str]) -> float:
    r"""The same after every \text{...} has given way to its content."""
    return formula(_TEXT_TAG.sub(r"\1", answer), [_TEXT_TAG.sub(r"\1", each) for each in references])


def letters(answer: str, references: Iterable[str]) -> float:
    """1 where the characters of the first reference are in the reply, in this order with the same sign between them."""
    wanted = next(iter(references), "")
    return float(any(between.join(wanted) in answer for between in _BETWEEN))


def _one_line(text: str) -> str:
    return text.strip().replace("\n", " ")


def _line(text: str) -> str:
    return _one_line(text.lower())


def _formula(text: str) -> str:
    return _one_line(text).replace(" ", "")


def _few_words(reference: str) -> bool:
    return len(reference.split()) < 5


def _few_parts(reference: str) -> bool:
    return reference.count(",") < 3


def _close(answer: str, reference: str) -> float:
    close = closeness(answer, reference)
    return close if close >= KEPT else 0.0


def _in_or_close(answer: str, reference: str, short: Callable[[str], bool]) -> float:
    return float(reference in answer) if short(reference) else _close(answer, reference)


def _misplaced(answer: str, reference: str, short: Callable[[str], bool]) -> float:
    return (1.0 if reference in answer else _close(answer, reference)) if short(reference) else 0.0


def _nearness(answer: str, reference: str) -> float:
    try:
        said, wanted = int(answer), int(reference)
    except ValueError:
        return 0.0
    near = 1 - abs(said - wanted) / wanted if 0 < said < 2 * wanted else 0.0
    return near if near > KEPT else 0.0
