"""VQA accuracy: the share of annotators who gave the answer, full marks from three on, over all sets of nine of ten.

For each of the n answers, min(1, matches among the others / 3); the mean over the n. With ten answers, k of them equal
to the prediction, that is 0, 0.3, 0.6, 0.9 and, from four on, 1. With two or three answers it can't reach 1, and with a
single one it is 0. Source: Antol et al., VQA (ICCV 2015), and visualqa.org/evaluation.
"""

import statistics
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import compress
from math import fsum
from typing import Any, Final, Literal, get_args

from msgspec import Struct

from vqa_client.scoring.vqa_normalise import normalised, on_one_line, plainest, without_punctuation
from vqa_client.types import Question


class HumanAnswer(Struct, frozen=True, kw_only=True, gc=False):
    """One of the answers to a question; `answer_id` and `answer_confidence` are None if the file has none."""

    answer: str
    answer_confidence: str | None = None
    answer_id: int | str | None = None


Answers = Sequence[HumanAnswer | str]
"""The answers to one question; plain texts count as answers of different annotators."""

Mode = Literal["normalised", "official", "official-2017", "raw"]
"""How prediction and answers are prepared for the comparison.

"normalised" always normalises both, with the marks and digits of other scripts: on ASCII it is the metric on the
Hugging Face hub. "official" is VQAEval of 2021, which doesn't normalise if all annotators agree, so "Yes." is wrong if
ten say "yes". "official-2017" is VQAEval of 2017: it normalises the prediction, and removes punctuation from answers
that differ. "raw" compares both as given.
"""
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
FULL_MARKS_AT: Final = 3
FEWEST_FOR_FULL_MARKS: Final = FULL_MARKS_AT + 1
"""With fewer answers no prediction reaches 1, as each annotator is left out in turn."""
LONG_WORDS: Final = 5
"""A longer prediction is a sentence, which hardly ever equals an annotator's answer."""
_Pair = tuple[str, list[str]]


class _Texts(list[str]):
    """Answers that are already texts, so that no metric converts them again."""


def question_accuracy(prediction: str, answers: Answers, mode: Mode = "normalised") -> float:
    """The accuracy of one prediction in [0, 1], for any order of the answers; raises ValueError without answers.

    As VQAEval does, the official modes leave out all answers with the text, `answer_id` and `answer_confidence` of the
    annotator left out: ten equal answers without ids score 0. Plain texts count as answers of different annotators. If
    normalising empties both prediction and answer, they are equal.
    """
    if not answers:
        raise ValueError("without answers there is no accuracy")
    prepared, prepared_answers = _PREPARED[mode](prediction, texts(answers))
    matches = prepared_answers.count(prepared)
    if matches > 1 and mode.startswith("official"):
        matching = [answer for answer, text in zip(answers, prepared_answers, strict=True) if text == prepared]
        if any(isinstance(answer, HumanAnswer) for answer in matching):
            return _by_identity(matching, len(prepared_answers))
    return _accuracy(matches, len(prepared_answers), matches * min(FULL_MARKS_AT, matches - 1))


def vqa_accuracy(
    predictions: Sequence[str],
    references: Sequence[Answers],
    answer_types: Sequence[str | None] | None = None,
    question_types: Sequence[str | None] | None = None,
    mode: Mode = "normalised",
    precision: int | None = 2,
) -> dict[str, Any]:
    """The accuracy in per cent: `overall`, and `perAnswerType` and `perQuestionType` where these types are given.

    Rounded to `precision` decimals as the official files are, or not at all (None). A question with a single reference
    can't be answered right: that is warned of. Raises ValueError for lengths that differ and without predictions.
    """
    _check(predictions, mode, references=references, answer_types=answer_types, question_types=question_types)
    if single := sum(len(answers) == 1 for answers in references):
        warnings.warn(
            f"{single} of {len(references)} questions have a single reference and score 0 whatever the prediction: "
            "an annotator is compared with the others",
            stacklevel=2,
        )
    scores = [
        question_accuracy(prediction, answers, mode)
        for prediction, answers in zip(predictions, references, strict=True)
    ]
    report: dict[str, Any] = {"overall": mean_percent(scores, precision)}
    for name, types in (("perAnswerType", answer_types), ("perQuestionType", question_types)):
        if accuracies := percent_by_type(scores, types or (), precision):
            report[name] = accuracies
    return report


def mean_percent(scores: Sequence[float], precision: int | None = 2) -> float:
    """The mean of scores in per cent, rounded to `precision` decimals unless that is None."""
    mean = 100 * fsum(scores) / len(scores)
    return mean if precision is None else round(mean, precision)


def percent_by_type(
    scores: Sequence[float], types: Sequence[str | None], precision: int | None = 2
) -> dict[str, float]:
    """The means of each type in per cent, in order of appearance; None is not a type."""
    by_type: dict[str, list[float]] = defaultdict(list)
    for type_, score in zip(types, scores, strict=False):
        if type_ is not None:
            by_type[type_].append(score)
    return {type_: mean_percent(members, precision) for type_, members in by_type.items()}


def unanimous(answers: Answers) -> bool:
    """Whether all answers are the same for VQAEval of 2021, which then doesn't normalise."""
    return len(set(map(on_one_line, texts(answers)))) == 1


def is_sentence(prediction: str) -> bool:
    """Whether a prediction has more than `LONG_WORDS` words."""
    return prediction.count(" ") >= LONG_WORDS and len(prediction.split()) > LONG_WORDS


def contains_answer(prediction: str, answers: Answers) -> bool:
    """Whether the prediction contains an answer as whole words, both normalised: a diagnostic."""
    text = f" {normalised(on_one_line(prediction))} "
    return any(f" {answer} " in text for answer in set(map(normalised, texts(answers))) if answer)


def _by_identity(matching: Sequence[HumanAnswer | str], count: int) -> float:
    """The accuracy if leaving out an annotator also leaves out all answers that are equal to theirs in every field."""
    keys = [a if isinstance(a, str) else (a.answer_id, a.answer_confidence) for a in matching]
    times = Counter(key for key in keys if not isinstance(key, str))
    matches = len(matching)
    own = sum(min(FULL_MARKS_AT, matches - (1 if isinstance(key, str) else times[key])) for key in keys)
    return _accuracy(matches, count, own)


def _accuracy(matches: int, count: int, own: int) -> float:
    """The accuracy if `matches` of `count` answers match; `own` is the sum of matches with each of these left out.

    Summed in whole thirds, so that the last bit does not depend on the order of the answers.
    """
    return ((count - matches) * min(FULL_MARKS_AT, matches) + own) / (FULL_MARKS_AT * count)


def _where_they_differ(prediction: str, answers: list[str]) -> _Pair:
    text, lines = on_one_line(prediction), list(map(on_one_line, answers))
    if len(set(lines)) == 1:
        return text, lines
    return normalised(text), list(map(normalised, lines))


def _prediction_always(prediction: str, answers: list[str]) -> _Pair:
    prepared = [without_punctuation(answer) for answer in answers] if len(set(answers)) > 1 else answers
    return normalised(on_one_line(prediction)), prepared


_PREPARED: Final[dict[str, Callable[[str, list[str]], _Pair]]] = {
    "normalised": lambda prediction, answers: (plainest(on_one_line(prediction)), list(map(plainest, answers))),
    "official": _where_they_differ,
    "official-2017": _prediction_always,
    "raw": lambda prediction, answers: (prediction, answers),
}


def _check(predictions: Sequence[str], mode: str, **others: Sequence[Any] | None) -> None:
    for name, values in others.items():
        if values is not None and len(values) != len(predictions):
            raise ValueError(f"there are {len(predictions)} predictions and {len(values)} {name}")
    if not predictions:
        raise ValueError("without predictions there is no accuracy")
    if mode not in _PREPARED:
        raise ValueError(f"mode is {mode!r}; it must be one of {', '.join(MODES)}")


class Gap(Struct, frozen=True, kw_only=True):
    """How far "normalised" is above "official", as shares of all questions.

    `unanimous` is the number of questions whose annotators all agree, for which "official" does not normalise, and
    `differing` the number of those whose two scores differ. `by_unanimous` is their part of `value`.
    """

    value: float
    by_unanimous: float
    unanimous: int
    unanimous_share: float
    differing: int


def gap_between(normalised: Sequence[float], official: Sequence[float], unanimous: Sequence[int]) -> Gap | None:
    """Compare two scores of the same questions; `unanimous` is 1 if all annotators agree. None without questions."""
    n = len(normalised)
    if not n:
        return None
    differences = [a - b for a, b in zip(normalised, official, strict=True)]
    apart = list(compress(differences, unanimous))
    return Gap(
        value=fsum(differences) / n,
        by_unanimous=fsum(apart) / n,
        unanimous=len(apart),
        unanimous_share=len(apart) / n,
        differing=sum(difference != 0 for difference in apart),
    )


def texts(answers: Answers) -> list[str]:
    """The texts of the answers, without the annotators."""
    if isinstance(answers, _Texts):
        return answers
    return _Texts([answer if isinstance(answer, str) else answer.answer for answer in answers])


def texts_if_distinct(answers: Answers) -> Answers:
    """Only the texts if every annotator has a different id: scores then depend on nothing else."""
    ids = {answer.answer_id for answer in answers if isinstance(answer, HumanAnswer)}
    return texts(answers) if len(ids) == len(answers) else answers


def majority(answers: Answers) -> str:
    """The most frequent answer, normalised; of several the first in the alphabet, so that the order doesn't matter."""
    counts = Counter(normalised(text) for text in texts(answers))
    return min(counts, key=lambda text: (-counts[text], text), default="")


def soft(normalise: Callable[[str], str]) -> Callable[[str, Question], float]:
    """A score: the accuracy of an answer if it and the references are normalised so; 0 without references."""

    def of(answer: str, question: Question) -> float:
        references = [normalise(reference) for reference in question.references]
        return question_accuracy(normalise(answer), references, "raw") if references else 0.0

    return of


def official(answer: str, question: Question) -> float:
    """The accuracy by VQA's own evaluator of 2021."""
    return question_accuracy(answer, question.references, "official") if question.references else 0.0


def most_given(question: Question) -> str:
    """The most frequent of the ten references."""
    return statistics.mode(question.references)
