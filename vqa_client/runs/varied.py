"""Plans made of a plan: several forms of each question with one log and one report, or a drawn part of them."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from vqa_client.errors import UsageError
from vqa_client.images.corruptions import needs_extra
from vqa_client.images.corruptions.table import chosen, numbers
from vqa_client.reports.page_forms import write_circular, write_shuffled
from vqa_client.reports.robustness.report import Corrupted, write
from vqa_client.reports.run import Sample, Write
from vqa_client.reports.varied import BLIND, SEEN, write_blind, write_repeats
from vqa_client.runs.plan import Plan, per_plan
from vqa_client.runs.resume import RunPaths
from vqa_client.scoring.choices.circular import as_shown, names_others, rotation, shuffled
from vqa_client.scoring.stratified import drawn
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.settings.run import RunSettings
from vqa_client.task import Task
from vqa_client.types import Question, group_text

FIXED = "choices_name_each_other"
"""Why a question is left out: in another order, "all of the above" means something else."""
NONE = "no_choices"
UNLISTED = "choices_not_in_prompt"
"""Why a question is left out: its choices are in its image or its text, where their order stays."""
CLEAN = "clean"
CORRUPTED = "corrupted"
"""Where a run file has the settings of the corruptions."""
NAMED_AT_MOST = 2
NOT_WRITTEN = ("coco_captions", "csv_safe", "verbose")
"""Options of the benchmarks' own reports and tables."""

Forms = Callable[[Iterable[Question]], Iterator[Question]]
"""Gives the forms in which questions are asked, each with its variant.

Those of a question are neighbours, so that a server that keeps prompts' beginnings finds them again.
"""


def varied(plan: Plan, name: str, forms: Forms, *, count: int, write: Write, **identity: Any) -> Plan:
    """The plan with `count` forms of all questions; `name` is in its files' names.

    What `identity` says takes the place of a benchmark's option of the same name, which is kept as `own_NAME`.
    """
    report = plan.paths.report
    own = {f"own_{each}": plan.identity[each] for each in identity if each in plan.identity}
    return replace(
        plan.asking(forms, count),
        paths=RunPaths.beside(report.with_name(f"{report.stem}_{name}.json")),
        write=write,
        identity={**plan.identity, **own, **identity},
    )


@per_plan
def repeated(plan: Plan, settings: RunSettings) -> Plan:
    """The plan with variants "repeat/1", "repeat/2", ...; more repeats later are asked beside those there are."""
    times = settings.repeat

    def forms(questions: Iterable[Question]) -> Iterator[Question]:
        for question in questions:
            for number in range(1, times + 1):
                yield replace(question, variant=f"repeat/{number}")

    comparable = plan.task.description.compares_answers
    report = partial(write_repeats, repeats=times, comparable=comparable)
    return varied(plan, "repeated", forms, count=times * plan.loaded.count, write=report, asked="repeated")


@per_plan
def blind(plan: Plan, settings: RunSettings) -> Plan:
    """The plan with variants "seen" and "blind", word for word the same prompt; raises UsageError without images."""
    if plan.images_dir is None:
        raise UsageError("--blind leaves the images out, and a text-only run has none", hint="leave out --text_only")

    def forms(questions: Iterable[Question]) -> Iterator[Question]:
        for question in questions:
            yield replace(question, variant=SEEN)
            yield replace(question, variant=BLIND, images=())

    report = partial(write_blind, comparable=plan.task.description.compares_answers)
    return varied(plan, BLIND, forms, count=2 * plan.loaded.count, write=report, asked=BLIND)


@per_plan
def in_one_order(plan: Plan, settings: RunSettings) -> Plan:
    """Every question once, its choices in an order drawn from the seed and its id."""
    variant, movable = shuffled(settings.seed), _movable(plan)

    def forms(questions: Iterable[Question]) -> Iterator[Question]:
        return (as_shown(replace(question, variant=variant)) for question in questions)

    report = partial(write_shuffled, write=plan.write)
    return varied(movable, "shuffled", forms, count=movable.loaded.count, write=report, asked=variant)


@per_plan
def in_all_orders(plan: Plan, settings: RunSettings) -> Plan:
    """Every question with its choices in each rotation."""

    def forms(questions: Iterable[Question]) -> Iterator[Question]:
        for question in questions:
            for by in range(len(question.choices)):
                yield as_shown(replace(question, variant=rotation(by)))

    movable = _movable(plan)
    count = sum(len(question.choices) for question in movable.loaded.questions)
    return varied(movable, "circular", forms, count=count, write=write_circular, asked="circular")


def _movable(plan: Plan) -> Plan:
    """The plan without the questions that have no choices, or some whose order can't be changed."""
    fixed_ids: dict[str, list[str]] = {}
    for question in plan.loaded.questions:
        if reason := _unmovable(question, plan.task):
            fixed_ids.setdefault(reason, []).append(question.id)
    if not fixed_ids:
        return plan
    fixed = frozenset(id for ids in fixed_ids.values() for id in ids)
    left = plan.asking(
        lambda questions: (each for each in questions if each.id not in fixed), plan.loaded.count - len(fixed)
    )
    left_out = {**plan.loaded.left_out, **{reason: tuple(ids) for reason, ids in fixed_ids.items()}}
    return replace(left, loaded=replace(left.loaded, left_out=left_out))


def _unmovable(question: Question, task: Task) -> str:
    """Why the choices of a question stay in their order, "" where they can be moved."""
    if len(question.choices) < 2 or names_others(question.choices):
        return FIXED if question.choices else NONE
    turned = as_shown(replace(question, variant=rotation(1)))
    return UNLISTED if task.content(turned) == task.content(question) else ""


@per_plan
def corrupted(plan: Plan, settings: RunSettings) -> Plan:
    """The plan over every corruption and level, with one log and one report of all.

    Raises UsageError without images, and for an option of what a robustness run doesn't write.
    """
    for option in NOT_WRITTEN:
        if getattr(settings, option, False):
            raise UsageError(
                f"--{option} can't be combined with corruptions", hint="it is of a report that this run doesn't write"
            )
    run = settings.corrupted
    assert run is not None
    variants = _variants(run)
    needs_extra()
    if plan.images_dir is None:
        raise UsageError("there are no images to corrupt in a text-only run", hint="leave out --text_only")
    of_all = varied(
        plan,
        "robustness",
        partial(_in_variants, variants=variants),
        count=plan.loaded.count * len(variants),
        write=partial(
            write,
            corrupted=Corrupted(profile=run.profile, seed=run.corruption_seed),
            published_files=run.published_files,
        ),
        profile=run.profile,
        corruption_seed=run.corruption_seed,
    )
    return replace(of_all, shown=_variants_text(variants), described={**plan.described, CORRUPTED: asdict(run)})


def _variants(run: RobustnessRun) -> tuple[tuple[str, int], ...]:
    """Every corruption and level, the clean image once and first."""
    levels = numbers(run.levels, least=0)
    above = ",".join(str(level) for level in levels if level)
    corrupted = [
        (corruption.name, corruption.level) for corruption in chosen(run.corruptions, above or "1")
    ]  # a name is checked always
    return (*([("", 0)] if 0 in levels else []), *(corrupted if above else []))


def variant_name(corruption: str, level: int) -> str:
    """Name a variant, such as "gaussian_noise/3"; the clean one is "clean"."""
    return f"{corruption}/{level}" if level else CLEAN


def _variants_text(variants: Sequence[tuple[str, int]]) -> str:
    """What is shown, for the displays: "snow, contrast, levels 0, 3"."""
    names = [name for name in dict.fromkeys(name for name, _ in variants) if name]
    levels = ", ".join(str(level) for level in sorted({level for _, level in variants}))
    words = ", ".join(names) if len(names) <= NAMED_AT_MOST else f"{len(names)} corruptions"
    return f"{words}, levels {levels}" if names else "level 0"


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


@per_plan
def sampled(plan: Plan, settings: RunSettings) -> Plan:
    """The same plan with `--sample` of its questions; raises UsageError for a field that they don't have.

    As with --limit, what was drawn is no part of the run's identity: a larger sample later asks only what is new.
    """
    size = settings.sample or 0
    fields = tuple(field.strip() for field in settings.by.split(",") if field.strip())
    places = drawn(((each.id, _stratum(each, fields)) for each in plan.loaded.questions), size, settings.seed)
    if len(places) < size:
        plan.opened.notify(
            f"{plan.title}: there are {plan.loaded.count:,} questions, and all are asked (--sample {size})"
        )
    sample = Sample(size=len(places), of=plan.loaded.count, by=fields, seed=settings.seed)
    return replace(plan.asking(partial(_at_places, places=places), len(places)), sample=sample)


def _stratum(question: Question, fields: tuple[str, ...]) -> str:
    unknown = next((field for field in fields if field not in question.groups), None)
    if unknown is not None:
        known = f"it has {', '.join(question.groups)}" if question.groups else "it has none; `ask` takes --group COLUMN"
        raise UsageError(f"--by {unknown}: question {question.id} has no such field", hint=known)
    return "\n".join(group_text(question.groups[field]) for field in fields)


def _at_places(questions: Iterable[Question], places: "array[int]") -> Iterator[Question]:
    """The questions at these places, in the order of the data file."""
    remaining = iter(places)
    place = next(remaining, None)
    for number, question in enumerate(questions):
        if number == place:
            yield question
            place = next(remaining, None)
