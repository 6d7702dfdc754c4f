"""What a judge may be asked: the labels of each kind, how its verdict is read, and what that is worth."""

from typing import Final

from msgspec import Struct

from vqa_client.scoring.containment import folded
from vqa_client.scoring.reply import Reply
from vqa_client.scoring.verdict import label_in, verdict_in
from vqa_client.settings.judge import JudgeKind
from vqa_client.types import Answer, Question, Record

UNCLEAR: Final = "unclear"
NONE, SEVERAL, NOT_IN_REPLY, NO_VERDICT = "none", "several", "not_in_reply", "no_verdict"
_SIDES: Final = {"first": 1.0, "second": 0.0, "equal": 0.5}


class Judged(Struct, frozen=True, kw_only=True):
    """A reply that is judged: its question and its record, and what is shown of it; of a pair, both replies."""

    question: Question
    record: Record
    replies: tuple[str, ...]

    def turned(self) -> "Judged":
        """The same pair in the other order."""
        return Judged(question=self.question, record=self.record, replies=self.replies[::-1])


def labels_of(kind: JudgeKind, question: Question, most: int) -> tuple[str, ...]:
    """What a verdict may be, nothing for a free text; `most` is the highest grade."""
    if kind == "match":
        return (*question.choices, NONE, SEVERAL)
    return {
        "correct": ("correct", "incorrect", UNCLEAR),
        "grade": (*map(str, range(most + 1)), UNCLEAR),
        "pair": ("first", "second", "equal", UNCLEAR),
    }.get(kind, ())


def expected(kind: JudgeKind, judged: Judged, order: str, most: int) -> tuple[str, ...]:
    """The verdicts that are worth most."""
    if kind in ("match", "extract"):
        return judged.question.references
    return {"correct": ("correct",), "grade": (str(most),)}.get(kind, (order,))


def read(reply: Reply, question: Question, kind: JudgeKind) -> Answer:
    """The verdict of a judge's reply: a label, or what was copied; anything else leaves the question undecided."""
    said = verdict_in(reply)
    if said is None:
        if reply.declines:
            return Answer(status="refused", rule="refusal")
        return Answer(status="truncated" if reply.cut else "unparsed", rule=NO_VERDICT)
    if kind != "extract":
        label = label_in(said, question.choices)
        if label is None:
            return Answer(status="unparsed", rule="no_label", rivals=(said,))
        if kind == "match" and label in (NONE, SEVERAL):
            return Answer(status="unparsed" if label == NONE else "ambiguous", rule=label)
        return Answer(text=label, rule="verdict")
    if said.casefold() == NONE:
        return Answer(status="unparsed", rule=NONE)
    shown: Judged = question.row_as(Judged)
    if not said or folded(said) not in folded(shown.replies[0]):
        return Answer(status="unparsed", rule=NOT_IN_REPLY, rivals=(said,))
    return Answer(text=said, rule="verdict")


def worth(kind: JudgeKind, verdict: str, order: str, most: int) -> float | None:
    """What a verdict of `correct`, `grade` or `pair` is worth to the judged run; None for "unclear"."""
    if verdict == UNCLEAR:
        return None
    if kind == "correct":
        return float(verdict == "correct")
    if kind == "grade":
        return int(verdict) / most
    return _SIDES[verdict] if order == "first" else 1 - _SIDES[verdict]
