"""The plan of mc with its choices in a drawn order, or in every rotation."""

from collections.abc import Iterable, Iterator
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.reports.choice_order import write_circular, write_shuffled
from vqa_client.runs.plan import Plan
from vqa_client.runs.varied import varied
from vqa_client.scoring.choices.order import names_others, rotation, shuffled
from vqa_client.scoring.choices.reordered import as_shown
from vqa_client.settings.longbench import McSettings
from vqa_client.types import Question

FIXED = "choices_name_each_other"
"""Why a question is left out: in another order, "all of the above" means something else."""
ROTATIONS = 4
"""mc's questions have four choices each."""


def shuffled_plan(plan: Plan, settings: McSettings) -> Plan:
    """Every question once, its choices in an order drawn from the seed and its id."""
    variant = shuffled(settings.seed)

    def forms(question: Question) -> Iterator[Question]:
        yield as_shown(replace(question, variant=variant))

    return varied(
        _movable(plan), "shuffled", forms, times=1, write=partial(write_shuffled, write=plan.write), asked=variant
    )


def circular_plan(plan: Plan, settings: McSettings) -> Plan:
    """Every question with its choices in each rotation."""

    def forms(question: Question) -> Iterator[Question]:
        for by in range(ROTATIONS):
            yield as_shown(replace(question, variant=rotation(by)))

    write = partial(write_circular, rotations=ROTATIONS)
    return varied(_movable(plan), "circular", forms, times=ROTATIONS, write=write)


def _movable(plan: Plan) -> Plan:
    """The plan without the questions whose choices name each other."""
    fixed = tuple(each.id for each in plan.loaded.questions if names_others(each.choices))
    if not fixed:
        return plan
    loaded = replace(
        plan.loaded,
        questions=_Without(questions=plan.loaded.questions, left_out=frozenset(fixed)),
        count=plan.loaded.count - len(fixed),
        left_out={**plan.loaded.left_out, FIXED: fixed},
    )
    return replace(plan, loaded=loaded)


class _Without(Struct, frozen=True, kw_only=True):
    questions: Iterable[Question]
    left_out: frozenset[str]

    def __iter__(self) -> Iterator[Question]:
        return (question for question in self.questions if question.id not in self.left_out)
