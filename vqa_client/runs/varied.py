"""Plans made of a plan: several forms of each question with one log and one report, or a drawn part of them."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby

from msgspec.structs import replace

from vqa_client.errors import UsageError
from vqa_client.images.corruptions import needs_extra
from vqa_client.images.corruptions.table import chosen, numbers
from vqa_client.reports.page_forms import write_circular, write_shuffled
from vqa_client.reports.robustness.report import Corrupted, write
from vqa_client.reports.run import Sample, Write
from vqa_client.reports.varied import BLIND, SEEN, write_blind, write_repeats
from vqa_client.runs.plan import Note, Plan
from vqa_client.runs.resume import RunPaths
from vqa_client.scoring.choices.circular import as_shown, names_others, rotation, shuffled
from vqa_client.scoring.stratified import drawn
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.settings.run import RunSettings
from vqa_client.task import Walk
from vqa_client.types import Question, group_text

FIXED = "choices_name_each_other"
"""Why a question is left out: in another order, "all of the above" means something else."""
NONE = "no_choices"

Forms = Callable[[Question], Iterable[Question]]
"""Gives the forms in which a question is asked, each with its variant."""


def varied(plan: Plan, name: str, forms: Forms, *, count: int, write: Write, asked: str = "") -> Plan:
    """The plan with `count` forms of all questions; `name` is in its files' names, `asked` in its identity."""
    report = plan.paths.report
    loaded = replace(
        plan.loaded,
        questions=Walk(partial(_in_forms, plan.loaded.questions, forms)),
        count=count,
    )
    return replace(
        plan,
        loaded=loaded,
        paths=RunPaths.beside(report.with_name(f"{report.stem}_{name}.json")),
        write=write,
        identity={**plan.identity, "asked": asked or name},
    )


def _in_forms(questions: Iterable[Question], forms: Forms) -> Iterator[Question]:
    """The forms of a question are neighbours, so that a server that keeps prompts' beginnings finds them again."""
    for question in questions:
        yield from forms(question)


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
        write=partial(write_repeats, repeats=times, comparable=comparable),
    )


def blind_plan(plan: Plan, settings: RunSettings) -> Plan:
    """The plan with variants "seen" and "blind", word for word the same prompt; raises UsageError without images."""
    if plan.images_dir is None:
        raise UsageError("--blind leaves the images out, and a text-only run has none", hint="leave out --text_only")
    return varied(
        plan,
        BLIND,
        _forms,
        count=2 * plan.loaded.count,
        write=partial(write_blind, comparable=plan.task.description.compares_answers),
    )


def _forms(question: Question) -> Iterator[Question]:
    yield replace(question, variant=SEEN)
    yield replace(question, variant=BLIND, images=())


def shuffled_plan(plan: Plan, settings: RunSettings) -> Plan:
    """Every question once, its choices in an order drawn from the seed and its id."""
    variant, movable = shuffled(settings.seed), _movable(plan)

    def forms(question: Question) -> Iterator[Question]:
        yield as_shown(replace(question, variant=variant))

    return varied(
        movable,
        "shuffled",
        forms,
        count=movable.loaded.count,
        write=partial(write_shuffled, write=plan.write),
        asked=variant,
    )


def circular_plan(plan: Plan, settings: RunSettings) -> Plan:
    """Every question with its choices in each rotation."""

    def forms(question: Question) -> Iterator[Question]:
        for by in range(len(question.choices)):
            yield as_shown(replace(question, variant=rotation(by)))

    movable = _movable(plan)
    count = sum(len(question.choices) for question in movable.loaded.questions)
    return varied(movable, "circular", forms, count=count, write=write_circular)


def _movable(plan: Plan) -> Plan:
    """The plan without the questions whose choices name each other, or that have none."""
    found: dict[str, list[str]] = {}
    for question in plan.loaded.questions:
        if len(question.choices) < 2 or names_others(question.choices):
            found.setdefault(FIXED if question.choices else NONE, []).append(question.id)
    if not found:
        return plan
    fixed = frozenset(id for ids in found.values() for id in ids)
    loaded = replace(
        plan.loaded,
        questions=Walk(partial(_without, plan.loaded.questions, fixed)),
        count=plan.loaded.count - len(fixed),
        left_out={**plan.loaded.left_out, **{reason: tuple(ids) for reason, ids in found.items()}},
    )
    return replace(plan, loaded=loaded)


def _without(questions: Iterable[Question], left_out: frozenset[str]) -> Iterator[Question]:
    return (question for question in questions if question.id not in left_out)


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
