"""Any benchmark's plan, each question asked with its images and without them."""

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from vqa_client.errors import UsageError
from vqa_client.reports.blind import BLIND, SEEN, write
from vqa_client.runs.plan import Plan
from vqa_client.runs.varied import varied
from vqa_client.settings.run import RunSettings
from vqa_client.types import Question


def blind_plan(plan: Plan, settings: RunSettings) -> Plan:
    """The plan with variants "seen" and "blind", word for word the same prompt; raises UsageError without images."""
    if plan.images_dir is None:
        raise UsageError("--blind leaves the images out, and a text-only run has none", hint="leave out --text_only")
    return varied(
        plan,
        BLIND,
        _forms,
        count=2 * plan.loaded.count,
        write=partial(write, comparable=plan.task.description.compares_answers),
    )


def _forms(question: Question) -> Iterator[Question]:
    yield replace(question, variant=SEEN)
    yield replace(question, variant=BLIND, images=())
