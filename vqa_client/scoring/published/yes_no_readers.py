"""How published scorers read "yes" or "no" from a reply, and the totals of POPE, MME and HallusionBench."""

from collections.abc import Callable, Hashable
from typing import Any, Final

from msgspec import Struct

from vqa_client.scoring.reply import Reply
from vqa_client.scoring.vqa_normalise import STOP_BETWEEN_WORDS, without_marks
from vqa_client.types import Answer, Question, group_values

COGNITION: Final = ("commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning")
PERCEPTION: Final = (
    *("existence", "count", "position", "color", "posters", "celebrity", "scene", "landmark", "artwork", "OCR"),
)
APART: Final = "questions_answers_YN"
"""The folder of the questions if they aren't next to the images."""


def pope_yes(reply: Reply, question: Question) -> Answer:
    """POPE's own reader: "no" if the first sentence has the word No, not or no, else "yes".

    Source: evaluate.py of AoiDragon/POPE.
    """
    del question
    words = reply.raw.partition(".")[0].replace(",", "").split(" ")
    return Answer(text="no" if any(word in ("No", "not", "no") for word in words) else "yes", rule="pope")


def yorn(reply: Reply, question: Question) -> Answer:
    """VLMEvalKit's reader: "yes" or "no" if the reply has only one of the two words."""
    del question
    words = without_marks(reply.raw.lower(), STOP_BETWEEN_WORDS).split()
    yes, no = "yes" in words, "no" in words
    return Answer(status="unparsed", rule="yorn") if yes == no else Answer(text="yes" if yes else "no", rule="yorn")


def mme(reply: Reply, question: Question) -> Answer:
    """MME's own script: the first four characters of the unchanged reply, in small letters."""
    del question
    return _in_four(reply.completion.text.lower()[:4])


def lmms_mme(reply: Reply, question: Question) -> Answer:
    """lmms-eval for MME (75571cfe): without outer spaces and full stops; "y" or "n" alone is the word."""
    del question
    text = reply.completion.text.lower().strip().replace(".", "")
    return _in_four({"y": "yes", "n": "no"}.get(text, text if len(text) > 1 else "")[:4])


def _in_four(start: str) -> Answer:
    word = next((word for word in ("yes", "no") if word in start), None)
    return Answer(text=word, status="ok" if word else "unparsed", rule="first four characters")


def lmms_letters(reply: Reply, question: Question) -> Answer:
    """lmms-eval for HallusionBench: "yes" if these letters are anywhere in the reply, else "no"."""
    del question
    return Answer(text="yes" if "yes" in reply.completion.text.lower() else "no", rule="letters")


def lmms_pope(reply: Reply, question: Question) -> Answer:
    """lmms-eval for POPE (75571cfe): the whole reply is the word, ignoring case and outer spaces."""
    del question
    text = reply.completion.text.strip().lower()
    known = text in ("yes", "no")
    return Answer(text=text if known else None, status="ok" if known else "unparsed", rule="the word alone")


def counts(scored: Any) -> tuple[int, ...]:
    """Hits, answers "yes", objects that are there, those answered "no", and questions; once per file of a question."""
    there, answer = scored.question.references == ("yes",), scored.answer
    files = len(group_values(scored.question.groups.get("kind", "")))
    parts = (there and answer == "yes", answer == "yes", there, there and answer == "no", True)
    return tuple(files * part for part in parts)


def once(scored: Any) -> tuple[int, ...]:
    """`counts` once per question, even if it is in several files."""
    return tuple(min(1, part) for part in counts(scored))


def within(kind: str) -> Callable[[Any], tuple[int, ...] | None]:
    """`once` for questions of a kind, None for others."""
    return lambda scored: once(scored) if kind in group_values(scored.question.groups["kind"]) else None


def precision(hits: float, said_yes: float, *others: float) -> float:
    """The share of answers "yes" that are right."""
    return hits / said_yes


def recall(hits: float, said_yes: float, there: float, *others: float) -> float:
    """The share of objects that are there with the answer "yes"."""
    return hits / there


def f1(hits: float, said_yes: float, there: float, *others: float) -> float:
    """The harmonic mean of precision and recall."""
    of_said, of_there = hits / said_yes, hits / there
    return 2 * of_said * of_there / (of_said + of_there)


def recall_lmms(hits: float, said_yes: float, there: float, denied: float, n: float) -> float:
    """lmms-eval's recall, in which only answers "no" are misses; 0 without a hit."""
    return hits / (hits + denied) if hits else 0.0


def f1_lmms(hits: float, said_yes: float, there: float, denied: float, n: float) -> float:
    """lmms-eval's F1, from `recall_lmms`."""
    return f1(hits, said_yes, hits + denied) if hits else 0.0


def yes_share(hits: float, said_yes: float, there: float, denied: float, n: float) -> float:
    """The share of questions answered "yes"."""
    return said_yes / n


class ImageLine(Struct):
    """A line of a text file that has the name of its image."""

    question: str
    answer: str


def by(*names: str) -> Callable[[Any], Hashable]:
    """The key of a group of HallusionBench: these fields of the row of a scored question.

    The published script leaves out figures of questions without an image, which test what a model knows; lmms-eval
    counts them, and VLMEvalKit (e8e78f05) joins the two categories of a set.
    """
    return lambda scored: tuple(getattr(scored.question.row, name) for name in names)


FIGURE = by("category", "subcategory", "set_id", "figure_id")
PAIR = by("category", "subcategory", "set_id", "question_id")
KIT_FIGURE = by("subcategory", "set_id", "figure_id")
KIT_PAIR = by("subcategory", "set_id", "question_id")


def figure(scored: Any) -> Hashable:
    """The key of a figure, None for a question without an image."""
    row = scored.question.row
    return None if (row.category, row.figure_id) == ("VS", "0") else FIGURE(scored)
