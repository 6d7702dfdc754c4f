"""VQA accuracy: the share of annotators who gave the answer, full marks from three on, over all sets of nine of ten.

For each of the n answers, min(1, matches among the others / 3); the mean over the n. With ten answers, k of them equal
to the prediction, that is 0, 0.3, 0.6, 0.9 and, from four on, 1. Two or three answers can't reach 1, and a single one
is never matched. Source: Antol et al., VQA (ICCV 2015), and visualqa.org/evaluation.
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
    """One of the answers to a question; `answer_id` and `answer_confidence` are None where the file has none."""

    answer: str
    answer_confidence: str | None = None
    answer_id: int | str | None = None


Answers = Sequence[HumanAnswer | str]
"""The answers to one question; plain texts count as given by different annotators."""

Mode = Literal["normalised", "official", "official-2017", "raw"]
"""What is done to prediction and answers before they are compared.

"normalised" normalises both, always, with the marks and digits of other scripts: on ASCII it is the metric on the
Hugging Face hub. "official" is VQAEval of 2021, which leaves both as they are when all annotators agree, so that "Yes."
is wrong where ten say "yes". "official-2017" is VQAEval of 2017: the prediction is normalised, the answers lose
punctuation, and only where they differ. "raw" compares as given.
"""
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
FULL_MARKS_AT: Final = 3
FEWEST_FOR_FULL_MARKS: Final = FULL_MARKS_AT + 1
"""With fewer answers no prediction reaches 1, since the annotator compared with is left out."""
LONG_WORDS: Final = 5
"""A longer prediction is a sentence, which hardly ever equals what annotators write."""
_Pair = tuple[str, list[str]]


class _Texts(list[str]):
    """Answers that are known to be texts: every metric asks for them again."""


def question_accuracy(prediction: str, answers: Answers, mode: Mode = "normalised") -> float:
    """The accuracy of one prediction in [0, 1], the same for any order of the answers.

    The official modes leave out, with an annotator, all answers that equal theirs in text, `answer_id` and
    `answer_confidence`, as VQAEval does: ten equal answers without ids score 0. Plain texts count as of different
    annotators. A prediction that normalising empties equals an answer that it empties. ValueError without answers.
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
    _warn_of_single(references)
    scores = [
        question_accuracy(prediction, answers, mode)
        for prediction, answers in zip(predictions, references, strict=True)
    ]
    report: dict[str, Any] = {"overall": _percent(scores, precision)}
    for name, types in (("perAnswerType", answer_types), ("perQuestionType", question_types)):
        groups: dict[str, list[float]] = defaultdict(list)
        for key, score in zip(types or (), scores, strict=False):
            if key is not None:
                groups[key].append(score)
        if groups:
            report[name] = {key: _percent(members, precision) for key, members in groups.items()}
    return report


def unanimous(answers: Answers) -> bool:
    """Whether VQAEval of 2021 takes all answers for the same and so compares without normalising."""
    return len(set(map(on_one_line, texts(answers)))) == 1


def is_sentence(prediction: str) -> bool:
    """Whether a prediction has more than `LONG_WORDS` words."""
    return prediction.count(" ") >= LONG_WORDS and len(prediction.split()) > LONG_WORDS


def contains_answer(prediction: str, answers: Answers) -> bool:
    """Whether any of the answers stands in the prediction as whole words, both normalised: a diagnostic."""
    text = f" {normalised(on_one_line(prediction))} "
    return any(f" {answer} " in text for answer in set(map(normalised, texts(answers))) if answer)


def _by_identity(matching: Sequence[HumanAnswer | str], count: int) -> float:
    """Where an annotator's answer takes all answers with it that are equal in everything."""
    known = [a if isinstance(a, str) else (a.answer_id, a.answer_confidence) for a in matching]
    alike = Counter(key for key in known if not isinstance(key, str))
    matches = len(matching)
    own = sum(min(FULL_MARKS_AT, matches - (1 if isinstance(key, str) else alike[key])) for key in known)
    return _accuracy(matches, count, own)


def _accuracy(matches: int, count: int, own: int) -> float:
    """From how many of `count` answers match, and what the matching ones add when each is the one compared with.

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


def _percent(scores: Sequence[float], precision: int | None) -> float:
    mean = 100 * fsum(scores) / len(scores)
    return mean if precision is None else round(mean, precision)


def _warn_of_single(references: Sequence[Answers]) -> None:
    single = sum(len(answers) == 1 for answers in references)
    if single:
        warnings.warn(
            f"{single} of {len(references)} questions have a single reference and score 0 whatever the prediction: "
            "an annotator is compared with the others",
            stacklevel=3,
        )


class Gap(Struct, frozen=True, kw_only=True):
    """How far "normalised" lies above "official", as shares of all questions.

    `unanimous` is the number of questions whose annotators all agree, where "official" does not normalise, and
    `differing` of how many the two scores differ. `by_unanimous` is the part of `value` that these questions make.
    """

    value: float
    by_unanimous: float
    unanimous: int
    unanimous_share: float
    differing: int


def gap_between(normalised: Sequence[float], official: Sequence[float], unanimous: Sequence[int]) -> Gap | None:
    """Compare the two scores of the same questions, `unanimous` being 1 where all agree; None without questions."""
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
    """The answers without what is known of the annotators."""
    if isinstance(answers, _Texts):
        return answers
    return _Texts([answer if isinstance(answer, str) else answer.answer for answer in answers])


def told_apart(answers: Answers) -> Answers:
    """The texts alone where every annotator has an id of their own: these then say all that scores depend on."""
    ids = {answer.answer_id for answer in answers if isinstance(answer, HumanAnswer)}
    return texts(answers) if len(ids) == len(answers) else answers


def majority(answers: Answers) -> str:
    """The answer given most often, normalised; of several the first by alphabet, so that no order decides."""
    counts = Counter(normalised(text) for text in texts(answers))
    return min(counts, key=lambda text: (-counts[text], text), default="")


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
    return statistics.mode(question.references)
