"""What the page shows of judges beside the rule, and which questions each of the two calls right alone."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from vqa_client.html.figures import Figure, of_mean, state_link
from vqa_client.reports.judged import Beside, Verdicts, agreement, coverage, kappa_text, name_of, read_judged, scored_by
from vqa_client.reports.log_reader import Key
from vqa_client.reports.logged_run import LoggedRun

SIDES = ("raised", "lowered")


class Judging(Struct, frozen=True, kw_only=True):
    """One judge beside the rule; `cells` has each cell of the table with the link to its questions, "" without one.

    `forms` are the figures of each form by the judge, and by the rule, in a run that asks its questions in several.
    """

    title: str
    of: Verdicts
    figures: tuple[Figure, ...]
    cells: tuple[tuple[str, tuple[tuple[int, str], ...]], ...]
    lines: tuple[str, ...]
    forms: tuple[tuple[Figure, ...], tuple[Figure, ...]]


def judgings(run: LoggedRun) -> tuple[list[Judging], list[str]]:
    """Every judge of a run, and what there is to know of all of them."""
    found, unreadable = read_judged(run.log)
    shown = [_judging(one, of) for one in found for of in one.verdicts]
    now = scored_by(run.facts.scoring, run.facts.described)
    notes = [
        f"{one.kind}: the rule's scores are from before the run was scored again; judge --kind {one.kind} has today's"
        for one in found
        if one.scored and one.scored != now
    ]
    notes += [note for one in found for note in one.notes]
    for one in found:
        notes += [f"kappa of {name}: {kappa_text(kappa)}" for name, kappa in one.pairs.items()]
        notes += [f"Fleiss' kappa of all judges: {kappa_text(one.fleiss)}"] if one.fleiss else []
    return shown, [*notes, *(f"{name} can't be read: ask the judge again" for name in unreadable)]


def rows_of_judges(run: LoggedRun, keys: Sequence[Key]) -> list[dict[str, Any]]:
    """Of every judge the numbers of the rows, by `keys`, that one side alone calls right."""
    numbers = {key: number for number, key in enumerate(keys)}
    return [
        {"name": _title(one, of)}
        | {side: [numbers[key] for key in getattr(of, side) if key in numbers] for side in SIDES}
        for one in read_judged(run.log)[0]
        for of in one.verdicts
    ]


def _title(one: Beside, of: Verdicts) -> str:
    return f"{one.kind} by {of.judge.name}"


def _judging(one: Beside, of: Verdicts) -> Judging:
    right, wrong = of.table
    raised, lowered = (state_link(judge=f"{_title(one, of)}/{side}") for side in SIDES)
    return Judging(
        title=f"{one.kind} by {name_of(of)}",
        of=of,
        figures=(
            Figure(label="by the judge", n=of.judged, share=of.accuracy, interval=of.interval),
            Figure(label=f"by the rule ({one.headline})", n=of.judged, share=of.rule, interval=of.rule_interval),
        ),
        cells=(
            ("rule right", ((right[0], ""), (right[1], lowered))),
            ("rule wrong", ((wrong[0], raised), (wrong[1], ""))),
        ),
        lines=(*coverage(of), *(agreement(of) if of.judged else ())),
        forms=(
            tuple(of_mean(form.name, form.judge) for form in of.forms),
            tuple(of_mean(form.name, form.rule) for form in of.forms),
        ),
    )
