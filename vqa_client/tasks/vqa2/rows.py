"""What a VQA file says of one question: the question itself, and its annotation."""

import re
from collections import Counter
from typing import Literal

from msgspec import Struct

from vqa_client.scoring.vqa_accuracy import HumanAnswer, texts

Kind = Literal["yes/no", "color", "count", "other"]
Id = int | str
_COLOR = re.compile(r"\bcolou?rs?\b", re.IGNORECASE)
_COUNT = re.compile(r"\bhow many\b", re.IGNORECASE)
_YES_NO = re.compile(
    r"\s*(?:is|are|was|were|am|do|does|did|can|could|will|would|has|have|had|should|shall|may|might)(?:n't)?\b",
    re.IGNORECASE,
)


class QuestionRow(Struct, frozen=True, kw_only=True):
    """A record of `questions`."""

    question_id: Id
    image_id: Id
    question: str


class AnnotationRow(Struct, frozen=True, kw_only=True):
    """A record of `annotations`; `answers` are mostly ten, each with its own `answer_id`."""

    question_id: Id
    multiple_choice_answer: str | None = None
    answers: tuple[HumanAnswer | str, ...] = ()
    question_type: str | None = None
    answer_type: str | None = None

    @property
    def given(self) -> tuple[HumanAnswer | str, ...]:
        """The answers that reply to something; the one answer of a file that has no list of them."""
        if not self.answers and self.multiple_choice_answer:
            return (self.multiple_choice_answer,)
        return self.answers

    @property
    def gold(self) -> str:
        """The answer that most gave, as the file says, else counted: of equally frequent ones the alphabet's first."""
        if self.multiple_choice_answer:
            return self.multiple_choice_answer
        counts = Counter(texts(self.answers))
        return min(counts, key=lambda answer: (-counts[answer], answer), default="")


def kind_of(question: str, gold: str | None) -> Kind:
    """Name the kind of a question by its answer, or by its first word where there is none, and by its words."""
    yes_no = _YES_NO.match(question) if gold is None else gold.strip().lower() in ("yes", "no")
    if yes_no:
        return "yes/no"
    if _COLOR.search(question):
        return "color"
    return "count" if _COUNT.search(question) else "other"
