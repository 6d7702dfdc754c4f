"""What one annotator answered, as VQA annotation files write it."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from vqa_client.scoring.vqa_normalise import normalised


class HumanAnswer(Struct, frozen=True, kw_only=True, gc=False):
    """One of the answers to a question; `answer_id` and `answer_confidence` are None where the file has none."""

    answer: str
    answer_confidence: str | None = None
    answer_id: int | str | None = None


Answers = Sequence[HumanAnswer | str]
"""The answers to one question; plain texts count as given by different annotators."""


def texts(answers: Answers) -> list[str]:
    """The answers without what is known of the annotators."""
    return [answer if isinstance(answer, str) else answer.answer for answer in answers]


def told_apart(answers: Answers) -> Answers:
    """The texts alone where every annotator has an id of their own: these then say all that scores depend on."""
    ids = {answer.answer_id for answer in answers if isinstance(answer, HumanAnswer)}
    return texts(answers) if len(ids) == len(answers) else answers


def majority(answers: Answers) -> str:
    """The answer given most often, normalised; of several the first by alphabet, so that no order decides."""
    counts = Counter(normalised(text) for text in texts(answers))
    return min(counts, key=lambda text: (-counts[text], text), default="")
