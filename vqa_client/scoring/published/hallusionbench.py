"""HallusionBench without a judge: how lmms-eval reads replies, and which questions the scorers count as a group.

A key takes a scored question, whose row has the fields that are named. The published script leaves out figures of
questions without an image, as these control what a model knows; lmms-eval (75571cfe) counts them, and VLMEvalKit
(e8e78f05) takes the two categories of one set together.
"""

from collections.abc import Callable, Hashable
from typing import Any

from vqa_client.scoring.reply import Reply
from vqa_client.types import Answer, Question


def lmms_eval(reply: Reply, question: Question) -> Answer:
    """lmms-eval: "yes" where the letters are anywhere in the reply, else "no"."""
    del question
    return Answer(text="yes" if "yes" in reply.completion.text.lower() else "no", rule="letters")


def by(*names: str) -> Callable[[Any], Hashable]:
    """The key of a group: these fields of the row."""
    return lambda scored: tuple(getattr(scored.question.row, name) for name in names)


FIGURE = by("category", "subcategory", "set_id", "figure_id")
PAIR = by("category", "subcategory", "set_id", "question_id")
KIT_FIGURE = by("subcategory", "set_id", "figure_id")
KIT_PAIR = by("subcategory", "set_id", "question_id")


def figure(scored: Any) -> Hashable:
    """The key of a figure, None for what has no image."""
    row = scored.question.row
    return None if (row.category, row.figure_id) == ("VS", "0") else FIGURE(scored)
