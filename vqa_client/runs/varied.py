"""Steps that change a plan: ask each question in several forms, with one log and one report, or draw a sample."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from vqa_client.errors import UsageError
from vqa_client.images.corruptions.codec import needs_extra
from vqa_client.images.corruptions.table import chosen, numbers
from vqa_client.reports.logged_run import BLIND, SEEN
from vqa_client.reports.names import count
from vqa_client.reports.robustness.report import write
from vqa_client.reports.run import Sample, Write
from vqa_client.reports.varied import write_blind, write_circular, write_repeats, write_shuffled
from vqa_client.runs.plan import Plan, per_plan
from vqa_client.runs.resume import RunPaths
from vqa_client.scoring.choices.circular import as_shown, names_others, rotation, shuffled
from vqa_client.scoring.stratified import draw_stratified
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.settings.run import RunSettings
from vqa_client.task import Task
from vqa_client.types import Question, group_text

FIXED = "choices_name_each_other"
"""A reason to leave a question out: "all of the above" has another meaning in another order."""
NONE = "no_choices"
UNLISTED = "choices_not_in_prompt"
"""A reason to leave a question out: the choices are in its image or text, where they can't be moved."""
CLEAN = "clean"
CORRUPTED = "corrupted"
"""The key in a run file of the settings of the corruptions."""
NAMED_AT_MOST = 2
NOT_WRITTEN = ("coco_captions", "csv_safe", "verbose")
"""Options of reports and tables that a robustness run doesn't write."""

Forms = Callable[[Iterable[Question]], Iterator[Question]]
"""Gives the forms in which questions are asked, each with its variant.

The forms of a question are neighbours, so that the prefix cache of a server is used.
"""


def varied(plan: Plan, name: str, forms: Forms, *, count: int, write: Write, **identity: Any) -> Plan:
    """The plan with `count` forms of its questions; `name` is in the names of its files.

    `identity` replaces an option of the benchmark that has the same name, which is kept as `own_NAME`.
    """
    report = plan.paths.report
    own = {f"own_{name}": plan.identity[name] for name in identity if name in plan.identity}
    return replace(
        plan.asking(forms, count),
        paths=RunPaths.beside(report.with_name(f"{report.stem}_{name}.json")),
        write=write,
        identity={**plan.identity, **own, **identity},
    )


@per_plan
def repeat(plan: Plan, settings: RunSettings) -> Plan:
    """The plan with variants "repeat/1", "repeat/2", ...; a later run may add more repeats."""
    times = settings.repeat

    def forms(questions: Iterable[Question]) -> Iterator[Question]:
        for question in questions:
            for number in range(1, times + 1):
                yield replace(question, variant=f"repeat/{number}")

    comparable = plan.task.description.compares_answers
    report = partial(write_repeats, repeats=times, comparable=comparable)
    return varied(plan, "repeated", forms, count=times * plan.loaded.count, write=report, asked="repeated")


@per_plan
def ask_blind(plan: Plan, settings: RunSettings) -> Plan:
    """The plan with variants "seen" and "blind", with the same prompt; raises UsageError without images."""
    if plan.images_dir is None:
        raise UsageError("--blind leaves the images out, and a text-only run has none", hint="leave out --text_only")

    def forms(questions: Iterable[Question]) -> Iterator[Question]:
        for question in questions:
            yield replace(question, variant=SEEN)
            yield replace(question, variant=BLIND, images=())

    report = partial(write_blind, comparable=plan.task.description.compares_answers)
    of_both = varied(plan, BLIND, forms, count=2 * plan.loaded.count, write=report, asked=BLIND)
    return replace(of_both, is_mixed=True)


@per_plan
def shuffle_choices(plan: Plan, settings: RunSettings) -> Plan:
    """The plan with each question's choices in a random order, from the seed and the question's id."""
    variant, movable = shuffled(settings.seed), _movable(plan)

    def forms(questions: Iterable[Question]) -> Iterator[Question]:
        return (as_shown(replace(question, variant=variant)) for question in questions)

    report = partial(write_shuffled, write=plan.write)
    return varied(movable, "shuffled", forms, count=movable.loaded.count, write=report, asked=variant)


@per_plan
def rotate_choices(plan: Plan, settings: RunSettings) -> Plan:
    """The plan with each question once per rotation of its choices."""

    def forms(questions: Iterable[Question]) -> Iterator[Question]:
        for question in questions:
            for by in range(len(question.choices)):
                yield as_shown(replace(question, variant=rotation(by)))

    movable = _movable(plan)
    count = sum(len(question.choices) for question in movable.loaded.questions)
    return varied(movable, "circular", forms, count=count, write=write_circular, asked="circular")


def _movable(plan: Plan) -> Plan:
    """The plan without questions that have no choices, or whose choices can't be moved."""
    fixed_ids: dict[str, list[str]] = {}
    for question in plan.loaded.questions:
        if reason := _unmovable(question, plan.task):
            fixed_ids.setdefault(reason, []).append(question.id)
    if not fixed_ids:
        return plan
    fixed = frozenset(id for ids in fixed_ids.values() for id in ids)
    left = plan.asking(
        lambda questions: (question for question in questions if question.id not in fixed),
        plan.loaded.count - len(fixed),
    )
    left_out = {**plan.loaded.left_out, **{reason: tuple(ids) for reason, ids in fixed_ids.items()}}
    return replace(left, loaded=replace(left.loaded, left_out=left_out))


def _unmovable(question: Question, task: Task) -> str:
    """The reason why the choices of a question can't be moved, or ""."""
    if len(question.choices) < 2 or names_others(question.choices):
        return FIXED if question.choices else NONE
    turned = as_shown(replace(question, variant=rotation(1)))
    return UNLISTED if task.content(turned) == task.content(question) else ""


@per_plan
def corrupt_images(plan: Plan, settings: RunSettings) -> Plan:
    """The plan with every corruption and level, with one log and one report for all.

    Raises UsageError without images, and for an option of a report that a robustness run doesn't write.
    """
    for option in NOT_WRITTEN:
        if getattr(settings, option, False):
            raise UsageError(
                f"--{option} can't be combined with corruptions",
                hint="it belongs to a report that this run doesn't write",
            )
    run = settings.corrupted
    assert run is not None
    variants = _variants(run)
    constants: dict[str, Any] = {"profile": run.profile, "corruption_seed": run.corruption_seed}
    needs_extra()
    if plan.images_dir is None:
        raise UsageError("there are no images to corrupt in a text-only run", hint="leave out --text_only")
    of_all = varied(
        plan,
        "robustness",
        partial(_in_variants, variants=variants),
        count=plan.loaded.count * len(variants),
        write=partial(write, **constants, published_files=run.published_files),
        **constants,
    )
    described = {**plan.described, CORRUPTED: asdict(run)}
    return replace(of_all, shown=_variants_text(variants), described=described, is_mixed=len(variants) > 1)


def _variants(run: RobustnessRun) -> tuple[tuple[str, int], ...]:
    """Every corruption and level; the clean image is first, and once."""
    levels = numbers(run.levels, least=0)
    above = ",".join(str(level) for level in levels if level)
    named = chosen(run.corruptions, above or "1")  # checks the names even for level 0
    corrupted = [(corruption.name, corruption.level) for corruption in named]
    return (*([("", 0)] if 0 in levels else []), *(corrupted if above else []))


def variant_name(corruption: str, level: int) -> str:
    """Name a variant, such as "gaussian_noise/3"; the clean one is "clean"."""
    return f"{corruption}/{level}" if level else CLEAN


def _variants_text(variants: Sequence[tuple[str, int]]) -> str:
    """The corruptions and levels in words: "snow, contrast, levels 0, 3"."""
    names = [name for name in dict.fromkeys(name for name, _ in variants) if name]
    levels = ", ".join(str(level) for level in sorted({level for _, level in variants}))
    words = ", ".join(names) if len(names) <= NAMED_AT_MOST else f"{len(names)} corruptions"
    return f"{words}, levels {levels}" if names else "level 0"


def _in_variants(questions: Iterable[Question], variants: tuple[tuple[str, int], ...]) -> Iterator[Question]:
    """The variants of neighbours with the same images are together, so that each corrupted image is made once."""
    for _, neighbours in groupby(questions, key=lambda question: question.images):
        group = list(neighbours)
        for corruption, level in variants:
            groups = {"corruption": corruption or CLEAN, "level": str(level)}
            for question in group:
                yield replace(question, variant=variant_name(corruption, level), groups=question.groups | groups)


@per_plan
def draw_sample(plan: Plan, settings: RunSettings) -> Plan:
    """The plan with a random sample of its questions; raises UsageError for a field that they don't have.

    As with --limit, the sample isn't part of the identity: a larger sample later asks only the new questions.
    """
    size = settings.sample or 0
    fields = tuple(field.strip() for field in settings.by.split(",") if field.strip())
    places = draw_stratified(
        ((question.id, _stratum(question, fields)) for question in plan.loaded.questions), size, settings.seed
    )
    if len(places) < size:
        plan.opened.notify(f"{plan.title}: it has {count(plan.loaded.count)}, and all are asked (--sample {size})")
    sample = Sample(size=len(places), of=plan.loaded.count, by=fields, seed=settings.seed)
    return replace(plan.asking(partial(_at_indices, places=places), len(places)), sample=sample)


def _stratum(question: Question, fields: tuple[str, ...]) -> str:
    unknown = next((field for field in fields if field not in question.groups), None)
    if unknown is not None:
        known = f"it has {', '.join(question.groups)}" if question.groups else "it has none; `ask` takes --group COLUMN"
        raise UsageError(f"--by {unknown}: question {question.id} has no such field", hint=known)
    return "\n".join(group_text(question.groups[field]) for field in fields)


def _at_indices(questions: Iterable[Question], places: "array[int]") -> Iterator[Question]:
    """The questions at these indices, in the order of the data."""
    remaining = iter(places)
    place = next(remaining, None)
    for number, question in enumerate(questions):
        if number == place:
            yield question
            place = next(remaining, None)
