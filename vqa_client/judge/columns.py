"""A judged run and each judge's scores in columns: a reply takes some tens of bytes.

If a run asks each question in several forms, also the scores by judge and by rule of each form, and of all together.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from math import fsum
from typing import Final

from vqa_client.aggregates import Running, Scored
from vqa_client.benchmark import Total
from vqa_client.log_lines import Key
from vqa_client.reports.judged import FormMeans, JudgeLog
from vqa_client.reports.logged_run import BLIND, CLEAN, SEEN
from vqa_client.scoring.choices.circular import ROTATION
from vqa_client.scoring.choices.modes import Calibrating
from vqa_client.scoring.paired import difference
from vqa_client.scoring.statistics import Averaging
from vqa_client.types import Question, Record

RIGHT: Final = 0.5
"""The least score that counts as right in tables of right and wrong."""
UNDECIDED, NOT_ASKED, NO_REPLY = -1.0, -2.0, -3.0
"""Values of replies without a score."""
REPEAT: Final = "repeat"
_NAMES: Final = {REPEAT: "repeats", ROTATION: "rotations"}
_TOGETHER: Final[dict[str, Callable[[Sequence[float]], float]]] = {
    "right in all": lambda scores: float(min(scores) >= 1),
    "mean of all": lambda scores: fsum(scores) / len(scores),
    "right in at least one of all": lambda scores: float(max(scores) >= 1),
}
_WORDS: Final = {SEEN: "with images", BLIND: "without images"}
Means = tuple[Averaging, Averaging]
"""The means by the judge and by the rule."""
ScoredReply = tuple[Question, Record, float, bool]
"""The question, its record, its score by the rule, and whether the reply has text."""


class RunReplies:
    """The run's replies in the order of its data.

    `rule` has the score of each reply by the rule, or of a pair by comparing both; `length` its number of characters.
    """

    def __init__(self) -> None:
        self.rule, self.length = array("d"), array("Q")
        self.clusters: list[str] = []
        self.replied = 0

    def add(self, rule: float, length: int, cluster: str, *, replied: bool) -> None:
        """Add the next reply."""
        self.rule.append(rule)
        self.length.append(length)
        self.clusters.append(cluster)
        self.replied += replied


def same_question(variants: Sequence[str]) -> str:
    """The kind of variants if each repeats the same question: "repeat" or "rotation"; else ""."""
    kinds = {variant.partition("/")[0] for variant in variants}
    return kinds.pop() if len(variants) > 1 and len(kinds) == 1 and kinds <= _NAMES.keys() else ""


class ScoresByForm:
    """Adds up one judge's scores by form; has no figures for a run that asks in one form."""

    def __init__(self, variants: Sequence[str]) -> None:
        self._same = same_question(variants)
        self._count = len(variants)
        self._first = next((name for name in (CLEAN, SEEN) if name in variants), "")
        several = sorted(variants, key=lambda name: name != self._first) if self._count > 1 else []
        self._each: dict[str, Means] = {name: (Averaging(), Averaging()) for name in several}
        self._together: dict[str, Means] = {name: (Averaging(), Averaging()) for name in _TOGETHER}
        self._gaps: dict[str, list[tuple[float, float, str]]] = {}

    def add(self, question: Question, scores: Sequence[tuple[str, float, float]], cluster: str) -> None:
        """Add a question's variants with their scores by judge and by rule, without undecided ones."""
        first = next((by_judge for variant, by_judge, _ in scores if variant == self._first), None)
        for variant, by_judge, by_rule in scores if self._each else ():
            _add(self._each[variant], by_judge, by_rule, cluster)
            if first is not None and variant != self._first:
                self._gaps.setdefault(variant, []).append((by_judge, first, cluster))
        if self._same and len(scores) == (len(question.choices) if self._same == ROTATION else self._count):
            _, judge, rule = zip(*scores, strict=True)
            for name, of in _TOGETHER.items():
                _add(self._together[name], of(judge), of(rule), cluster)

    def figures(self) -> tuple[FormMeans, ...]:
        """The figures of all forms together if they repeat one question, then of each form."""
        together = self._together.items() if self._same else ()
        by_form = {f"{name} {_NAMES[self._same]}": means for name, means in together}
        by_form |= {_WORDS.get(name, name): means for name, means in self._each.items() if self._same != REPEAT}
        gaps = {_WORDS.get(name, name): difference(pairs) for name, pairs in self._gaps.items()}
        return tuple(
            FormMeans(name=name, judge=judge.average(), rule=rule.average(), gap=gaps.get(name))
            for name, (judge, rule) in by_form.items()
        )


def _add(means: Means, by_judge: float, by_rule: float, cluster: str) -> None:
    for mean, value in zip(means, (by_judge, by_rule), strict=True):
        mean.add(value, cluster)


class JudgeScores:
    """One judge's scores of the run's replies: only the judge calls the `raised` right, only the rule the `lowered`.

    `judged` says whether the judge was asked about any reply.
    """

    def __init__(self, judge: JudgeLog, variants: Sequence[str], totals: Sequence[Total]) -> None:
        self.judge, self.judged, self.scores = judge, bool(judge.scores), array("d")
        self.raised: list[Key] = []
        self.lowered: list[Key] = []
        self.forms = ScoresByForm(variants)
        self.totals = {total.name: Running(total.value, total.most) for total in totals}
        self.calibrating = Calibrating()

    def add(self, replies: Sequence[ScoredReply], cluster: str) -> None:
        """Add the replies to one question in all its forms."""
        scored_forms = []
        for question, record, rule, replied in replies:
            key = record.key
            known = self.judge.scores.get(key, NOT_ASKED if replied else NO_REPLY)
            score = UNDECIDED if known is None else known
            self.scores.append(score)
            if score >= 0 and (sure := self.judge.sure.get(key)) is not None:
                self.calibrating.add(sure, rule >= RIGHT, (sure - (rule >= RIGHT)) ** 2)
            if score >= 0 and (score >= RIGHT) != (rule >= RIGHT):
                (self.raised if score >= RIGHT else self.lowered).append(key)
            if score >= 0 or score == NO_REPLY:
                counted = Scored(question=question, record=record, answer=record.answer, score=max(score, 0.0))
                for total in self.totals.values():
                    total.add(counted)
            if score != UNDECIDED:
                scored_forms.append((record.form, rule if score == NOT_ASKED else max(score, 0.0), rule))
        self.forms.add(replies[0][0], scored_forms, cluster)

    def sides(self) -> Iterator[bool | None]:
        """Whether the judge calls each reply right; None without a verdict."""
        return (None if score < 0 else score >= RIGHT for score in self.scores)
