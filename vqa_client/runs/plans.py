"""What a command is to do: its plans, checked and loaded before anything is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from dataclasses import replace as with_settings
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from vqa_client.benchmark import Benchmark
from vqa_client.errors import DataError, UsageError
from vqa_client.model_config import ModelSettings
from vqa_client.reports.names import safe_name
from vqa_client.reports.report import Report
from vqa_client.runs.plan import Note, Plan
from vqa_client.runs.resume import RunPaths
from vqa_client.settings.declared import BenchmarkSettings, PageOptions
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.settings.run import RunSettings
from vqa_client.tables.hub import address_of, fetch
from vqa_client.tables.objects import check_object, home_of, local_copy, local_folder
from vqa_client.tables.pictures import is_address, is_object
from vqa_client.task import Source
from vqa_client.tasks import registry
from vqa_client.tasks.report import writer

COPIED = ("data", "data_json", "blacklist", "questions_file", "annotations_file")
"""Settings whose files are copied from their addresses."""
NOTHING_LEFT = "every question was skipped; the lines above say why"

VARIED = {
    "--repeat": "varied.repeated",
    "--blind": "varied.blind_plan",
    "--shuffle_choices": "varied.shuffled_plan",
    "--circular": "varied.circular_plan",
    "--pages": "document_pages.pages_plan",
}
"""Who makes of a plan one that asks its questions in other forms, by the option that wants it."""


def _of_this_room(place: str) -> Any:
    """The function of a row of the tables; only that of the command that runs is imported."""
    module, _, function = place.partition(".")
    return getattr(import_module(f"{__package__}.{module}"), function)


def make_plans(
    settings: RunSettings,
    config: str | None,
    model: ModelSettings | None,
    note: Note,
    *,
    corrupted: RobustnessRun | None = None,
    finds_images: bool = True,
) -> list[Plan]:
    """Check and load everything a command needs; raises DataError or UsageError before any question is asked."""
    settings, commit = with_data(settings, note)
    plans = _declared_plans(settings, config, model, note, finds_images=finds_images)
    plans = [replace(plan, data_path=home_of(plan.data_path)) for plan in plans]
    for plan in plans if finds_images else ():
        if addresses := [name for each in islice(plan.loaded.questions, 1) for name in each.images if is_object(name)]:
            check_object(addresses[0])
    if commit:
        plans = [replace(plan, identity={**plan.identity, "data_revision": commit}) for plan in plans]
    for plan in plans if finds_images else ():
        if (check := plan.task.check) is not None:
            for question in plan.loaded.questions:
                check(question)
    if settings.sample is not None:
        from vqa_client.runs.varied import sampled

        plans = [sampled(plan, settings, note) for plan in plans]
    if (part := settings.part) is not None:
        from vqa_client.runs.shards import of_shard, part_of

        plans = [part_of(plan, part) for plan in plans]
    if settings.variations:
        if corrupted is not None:
            raise UsageError(f"{settings.variations[0]} can't be combined with corruptions", hint="a run for each")
        varied = _of_this_room(VARIED[settings.variations[0]])
        plans = [varied(plan, settings) for plan in plans]
    if corrupted is not None:
        from vqa_client.runs.varied import corrupted_plans

        plans = corrupted_plans(plans, corrupted, settings)
    if part is not None:
        plans = [of_shard(plan, part) for plan in plans]
    plans = [each for plan in plans for each in (*plan.gates, plan)]
    for plan in plans:
        plan.announce(note)
        plan.check_place()
    for line in dict.fromkeys(line for plan in plans for line in plan.loaded.notes):
        note(line)
    for plan in plans:
        if not plan.loaded.count and plan.limit != 0 and part is None:
            raise DataError(f"{plan.title}: there are no questions to ask in {plan.data_path}", hint=NOTHING_LEFT)
    return plans


def with_data(settings: RunSettings, note: Note, revision: str = "") -> tuple[RunSettings, str]:
    """The settings with data of the hub or of a store fetched; with the commit of the hub's, the given one if any."""
    settings = _with_objects(settings)
    address = address_of(settings.data) if isinstance(settings, BenchmarkSettings) else None
    if address is None or not isinstance(settings, BenchmarkSettings):
        return settings, ""
    address = address._replace(revision=revision or address.revision)
    globs = registry.find(settings.benchmark).globs(settings)
    found = fetch(address, globs, yes=settings.yes, note=note)
    if globs:
        return with_settings(settings, data=found.folder), found.commit
    return with_settings(settings, data=found.folder / found.glob), found.commit


def _with_objects(settings: RunSettings) -> RunSettings:
    """The settings with copies of the data that they name by addresses; images stay where they are."""
    copies: dict[str, Any] = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        if not isinstance(value, Path) or not is_address(value) or field.name in ("images", "images_dir"):
            continue
        if field.name not in COPIED:
            raise UsageError(f"--{field.name} can't be an address", hint="data files and --images can")
        globs = registry.find(settings.benchmark).globs(settings) if field.name == "data" and not value.suffix else ()
        copies[field.name] = local_folder(value, globs) if globs else local_copy(value)
    return with_settings(settings, **copies) if copies else settings


def finish(settings: RunSettings, reports: Sequence[Report], errors: Mapping[str, Exception], note: Note) -> None:
    """Write what all reports together make, once the last one is done; `errors` are of configs without a report."""
    combine = registry.find(settings.benchmark).make(with_data(settings, note)[0]).combine
    if combine is not None and not settings.variations and settings.part is None:
        combine(reports, errors, note)


def _declared_plans(
    settings: RunSettings, config: str | None, model: ModelSettings | None, note: Note, *, finds_images: bool
) -> list[Plan]:
    """One plan for each part of the benchmark's data."""
    given = settings.prompt_template or (model.prompt_template if model else None)
    entry = registry.find(settings.benchmark)
    scoring, asks = entry.scoring(settings), entry.identity(settings)
    benchmark = entry.make(settings)
    template, message = benchmark.template(given)
    if message and settings.prompt_template and template is None:
        raise UsageError(message.replace("the config's prompt_template", "--prompt"), hint="leave --prompt out")
    if message:
        note(message)
    system = settings.system if settings.system is not None else model.system_prompt if model else None
    task = benchmark.task(template, scoring, system)
    if settings.max_tokens and "max_tokens" in task.parameters:
        limit = task.parameters["max_tokens"]
        note(f"{benchmark.name}: --prompt_form limits replies to {limit} tokens, whatever --max_tokens is")
    identity = {**asks, **benchmark.identity, **({"system": task.system} if task.system else {})}
    place = benchmark.report_path or (lambda part, config: _report_path(settings, benchmark.name, part))
    if benchmark.judge is not None and isinstance(settings, BenchmarkSettings) and finds_images and not settings.judge:
        note(
            f"{benchmark.name}: published scores are of a judge ({benchmark.judge.asks}), those below of a rule; "
            "--judge CONFIG asks one after the run: a request for each reply, and up to 60 controls"
        )
    parts = list(benchmark.load(Source(settings=settings, notify=note, finds_images=finds_images)))
    plans = [
        Plan(
            task=task,
            loaded=part.loaded,
            variant=part.name,
            paths=RunPaths.beside(place(part.name, config)),
            data_path=part.data_path,
            images_dir=part.images_dir,
            missing_pages=part.missing_pages,
            write=benchmark.write or writer(benchmark, submits=_submits(settings, benchmark)),
            config=config,
            limit=settings.limit,
            identity={**identity, **part.identity},
            gate=(part.gate, benchmark.gate) if part.gate and benchmark.gate else None,
        )
        for part in parts
    ]
    if benchmark.pages is not None and isinstance(settings, PageOptions) and finds_images:
        from vqa_client.runs.document_pages import with_pages

        plans = [with_pages(plan, benchmark.pages, settings) for plan in plans]
    if finds_images and isinstance(settings, BenchmarkSettings) and settings.shots:
        from vqa_client.runs.shots import with_shots

        return with_shots(plans, benchmark, settings, note)
    return plans


def _submits(settings: RunSettings, benchmark: Benchmark) -> bool:
    wanted = isinstance(settings, BenchmarkSettings) and settings.submission
    if wanted and benchmark.submission is None:
        raise UsageError(f"{benchmark.name} has no test server to submit to", hint="leave --submission out")
    return wanted


def _report_path(settings: RunSettings, benchmark: str, part: str) -> Path:
    assert isinstance(settings, BenchmarkSettings)  # all others name their reports themselves
    return Path(settings.output, f"{safe_name(f'{benchmark}_{part}' if part else benchmark)}.json")
