"""Exact match and F1 of SlideVQA, of answers and of evidence slides, and what the harnesses compute in their place.

Source: Tanaka et al., SlideVQA (AAAI 2023); the rules are a description of its evaluation.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from vqa_client.scoring.published.anls import anls_doc
from vqa_client.scoring.short_answers import ARTICLE, NO_PUNCTUATION
from vqa_client.scoring.strict.number_words import SMALL
from vqa_client.types import Question

_REPLACED: Final = (
    *(("this is ", ""), ("it is ", ""), ("&", ","), ("and", ","), ("percent", ""), ("organisation", "organization")),
    *(("because of", ""), ("because", ""), ("due to", ""), ("hours", "hrs"), ("minites", "min")),
)
_ASKED: Final = ("how many", "which")
_NUMBERS: Final = {word: str(value) for word, value in SMALL.items() if value < 20}


class Overlap(NamedTuple):
    """What two sequences share; all four are in [0, 1]."""

    em: float
    f1: float
    precision: float
    recall: float


NOTHING: Final = Overlap(0.0, 0.0, 0.0, 0.0)


def overlap(said: Sequence[object], wanted: Sequence[object]) -> Overlap:
    """Whether two sequences are equal in order, and the precision and recall of their members; 0 if none is shared."""
    shared = sum((Counter(said) & Counter(wanted)).values())
    if not shared:
        return NOTHING
    precision, recall = shared / len(said), shared / len(wanted)
    return Overlap(float(list(said) == list(wanted)), _f1(precision, recall), precision, recall)


def joint(answers: Overlap, slides: Overlap) -> Overlap:
    """Answer and evidence together: precision and recall are products, and both have to be exact."""
    precision, recall = answers.precision * slides.precision, answers.recall * slides.recall
    return Overlap(float(answers.em and slides.em), _f1(precision, recall), precision, recall)


def answer_overlap(answer: str, reference: str, question: str) -> Overlap:
    """The same of the words of two normalised answers; all 0 where the question ends before its unit."""
    try:
        return overlap(*(normalised(text, question).split() for text in (answer, reference)))
    except IndexError:
        return NOTHING


def em(answer: str, question: Question) -> float:
    """1 where the normalised words are those of the reference."""
    return answer_overlap(answer, question.references[0], question.text).em


def f1(answer: str, question: Question) -> float:
    """How far the normalised words are those of the reference."""
    return answer_overlap(answer, question.references[0], question.text).f1


def normalised(text: str, question: str) -> str:
    """An answer as it is compared; the unit that the question asks for is left out.

    Raises IndexError for a question that ends with "how many" or "which".
    """
    text = text.lower()
    for old, new in _REPLACED:
        text = text.replace(old, new)
    for asked in _ASKED:
        _, found, rest = question.partition(asked)
        if found:
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


def harness_f1(answer: str, reference: str) -> float:
    """F1 as the harnesses compute it: each repetition of a shared word counts again, so that it may exceed 1."""
    said, wanted = answer.lower().split(), _harness_reference(reference).split()
    shared = sum(word in wanted for word in said)
    return _f1(shared / len(said), shared / len(wanted)) if shared else 0.0


def _harness_reference(reference: str) -> str:
    return reference.replace("\n", "").lower()


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
