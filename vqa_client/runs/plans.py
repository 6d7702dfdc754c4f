"""What a command is to do: its plans, checked and loaded before anything is asked."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vqa_client.errors import DataError, UsageError
from vqa_client.model_config import ModelSettings
from vqa_client.reports.report import Report
from vqa_client.runs.blind import blind_plan
from vqa_client.runs.corrupted import corrupted_plans
from vqa_client.runs.explain import explain_plans
from vqa_client.runs.longbench import mc_plans, niah_plans
from vqa_client.runs.plan import Note, Plan
from vqa_client.runs.reordered import circular_plan, shuffled_plan
from vqa_client.runs.repeated import repeated
from vqa_client.runs.sampled import sampled
from vqa_client.runs.vqa2 import combine_reports, vqa2_plans
from vqa_client.settings import ExplainSettings, McSettings, NiahSettings, Vqa2Settings
from vqa_client.settings.corrupted import RobustnessRun
from vqa_client.settings.run import RunSettings

NOTHING_LEFT = "look at the reasons above: the ids, the blacklist, the image folder"

PLANNERS: dict[type[RunSettings], Callable[[Any, str | None, ModelSettings | None, Note], list[Plan]]] = {
    McSettings: mc_plans,
    NiahSettings: niah_plans,
    Vqa2Settings: vqa2_plans,
    ExplainSettings: explain_plans,
}
"""Who makes a command's plans."""
VARIED: dict[str, Callable[[Plan, Any], Plan]] = {
    "--repeat": repeated,
    "--blind": blind_plan,
    "--shuffle_choices": shuffled_plan,
    "--circular": circular_plan,
}
"""Who makes of a plan one that asks its questions in other forms, by the option that wants it."""
FINISHERS: dict[type[RunSettings], Callable[[Any, Sequence[Report], Mapping[str, Exception], Note], None]] = {
    Vqa2Settings: combine_reports
}
"""Who writes what all reports of a command make together."""


def make_plans(
    settings: RunSettings,
    config: str | None,
    model: ModelSettings | None,
    note: Note,
    *,
    corrupted: RobustnessRun | None = None,
) -> list[Plan]:
    """Check and load everything a command needs; raises DataError or UsageError before any question is asked."""
    plans = PLANNERS[type(settings)](settings, config, model, note)
    if settings.sample is not None:
        plans = [sampled(plan, settings, note) for plan in plans]
    if settings.variations:
        if corrupted is not None:
            raise UsageError(f"{settings.variations[0]} can't be combined with corruptions", hint="a run for each")
        plans = [VARIED[settings.variations[0]](plan, settings) for plan in plans]
    if corrupted is not None:
        plans = corrupted_plans(plans, corrupted, settings)
    for plan in plans:
        _check_place(plan.paths.report)
        _tell(plan, note)
        if not plan.loaded.count and plan.limit != 0:
            raise DataError(f"{plan.title}: no question is left to ask of {plan.data_path}", hint=NOTHING_LEFT)
    return plans


def finish(settings: RunSettings, reports: Sequence[Report], errors: Mapping[str, Exception], note: Note) -> None:
    """Write what all reports together make, once the last one is done; `errors` are of configs without a report."""
    if type(settings) in FINISHERS and not settings.variations:
        FINISHERS[type(settings)](settings, reports, errors, note)


def _tell(plan: Plan, note: Note) -> None:
    for reason, ids in plan.loaded.left_out.items():
        shown = ", ".join(ids[:3]) + (", ..." if len(ids) > 3 else "")
        note(f"{plan.title}: {len(ids)} left out ({reason.replace('_', ' ')}): {shown}")
    if plan.missing_pages:
        document, numbers = next(iter(plan.missing_pages.items()))
        note(f"{plan.title}: {len(plan.missing_pages)} documents have gaps, {document} lacks page {numbers[0]}")


def _check_place(report: Path) -> None:
    """Raise UsageError where the report could not be written, before hours are spent on it."""
    place = report.parent
    there = next((path for path in (place, *place.absolute().parents) if path.exists()), Path())
    if not there.is_dir():
        raise UsageError(f"{report} can't be written: {there} is a file, not a folder", hint="choose another --output")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"{report} can't be written: no right to write in {there}", hint="choose another --output")
