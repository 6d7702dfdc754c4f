"""The published framework's figures of one VQA 2.0 run, added up in one walk over the records."""

import statistics
from array import array
from collections.abc import Iterable, Iterator
from math import fsum
from typing import Any, Final

import msgspec
from msgspec import Struct

from vqa_client.reports.summary import Summary
from vqa_client.scoring.vqa_accuracy import Gap, gap_between, is_sentence, unanimous
from vqa_client.types import ANSWERED, Question, Record

KINDS: Final = ("yes/no", "color", "count", "other")
ASSESSMENTS: Final = ((0.6, "excellent"), (0.4, "average"), (0.0, "needs improvement"))
"""The lowest published VQA accuracy of each word."""
SHOWN = 100


class Times(Struct, frozen=True, kw_only=True):
    """Seconds from the first byte of a request to the end of its reply, over the `n` questions with a reply."""

    n: int
    mean: float | None = None
    median: float | None = None
    p95: float | None = None


class KindFigures(Struct, frozen=True, kw_only=True):
    """The questions of one kind: `correct` and `vqa_accuracy` are published scores, `normalised` is the headline."""

    total: int = 0
    correct: int = 0
    vqa_accuracy: float | None = None
    normalised: float | None = None

    @property
    def accuracy(self) -> float | None:
        return self.correct / self.total if self.total else None


class ShownQuestion(Struct, frozen=True, kw_only=True):
    """One question in a table; `correct` is the published simple score, None without a known answer."""

    id: str
    question: str
    kind: str
    gold: str | None
    answer: str
    correct: bool | None


class Vqa2Summary(Summary, frozen=True, kw_only=True):
    """A summary with the published figures; `name` is the model's name in the results, `shown` the first questions.

    `sentences` counts replies that are longer than the short answers that VQA accuracy is made for.
    """

    name: str
    scored: bool
    times: Times
    kinds: dict[str, KindFigures]
    gap: Gap | None
    sentences: int
    shown: tuple[ShownQuestion, ...]

    def added(self) -> dict[str, Any]:
        """The times, the kinds of questions and the gap to the official score, in the form of the report."""
        return {
            "inference_time_s": msgspec.to_builtins(self.times),
            "question_type_analysis": kind_figures(self.kinds, scored=self.scored),
            "normalised_above_official": msgspec.to_builtins(self.gap),
        }

    @property
    def correct(self) -> int | None:
        """The number of replies that are right by the published simple score; None without known answers."""
        return sum(kind.correct for kind in self.kinds.values()) if self.scored else None

    @property
    def simple_accuracy(self) -> float | None:
        """Their share of all questions, in [0, 1]."""
        correct, total = self.correct, self.overall.total
        return correct / total if correct is not None and total else None

    @property
    def vqa_accuracy(self) -> float | None:
        """The published enhanced score, over all questions."""
        part = self.parts.get("enhanced")
        return part.overall.value if part else 0.0 if self.scored and self.overall.total else None

    @property
    def success_rate(self) -> float | None:
        return self.overall.answered / self.overall.total if self.overall.total else None

    @property
    def assessment(self) -> str:
        """The published framework's word for its VQA accuracy, "N/A" where there is none."""
        reached = self.vqa_accuracy
        return "N/A" if reached is None else next(word for least, word in ASSESSMENTS if reached >= least)


class FigureWatch:
    """Adds up the figures while a caller walks over the records of `watching`."""

    def __init__(self) -> None:
        self.labelled = self.sentences = 0
        self.shown: list[ShownQuestion] = []
        self._latencies_s = array("d")
        self._normalised, self._official, self._unanimous = array("d"), array("d"), bytearray()
        self._scores: dict[str, dict[str, array[float]]] = {}

    def watching(self, pairs: Iterable[tuple[Question, Record]]) -> Iterator[Record]:
        for question, record in pairs:
            self.labelled += bool(question.references)
            self.sentences += is_sentence(record.answer or "")
            if record.status in ANSWERED:
                self._latencies_s.append(record.latency_s)
            scores = self._scores.setdefault(str(question.groups["kind"]), {name: array("d") for name in _PUBLISHED})
            for name, values in scores.items():
                values.append(record.parts.get(name, 0.0))
            if question.references:
                self._normalised.append(record.parts.get("normalised", 0.0))
                self._official.append(record.parts.get("official", 0.0))
                self._unanimous.append(unanimous(question.references))
            if len(self.shown) < SHOWN:
                self.shown.append(_shown_question(question, record))
            yield record

    def times(self) -> Times:
        values = self._latencies_s
        if not values:
            return Times(n=0)
        cuts = statistics.quantiles(values, n=20, method="inclusive") if len(values) > 1 else [values[0]] * 19
        return Times(n=len(values), mean=fsum(values) / len(values), median=cuts[9], p95=cuts[18])

    def gap(self) -> Gap | None:
        """The gap between the official and the normalised accuracy, over the questions with known answers."""
        return gap_between(self._normalised, self._official, self._unanimous)

    def kinds(self) -> dict[str, KindFigures]:
        """The figures of each kind, also of kinds without questions."""
        return {kind: _figures(self._scores.get(kind)) for kind in (*KINDS, *sorted(set(self._scores) - set(KINDS)))}


_PUBLISHED: Final = ("simple", "enhanced", "normalised")


def _figures(scores: "dict[str, array[float]] | None") -> KindFigures:
    if scores is None:
        return KindFigures()
    total = len(scores["simple"])
    return KindFigures(
        total=total,
        correct=round(fsum(scores["simple"])),
        vqa_accuracy=fsum(scores["enhanced"]) / total,
        normalised=fsum(scores["normalised"]) / total,
    )


def _shown_question(question: Question, record: Record) -> ShownQuestion:
    return ShownQuestion(
        id=question.id,
        question=question.text,
        kind=str(question.groups["kind"]),
        gold=question.extra["multiple_choice_answer"],
        answer=reply_words(record),
        correct=record.parts.get("simple", 0.0) >= 1.0 if question.references else None,
    )


def reply_words(record: Record) -> str:
    """The answer or the reply of a record, or its error."""
    if record.status in ANSWERED:
        return record.answer if record.answer is not None else (record.output or "")
    return f"error: {record.error.message if record.error else record.status}"


def kind_figures(kinds: dict[str, KindFigures], *, scored: bool) -> dict[str, Any]:
    """The question-type analysis of a report, accuracies in [0, 1]."""
    scores = ("correct", "accuracy", "vqa_accuracy", "normalised")
    return {
        name: {"total": kind.total, **{score: getattr(kind, score) if scored else None for score in scores}}
        for name, kind in kinds.items()
    }
