"""A plan with the choices of its questions in a drawn order, or in every rotation."""

from collections.abc import Iterable, Iterator
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.reports.choice_order import write_circular, write_shuffled
from vqa_client.runs.plan import Plan
from vqa_client.runs.varied import varied
from vqa_client.scoring.choices.order import as_shown, names_others, rotation, shuffled
from vqa_client.settings.run import RunSettings
from vqa_client.types import Question

FIXED = "choices_name_each_other"
"""Why a question is left out: in another order, "all of the above" means something else."""
NONE = "no_choices"


def shuffled_plan(plan: Plan, settings: RunSettings) -> Plan:
    """Every question once, its choices in an order drawn from the seed and its id."""
    variant, movable = shuffled(settings.seed), _movable(plan)

    def forms(question: Question) -> Iterator[Question]:
        yield as_shown(replace(question, variant=variant))

    return varied(
        movable,
        "shuffled",
        forms,
        count=movable.loaded.count,
        write=partial(write_shuffled, write=plan.write),
        asked=variant,
    )


def circular_plan(plan: Plan, settings: RunSettings) -> Plan:
    """Every question with its choices in each rotation."""

    def forms(question: Question) -> Iterator[Question]:
        for by in range(len(question.choices)):
            yield as_shown(replace(question, variant=rotation(by)))

    movable = _movable(plan)
    count = sum(len(question.choices) for question in movable.loaded.questions)
    return varied(movable, "circular", forms, count=count, write=write_circular)


def _movable(plan: Plan) -> Plan:
    """The plan without the questions whose choices name each other, or that have none."""
    found: dict[str, list[str]] = {}
    for question in plan.loaded.questions:
        if len(question.choices) < 2 or names_others(question.choices):
            found.setdefault(FIXED if question.choices else NONE, []).append(question.id)
    if not found:
        return plan
    fixed = frozenset(id for ids in found.values() for id in ids)
    loaded = replace(
        plan.loaded,
        questions=_Without(questions=plan.loaded.questions, left_out=fixed),
        count=plan.loaded.count - len(fixed),
        left_out={**plan.loaded.left_out, **{reason: tuple(ids) for reason, ids in found.items()}},
    )
    return replace(plan, loaded=loaded)


class _Without(Struct, frozen=True, kw_only=True):
    questions: Iterable[Question]
    left_out: frozenset[str]

    def __iter__(self) -> Iterator[Question]:
        return (question for question in self.questions if question.id not in self.left_out)
