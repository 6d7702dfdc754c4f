"""Any benchmark's plan over several forms of each question, with one log and one report of all."""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.reports.run import Write
from vqa_client.runs.plan import Plan
from vqa_client.runs.resume import RunPaths
from vqa_client.types import Question

Forms = Callable[[Question], Iterable[Question]]
"""Gives the forms in which a question is asked, each with its variant."""


def varied(plan: Plan, name: str, forms: Forms, *, count: int, write: Write, asked: str = "") -> Plan:
    """The plan with `count` forms of all questions; `name` is in its files' names, `asked` in its identity."""
    report = plan.paths.report
    loaded = replace(
        plan.loaded,
        questions=_Varied(questions=plan.loaded.questions, forms=forms),
        count=count,
    )
    return replace(
        plan,
        loaded=loaded,
        paths=RunPaths.beside(report.with_name(f"{report.stem}_{name}.json")),
        write=write,
        identity={**plan.identity, "asked": asked or name},
    )


class _Varied(Struct, frozen=True, kw_only=True):
    """The forms of a question are neighbours, so that a server that keeps prompts' beginnings finds them again."""

    questions: Iterable[Question]
    forms: Forms

    def __iter__(self) -> Iterator[Question]:
        for question in self.questions:
            yield from self.forms(question)
