"""What a judge may be asked: the labels of each kind, how its verdict is read, and what that is worth."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.scoring.choices.modes import parse_with
from vqa_client.scoring.readings import label_in, verdict_in
from vqa_client.scoring.reply import Reply
from vqa_client.scoring.short_answers import folded
from vqa_client.settings.judge import JudgeKind
from vqa_client.types import Answer, Choosing, Question, Record, Status

UNCLEAR: Final = "unclear"
NONE, SEVERAL, NOT_IN_REPLY, NO_VERDICT = "none", "several", "not_in_reply", "no_verdict"
_SIDES: Final = {"first": 1.0, "second": 0.0, "equal": 0.5}
_AGAIN: Final = re.compile(r"(?:^|/)verdict/(\d+)$")


class Judged(Struct, frozen=True, kw_only=True):
    """A reply that is judged: its question and its record, and what is shown of it; of a pair, both replies."""

    question: Question
    record: Record
    replies: tuple[str, ...]

    def turned(self) -> "Judged":
        """The same pair in the other order."""
        return Judged(question=self.question, record=self.record, replies=self.replies[::-1])


def variant_of(judged: str, order: str = "", number: int = 1) -> str:
    """A verdict's variant: that of the judged reply, where it is in a pair, and which of the repeats it is."""
    return "/".join(filter(None, (judged, order, f"verdict/{number}" if number > 1 else "")))


def part_of(variant: str, kind: JudgeKind) -> tuple[str, str, int]:
    """The parts that `variant_of` has put together."""
    again = _AGAIN.search(variant)
    shown = variant[: again.start()] if again else variant
    judged, _, order = shown.rpartition("/") if kind == "pair" else (shown, "", "")
    return judged, order, int(again[1]) if again else 1


def labels_of(kind: JudgeKind, question: Question, grades: Sequence[int]) -> tuple[str, ...]:
    """What a verdict may be, nothing for a free text."""
    if kind == "match":
        return (*question.choices, NONE, SEVERAL)
    return {
        "correct": ("correct", "incorrect", UNCLEAR),
        "grade": (*map(str, grades), UNCLEAR),
        "pair": ("first", "second", "equal", UNCLEAR),
    }.get(kind, ())


def keys_of(kind: JudgeKind, labels: Sequence[str]) -> dict[str, str]:
    """Each label by the one character that names it where a server chooses: its own, or a letter."""
    if kind in ("match", "grade"):
        own = [label for label in labels if label not in (NONE, SEVERAL, UNCLEAR)]
        others = (letter for letter in "NSUXYZ" if letter not in own)
        return {label if label in own else next(others): label for label in labels}
    return dict(zip("ABCD", labels, strict=False))


def expected(kind: JudgeKind, judged: Judged, order: str, grades: Sequence[int]) -> tuple[str, ...]:
    """The verdicts that are worth most."""
    if kind in ("match", "extract"):
        return judged.question.references
    return {"correct": ("correct",), "grade": (str(grades[-1]),)}.get(kind, (order,))


def read(reply: Reply, question: Question, kind: JudgeKind, choosing: Choosing | None = None) -> Answer:
    """The verdict of a judge's reply: a label, or what was copied; anything else leaves the question undecided."""
    if choosing is not None:
        return _chosen(parse_with(choosing)(reply, question), question.choices)
    said = verdict_in(reply)
    if said is None:
        if reply.declines:
            return Answer(status="refused", rule="refusal")
        return Answer(status="truncated" if reply.cut else "unparsed", rule=NO_VERDICT)
    if kind != "extract":
        label = label_in(said, question.choices)
        if label is None:
            return Answer(status="unparsed", rule="no_label", rivals=(said,))
        return _decided(Answer(text=label, rule="verdict"))
    if said.casefold() == NONE:
        return Answer(status="unparsed", rule=NONE)
    shown: Judged = question.row_as(Judged)
    if not said or folded(said) not in folded(shown.replies[0]):
        return Answer(status="unparsed", rule=NOT_IN_REPLY, rivals=(said,))
    return Answer(text=said, rule="verdict")


def _chosen(answer: Answer, labels: Mapping[str, str]) -> Answer:
    """The label that a server chose by its character; the probabilities are the labels' too."""
    shares = {labels[key]: share for key, share in answer.probabilities.items()}
    return _decided(replace(answer, text=answer.text and labels[answer.text], probabilities=shares))


def _decided(answer: Answer) -> Answer:
    """A verdict; that the reply commits to no choice, or to several, is a status."""
    if answer.text in (NONE, SEVERAL):
        status: Status = "unparsed" if answer.text == NONE else "ambiguous"
        return replace(answer, text=None, status=status, rule=answer.text)
    return answer


def worth(kind: JudgeKind, verdict: str, order: str, grades: Sequence[int]) -> float | None:
    """What a verdict of `correct`, `grade` or `pair` is worth to the judged run; None for "unclear"."""
    if verdict == UNCLEAR:
        return None
    if kind == "correct":
        return float(verdict == "correct")
    if kind == "grade":
        return (int(verdict) - grades[0]) / (grades[-1] - grades[0])
    return _SIDES[verdict] if order == "first" else 1 - _SIDES[verdict]
