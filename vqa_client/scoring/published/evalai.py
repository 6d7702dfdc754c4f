"""VQA accuracy over ten answers, as TextVQA, VizWiz and OK-VQA normalise them, and as VLMEvalKit does.

A reply earns min(1, equal answers among the other nine / 3), on average over the ten. Source: the evaluator of the
challenges on EvalAI, as mmf has it.
"""

import re
from collections.abc import Callable
from statistics import mode

from vqa_client.scoring.vqa_accuracy import question_accuracy
from vqa_client.scoring.vqa_normalise import normalised, on_one_line, with_plain_words, without_marks
from vqa_client.types import Question

_STOP_BETWEEN_WORDS = re.compile(r"(?<!\d)\.(?!\d)")


def evalai(text: str) -> str:
    """Lower case, no commas and question marks, "'s" a word of its own, then as VQA's evaluator normalises."""
    parted = text.lower().replace(",", "").replace("?", "").replace("'s", " 's").strip()
    return normalised(on_one_line(parted))


def vlmevalkit(text: str) -> str:
    """VLMEvalKit's way: marks first, and a full stop after a digit stays."""
    return with_plain_words(without_marks(on_one_line(text), _STOP_BETWEEN_WORDS))


def soft(normalise: Callable[[str], str]) -> Callable[[str, Question], float]:
    """The accuracy of an answer when it and the references are normalised in one way; 0 without references."""

    def of(answer: str, question: Question) -> float:
        references = [normalise(reference) for reference in question.references]
        return question_accuracy(normalise(answer), references, "raw") if references else 0.0

    return of


def official(answer: str, question: Question) -> float:
    """The accuracy by VQA's own evaluator of 2021."""
    return question_accuracy(answer, question.references, "official") if question.references else 0.0


def most_given(question: Question) -> str:
    """The reference that most of the ten gave."""
    return mode(question.references)
