"""The plans of a command: loads the data, then changes the plans step by step, before any question is asked."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module

from msgspec.structs import replace

from vqa_client.benchmark import Benchmark
from vqa_client.client.session import model_of
from vqa_client.errors import DataError, OutputError, UsageError
from vqa_client.files import obstacle
from vqa_client.model_config import ModelSettings
from vqa_client.reports.names import count
from vqa_client.reports.report import Report
from vqa_client.runs.plan import Plan
from vqa_client.runs.resume import RunPaths
from vqa_client.settings.declared import BenchmarkSettings, PageOptions
from vqa_client.settings.run import RunSettings
from vqa_client.tables.objects import home_of
from vqa_client.tasks.registry import Opened, open_benchmark
from vqa_client.tasks.report import writer
from vqa_client.types import Note

NOTHING_LEFT = "every question was skipped; the lines above say why"


def make_plans(
    settings: RunSettings, config: str | None, model: ModelSettings | None, note: Note, *, finds_images: bool = True
) -> list[Plan]:
    """Check and load everything that a command needs; raises DataError or UsageError."""
    template = settings.prompt_template or (model.prompt_template if model else None)
    system = settings.system if settings.system is not None else model.system_prompt if model else None
    opened = open_benchmark(settings, note, template=template, system=system)
    plans = _load(opened, config, finds_images=finds_images)
    for place in _steps(opened, finds_images=finds_images):
        module, _, step = place.partition(".")
        plans = getattr(import_module(f"{__package__}.{module}"), step)(plans, opened.settings)
    plans = [part for plan in plans for part in (*plan.gates, plan)]
    for plan in plans:
        plan.announce(note)
        if reason := obstacle(plan.paths.report.parent):  # now, not after hours
            raise OutputError(f"{plan.paths.report} can't be written: {reason}", hint="choose another --output")
    for line in dict.fromkeys(line for plan in plans for line in plan.loaded.notes):
        note(line)
    for plan in plans:
        if not plan.loaded.count and settings.limit != 0 and settings.part is None:
            raise DataError(f"{plan.title}: there are no questions to ask in {plan.data_path}", hint=NOTHING_LEFT)
    return plans


def plans_of(settings: RunSettings, note: Note) -> Iterator[tuple[ModelSettings | None, list[Plan]]]:
    """The config and the plans of each model that the settings name; raises what `make_plans` does."""
    for config in settings.configs:
        model = model_of(settings, config)
        yield model, make_plans(settings, config, model, note)


def finish(plans: Sequence[Plan], reports: Sequence[Report], errors: Mapping[str, Exception], note: Note) -> None:
    """Write the benchmark's report of all models; `errors` are those of configs without a report."""
    if not plans or (combine := plans[0].opened.benchmark.combine) is None:
        return
    settings = plans[0].opened.settings
    if settings.part is None and not settings.variations and settings.corrupted is None:
        combine(reports, errors, note)


def _steps(opened: Opened, *, finds_images: bool) -> list[str]:
    """The steps that change the loaded plans, in their order; their modules are imported only then.

    A step is a function of the plans and the settings.
    """
    settings, pages = opened.settings, opened.benchmark.pages
    steps = {
        "document_pages.with_pages": finds_images and isinstance(settings, PageOptions) and pages is not None,
        "shots.with_shots": finds_images and isinstance(settings, BenchmarkSettings) and settings.shots > 0,
        "plans.with_revision": opened.revision != "",
        "plans.check_prompts": finds_images,
        "varied.draw_sample": settings.sample is not None,
        "shards.take_part": settings.part is not None,
        "varied.repeat": "--repeat" in settings.variations,
        "varied.ask_blind": "--blind" in settings.variations,
        "varied.shuffle_choices": "--shuffle_choices" in settings.variations,
        "varied.rotate_choices": "--circular" in settings.variations,
        "document_pages.vary_pages": "--pages" in settings.variations,
        "varied.corrupt_images": settings.corrupted is not None,
        "shards.name_files": settings.part is not None,
    }
    return [step for step, is_needed in steps.items() if is_needed]


def _load(opened: Opened, config: str | None, *, finds_images: bool) -> list[Plan]:
    """One plan per part of the benchmark's data."""
    settings, benchmark, note = opened.settings, opened.benchmark, opened.notify
    if opened.message and settings.prompt_template and opened.template is None:
        raise UsageError(opened.message.replace("the config's prompt_template", "--prompt"), hint="leave --prompt out")
    if opened.message:
        note(opened.message)
    if settings.max_tokens and (limit := opened.task.parameters.get("max_tokens")):
        limiting = "--prompt_form" if benchmark.form else "its prompt"
        note(f"{benchmark.name}: {limiting} limits replies to {count(limit, 'token')}, and --max_tokens has no effect")
    if benchmark.judge is not None and isinstance(settings, BenchmarkSettings) and finds_images and not settings.judge:
        note(
            f"{benchmark.name}: published scores are from a judge ({benchmark.judge.asks}), those below from a rule; "
            "--judge CONFIG asks one after the run: a request for each reply, and up to 60 controls"
        )
    parts = opened.parts(finds_images=finds_images)
    if finds_images:
        opened.check_images(parts)
    return [
        Plan(
            opened=opened,
            task=opened.task,
            loaded=part.loaded,
            folder=part.name,
            paths=RunPaths.beside(opened.report_path(part.name, config, of=len(parts))),
            data_path=home_of(part.data_path),
            images_dir=part.images_dir and home_of(part.images_dir),
            missing_pages=part.missing_pages,
            write=benchmark.write or writer(benchmark, submits=_submits(settings, benchmark)),
            config=config,
            identity={**opened.identity, **part.identity},
            gate=part.gate,
        )
        for part in parts
    ]


def _submits(settings: RunSettings, benchmark: Benchmark) -> bool:
    submits = isinstance(settings, BenchmarkSettings) and settings.submission
    if submits and benchmark.submission is None:
        raise UsageError(f"{benchmark.name} has no test server to submit to", hint="leave --submission out")
    return submits


def with_revision(plans: Sequence[Plan], settings: RunSettings) -> list[Plan]:
    """The plans with the commit of the hub's data in their identity."""
    return [replace(plan, identity={**plan.identity, "data_revision": plan.opened.revision}) for plan in plans]


def check_prompts(plans: Sequence[Plan], settings: RunSettings) -> Sequence[Plan]:
    """The same plans; raises DataError for a question that its prompt doesn't fit."""
    for plan in plans:
        if (check := plan.task.check) is not None:
            for question in plan.loaded.questions:
                check(question)
    return plans
