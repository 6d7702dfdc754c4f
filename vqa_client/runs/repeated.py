"""Any benchmark's plan, each question asked several times."""

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from vqa_client.reports.repeats import write
from vqa_client.runs.plan import Plan
from vqa_client.runs.varied import varied
from vqa_client.settings.run import RunSettings
from vqa_client.types import Question


def repeated(plan: Plan, settings: RunSettings) -> Plan:
    """The plan with variants "repeat/1", "repeat/2", ...; more repeats later are asked beside those there are."""
    times = settings.repeat

    def forms(question: Question) -> Iterator[Question]:
        for number in range(1, times + 1):
            yield replace(question, variant=f"repeat/{number}")

    comparable = plan.task.description.compares_answers
    return varied(
        plan,
        "repeated",
        forms,
        count=times * plan.loaded.count,
        write=partial(write, repeats=times, comparable=comparable),
    )
