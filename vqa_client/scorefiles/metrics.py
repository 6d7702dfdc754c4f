"""Every metric that a prediction can be scored by, as a table: a name and a function for one question.

A metric gets the prediction, the annotators' answers and the one answer that stands for them, and gives a value in
[0, 1]. A new one is a new row.
"""

from collections.abc import Callable
from typing import Final

from vqa_client.scoring import vqa2
from vqa_client.scoring.answers import Answers
from vqa_client.scoring.vqa_accuracy import MODES, Mode, contains_answer, question_accuracy

Metric = Callable[[str, Answers, str], float]


def _in_mode(mode: Mode) -> Metric:
    return lambda prediction, answers, gold: question_accuracy(prediction, answers, mode)


def _against_gold(score: Callable[[str, str], float]) -> Metric:
    return lambda prediction, answers, gold: float(score(gold, prediction))


METRICS: Final[dict[str, Metric]] = {
    **{mode: _in_mode(mode) for mode in MODES},
    "simple": _against_gold(vqa2.simple_correct),
    "simple-words": _against_gold(vqa2.simple_correct_by_words),
    "enhanced": _against_gold(vqa2.enhanced_score),
    "enhanced-words": _against_gold(vqa2.enhanced_score_by_words),
    "contains": lambda prediction, answers, gold: float(contains_answer(prediction, answers)),
}
OF_THE_ANSWER: Final = frozenset({"normalised", "contains"})
"""These take a record's answer; published scores take all that its model said."""
AGAINST_GOLD: Final = frozenset({"simple", "simple-words", "enhanced", "enhanced-words"})
"""These compare with the annotation's `multiple_choice_answer`, or with the majority where there is none."""

_NON_STANDARD: Final = "a non-standard ladder of partial credit, for comparison with published numbers only"
REMARKS: Final = {
    "contains": "an annotator's answer stands in the prediction as whole words; a diagnostic, no accuracy",
    "simple": "the gold answer is a part of the prediction, inside words too",
    "enhanced": _NON_STANDARD,
    "enhanced-words": _NON_STANDARD,
}
"""What a reader has to know of a metric that is not VQA accuracy."""
