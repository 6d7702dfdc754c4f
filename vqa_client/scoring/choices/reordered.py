"""A question whose choices stand in another order; the right letter moves with its text."""

from msgspec.structs import replace

from vqa_client.scoring.choices.order import order_of
from vqa_client.types import Question


def as_shown(question: Question) -> Question:
    """The question as its variant shows it: one whose variant says nothing of an order stays as it is."""
    order = order_of(question.variant, tuple(question.choices), question.id)
    if order is None or not question.choices:
        return question
    labels = sorted(question.choices)
    shown = dict(zip(order, labels, strict=True))
    return replace(
        question,
        choices={label: question.choices[filed] for filed, label in shown.items()},
        references=tuple(shown.get(reference, reference) for reference in question.references),
    )
