"""A judged run and each judge's scores of it in columns: a reply takes some tens of bytes."""

from array import array
from collections.abc import Iterator, Sequence
from typing import Final

from vqa_client.aggregates import Running, Scored
from vqa_client.benchmark import Total
from vqa_client.judge.forms import FormScores
from vqa_client.reports.judged import Judge
from vqa_client.reports.log_reader import Key
from vqa_client.scoring.calibration import Calibrating
from vqa_client.types import Question, Record

RIGHT: Final = 0.5
"""The least score that counts as right in tables of right and wrong."""
UNDECIDED, NOT_ASKED, NO_REPLY = -1.0, -2.0, -3.0
"""In place of a score."""
Reply = tuple[Question, Record, float, bool]
"""What was asked, its record, its score by the rule, and whether it says anything."""


class Columns:
    """The run, in the order of its data.

    `rule` is a reply's score by the rule, of a pair beside the other's; `length` has its characters.
    """

    def __init__(self) -> None:
        self.rule, self.length = array("d"), array("Q")
        self.clusters: list[str] = []
        self.replied = 0

    def add(self, rule: float, length: int, cluster: str, *, replied: bool) -> None:
        """Take the next reply."""
        self.rule.append(rule)
        self.length.append(length)
        self.clusters.append(cluster)
        self.replied += replied


class Column:
    """One judge's scores of these replies; it alone calls the `raised` ones right, only the rule the `lowered`.

    `judged` says whether it was asked about any.
    """

    def __init__(self, judge: Judge, variants: Sequence[str], totals: Sequence[Total]) -> None:
        self.judge, self.judged, self.scores = judge, bool(judge.scores), array("d")
        self.raised: list[Key] = []
        self.lowered: list[Key] = []
        self.forms = FormScores(variants)
        self.totals = {total.name: Running(total.value, total.most) for total in totals}
        self.calibrating = Calibrating()

    def add(self, replies: Sequence[Reply], cluster: str) -> None:
        """Take the replies to one question, in all its forms."""
        found = []
        for question, record, rule, replied in replies:
            key = record.question_id, record.variant
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
                found.append((record.variant, rule if score == NOT_ASKED else max(score, 0.0), rule))
        self.forms.add(replies[0][0], found, cluster)

    def sides(self) -> Iterator[bool | None]:
        """Whether the judge calls each of the replies right; None where it doesn't say."""
        return (None if score < 0 else score >= RIGHT for score in self.scores)
