"""MME's tasks, and how its script and lmms-eval read "yes" or "no": in the first four characters of a reply."""

from typing import Final

from msgspec import Struct

from vqa_client.scoring.reply import Reply
from vqa_client.types import Answer, Question

COGNITION: Final = ("commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning")
PERCEPTION: Final = (
    *("existence", "count", "position", "color", "posters", "celebrity", "scene", "landmark", "artwork", "OCR"),
)
APART: Final = "questions_answers_YN"
"""The folder of the questions where they aren't beside the images."""


class Line(Struct):
    """A line of a text file, which has the name of its image."""

    question: str
    answer: str


def published(reply: Reply, question: Question) -> Answer:
    """MME's own script: the reply as it came, in small letters."""
    del question
    return _within(reply.completion.text.lower()[:4])


def lmms_eval(reply: Reply, question: Question) -> Answer:
    """lmms-eval (75571cfe): without outer spaces and full stops; "y" or "n" alone is the word."""
    del question
    said = reply.completion.text.lower().strip().replace(".", "")
    return _within({"y": "yes", "n": "no"}.get(said, said if len(said) > 1 else "")[:4])


def _within(start: str) -> Answer:
    said = next((word for word in ("yes", "no") if word in start), None)
    return Answer(text=said, status="ok" if said else "unparsed", rule="first four characters")
