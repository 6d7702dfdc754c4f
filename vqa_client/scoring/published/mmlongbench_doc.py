"""The published score of an extracted answer of MMLongBench-Doc, exactly, and lmms-eval's score of a reply.

The rule depends on the reference's format: Int, Float, Str, None (not answerable) or List. If the published code stops
with an error (a broken list, or "3 million" as a number), the score is 0, as in VLMEvalKit. It evaluates text as
Python; here only literals are. Source: Ma et al., MMLongBench-Doc (NeurIPS 2024), eval/eval_score.py.
"""

import ast
import re
import warnings
from collections.abc import Callable
from math import inf, isclose, isfinite
from typing import Any, Final

from vqa_client.scoring.published.anls import anls_doc
from vqa_client.types import Question

NOT_ANSWERABLE: Final = "Not answerable"
_ASIDE = re.compile(r"(?<!\s)\s*\([^)]*\)")
_QUOTES = re.compile(r"^['\"]|['\"]$")
_EXACT = re.compile(r"\b\d+(-\d+|\s\d+)?\b|\d{4}[-\s]\d{2}([-\s]\d{2})?|[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}")
_FIRST_NUMBER = re.compile(r"[-+]?\d*\.?\d+")
_UNITS: Final = (" miles", " mile", " million")
UNREADABLE: Final = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


def literal(text: str) -> Any:
    """A Python literal's value; raises one of UNREADABLE."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.literal_eval(text)


def score(answer: str, reference: str, answer_format: str) -> float:
    """The published score in [0, 1] of an extracted answer."""
    match answer_format:
        case "Int":
            return float(_as_int(answer, reference))
        case "Float":
            return float(_same_float(_number_or_text(answer, ""), _number_or_text(reference, reference)))
        case "Str" | "None":
            return text_score(clean(answer), clean(reference))
    return _list_score(answer, reference)


def vlmevalkit(answer: str, reference: str, answer_format: str) -> float:
    """VLMEvalKit's score: its table has lost the format None, so such a reference is read as a list."""
    return score(answer, reference, "List" if answer_format == "None" else answer_format)


def clean(text: object) -> str:
    """Lower case, without remarks in brackets, a quotation mark at each end, dollar and per cent signs."""
    return without_quotes(without_asides(str(text).lower().strip())).lstrip("$").strip().rstrip("%").strip()


def without_asides(text: str) -> str:
    """A text without remarks in brackets, in linear time."""
    before, last, after = text.rpartition(")")
    return (_ASIDE.sub("", before + last) + after).strip()


def without_quotes(text: str) -> str:
    """A text without a quotation mark at each end."""
    return _QUOTES.sub("", text).strip()


def is_exact(reference: str, notebook: str = "ipynb") -> bool:
    """Whether a cleaned reference needs an exact answer: an address, a file, a page, a whole number, a time, a date."""
    return (
        "https://" in reference
        or reference.endswith((".py", notebook))
        or reference.startswith("page")
        or "a.m." in reference
        or "p.m." in reference
        or _EXACT.fullmatch(reference) is not None
    )


def text_score(answer: str, reference: str) -> float:
    """Equality if the reference is exact, else ANLS; both texts are already clean."""
    return float(answer == reference) if is_exact(reference) else anls_doc(answer, reference)


def is_number(text: str) -> bool:
    """Whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def same_float(answer: object, reference: object) -> bool:
    """Whether two numbers are within 1 %, or equal when rounded like the shorter one, also if one is 100 times larger.

    Raises ValueError for a reference that isn't a number.
    """
    target = float(str(reference).strip().rstrip("%"))
    try:
        number = float(str(answer).strip().rstrip("%"))
    except ValueError:
        return False
    for scaled in (target / 100, target, target * 100):
        places = max(2, min(_places(number), _places(scaled)))
        if isclose(scaled, number, rel_tol=0.01) or round(number, places) == round(scaled, places):
            return True
    return False


def lmms_eval(answer: str, reference: str, answer_format: str) -> float:
    """lmms-eval's score of a reply: its first number counts, and units and extra spaces are ignored."""
    match answer_format:
        case "Int" | "Float":
            number, target = _first_number(answer), _first_number(reference)
            if number is None or target is None:
                return 0.0
            return float(int(number) == int(target) if answer_format == "Int" else same_float(number, target))
        case "None":
            return float(not lmms_eval_answerable(answer))
        case "List":
            items, targets = sorted(map(_lmms_clean, _items(answer))), sorted(map(_lmms_clean, _items(reference)))
            if len(items) != len(targets):
                return 0.0
            if targets and (_first_number(targets[0]) is not None or _lmms_exact(targets[0])):
                return float(items == targets)
            return min(map(_lmms_anls, items, targets), default=1.0)
    text, reference_text = _lmms_clean(answer), _lmms_clean(reference)
    return float(text == reference_text) if _lmms_exact(reference_text) else _lmms_anls(text, reference_text)


def scored_by(rule: Callable[[Any, Any, str], float]) -> Callable[[str, Question], float]:
    """The score of an answer by a rule, from the reference and the format in the question's row."""
    return lambda answer, question: rule(answer, question.row.answer, question.row.answer_format)


def evidence_kinds(reference: str, pages: int) -> tuple[str, ...]:
    """The reported kinds of evidence; a question that can't be answered may still have a page of evidence."""
    answers = answerable(reference)
    kinds = {"single page": pages == 1, "cross-page": answers and pages != 1, "unanswerable": not answers}
    return tuple(kind for kind, holds in kinds.items() if holds)


def f1_terms(harness: str = "") -> Callable[[Any], tuple[float, float, float, float]]:
    """The terms of a scored question in the sums for F1: for recall and for precision, its score and whether it counts.

    The published precision leaves out scores of questions that can't be answered; "vlmevalkit" and "lmms_eval" don't,
    and "lmms_eval" cleans both texts first.
    """

    def terms(scored: Any) -> tuple[float, float, float, float]:
        answers = lmms_eval_answerable if harness == "lmms_eval" else answerable
        has_answer, answered = answers(scored.question.references[0]), answers(scored.answer or "")
        return scored.score * has_answer, has_answer, scored.score * (answered if harness else has_answer), answered

    return terms


def answerable(text: str) -> bool:
    """Whether a text isn't exactly "Not answerable"."""
    return text != NOT_ANSWERABLE


def f1(recalled: float, n_answerable: float, precise: float, n_answered: float) -> float:
    """The harmonic mean of recall and precision; 0 if one can't be computed, or both are 0."""
    if not n_answerable or not n_answered or not recalled + precise:
        return 0.0
    recall, precision = recalled / n_answerable, precise / n_answered
    return 2 * recall * precision / (recall + precision)


def lmms_eval_answerable(text: str) -> bool:
    """Whether a reply is an answer for lmms-eval."""
    return _lmms_clean(text) != NOT_ANSWERABLE.lower()


def _as_int(answer: str, reference: str) -> bool:
    try:
        return int(reference) == int(float(answer))
    except (ValueError, OverflowError):
        return reference == ""


def _number_or_text(text: str, otherwise: str) -> float | str:
    try:
        return float(clean(text))
    except ValueError:
        return otherwise


def _same_float(answer: float | str, reference: float | str) -> bool:
    try:
        return same_float(answer, reference)
    except ValueError:
        return False


def _places(number: float) -> int:
    _, point, after = str(number).partition(".")
    return len(after) if point else 3


def _list_score(answer: str, reference: str) -> float:
    try:
        items, targets = (sorted(map(clean, _published_items(text))) for text in (answer, reference))
    except UNREADABLE:
        return 0.0
    if len(items) != len(targets) or not targets:
        return 0.0
    if is_number(targets[0]) or is_exact(targets[0]):
        return float("-".join(items) == "-".join(targets))
    return min(map(anls_doc, items, targets))


def _published_items(text: str) -> list[Any]:
    value = literal(text) if text.startswith("[") else text
    return value if isinstance(value, list) else [value]


def _items(text: str) -> list[Any]:
    try:
        value = literal(text)
    except UNREADABLE:
        value = text
    return value if isinstance(value, list) else [] if value is None else [value]


def _first_number(text: str) -> float | None:
    match = _FIRST_NUMBER.search(text.replace(",", ""))
    number = float(match[0]) if match else inf
    return number if isfinite(number) else None


def _lmms_clean(text: object) -> str:
    bare = clean(text)
    for unit in _UNITS:
        bare = bare.removesuffix(unit).strip()
    return " ".join(bare.split())


def _lmms_exact(reference: str) -> bool:
    return "http://" in reference or is_exact(reference, ".ipynb")


def _lmms_anls(answer: str, reference: str) -> float:
    return anls_doc(answer, reference) if answer and reference else float(answer == reference)
