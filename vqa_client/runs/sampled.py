"""Any benchmark's plan over a drawn part of its questions."""

from array import array
from collections.abc import Iterable, Iterator
from functools import partial

from msgspec.structs import replace

from vqa_client.errors import UsageError
from vqa_client.reports.run import Sample
from vqa_client.runs.plan import Note, Plan
from vqa_client.scoring.stratified import drawn
from vqa_client.settings.run import RunSettings
from vqa_client.task import Walk
from vqa_client.types import Question, group_text


def sampled(plan: Plan, settings: RunSettings, note: Note) -> Plan:
    """The same plan with `--sample` of its questions; raises UsageError for a field that they don't have.

    As with --limit, what was drawn is no part of the run's identity: a larger sample later asks only what is new.
    """
    size = settings.sample or 0
    fields = tuple(field.strip() for field in settings.by.split(",") if field.strip())
    places = drawn(((each.id, _stratum(each, fields)) for each in plan.loaded.questions), size, settings.seed)
    if len(places) < size:
        note(f"{plan.title}: there are {plan.loaded.count:,} questions, and all are asked (--sample {size})")
    loaded = replace(plan.loaded, questions=Walk(partial(_at_places, plan.loaded.questions, places)), count=len(places))
    sample = Sample(size=len(places), of=plan.loaded.count, by=fields, seed=settings.seed)
    return replace(plan, loaded=loaded, sample=sample)


def _stratum(question: Question, fields: tuple[str, ...]) -> str:
    unknown = next((field for field in fields if field not in question.groups), None)
    if unknown is not None:
        raise UsageError(
            f"--by {unknown}: question {question.id} has no such field", hint=f"it has {', '.join(question.groups)}"
        )
    return "\n".join(group_text(question.groups[field]) for field in fields)


def _at_places(questions: Iterable[Question], places: "array[int]") -> Iterator[Question]:
    """The questions at these places, in the order of the data file."""
    wanted = iter(places)
    place = next(wanted, None)
    for number, question in enumerate(questions):
        if number == place:
            yield question
            place = next(wanted, None)
