"""Any benchmark's plans, asked once clean and once for each corruption and level."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby

from msgspec.structs import replace

from vqa_client.errors import UsageError
from vqa_client.images.corruptions import needs_extra
from vqa_client.images.corruptions.table import chosen, numbers
from vqa_client.reports.robustness.report import Corrupted, write
from vqa_client.runs.plan import Plan
from vqa_client.runs.resume import RunPaths
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.settings.run import RunSettings
from vqa_client.task import Walk
from vqa_client.types import Question

CLEAN = "clean"
CORRUPTED = "corrupted"
"""Where a run file has the settings of the corruptions."""
NAMED_AT_MOST = 2
NOT_WRITTEN = ("coco_captions", "csv_safe", "verbose")
"""Options of the benchmarks' own reports and tables."""


def corrupted_plans(plans: Sequence[Plan], run: RobustnessRun, settings: RunSettings) -> list[Plan]:
    """The same plans over every variant, each with one log and one report of all.

    Raises UsageError without images, and for an option of what a robustness run doesn't write.
    """
    needs_extra()
    for option in NOT_WRITTEN:
        if getattr(settings, option, False):
            raise UsageError(
                f"--{option} can't be combined with corruptions", hint="it is of a report that this run doesn't write"
            )
    variants = _variants(run)
    return [_corrupted(plan, run, variants) for plan in plans]


def _variants(run: RobustnessRun) -> tuple[tuple[str, int], ...]:
    """Every corruption and level, the clean image once and first."""
    levels = numbers(run.levels, least=0)
    above = ",".join(str(level) for level in levels if level)
    corrupted = [(one.name, one.level) for one in chosen(run.corruptions, above or "1")]  # a name is checked always
    return (*([("", 0)] if 0 in levels else []), *(corrupted if above else []))


def variant_name(corruption: str, level: int) -> str:
    """Name a variant, such as "gaussian_noise/3"; the clean one is "clean"."""
    return f"{corruption}/{level}" if level else CLEAN


def _corrupted(plan: Plan, run: RobustnessRun, variants: tuple[tuple[str, int], ...]) -> Plan:
    if plan.images_dir is None:
        raise UsageError("there are no images to corrupt in a text-only run", hint="leave out --text_only")
    report = plan.paths.report
    loaded = replace(
        plan.loaded,
        questions=Walk(partial(_in_variants, plan.loaded.questions, variants)),
        count=plan.loaded.count * len(variants),
    )
    return replace(
        plan,
        loaded=loaded,
        paths=RunPaths.beside(report.with_name(f"{report.stem}_robustness.json")),
        shown=_told(variants),
        write=partial(
            write,
            question_type=plan.task.description.question_type,
            corrupted=Corrupted(profile=run.profile, seed=run.corruption_seed),
            published_files=run.published_files,
        ),
        identity={**plan.identity, "profile": run.profile, "corruption_seed": run.corruption_seed},
        described={**plan.described, CORRUPTED: asdict(run)},
    )


def _told(variants: Sequence[tuple[str, int]]) -> str:
    """What is shown, for the displays: "snow, contrast, levels 0, 3"."""
    names = [name for name in dict.fromkeys(name for name, _ in variants) if name]
    levels = ", ".join(str(level) for level in sorted({level for _, level in variants}))
    told = ", ".join(names) if len(names) <= NAMED_AT_MOST else f"{len(names)} corruptions"
    return f"{told}, levels {levels}" if names else "level 0"


def _in_variants(questions: Iterable[Question], variants: tuple[tuple[str, int], ...]) -> Iterator[Question]:
    """Neighbours that show the same images are asked together, so that each variant of these is made once."""
    for _, neighbours in groupby(questions, key=lambda question: question.images):
        group = list(neighbours)
        for corruption, level in variants:
            for question in group:
                yield _shown(question, corruption, level)


def _shown(question: Question, corruption: str, level: int) -> Question:
    return replace(
        question,
        variant=variant_name(corruption, level),
        groups={**question.groups, "corruption": corruption or CLEAN, "level": str(level)},
    )
