"""The plans of a declared benchmark, and a finished run of one opened again: derived from the declaration."""

from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from vqa_client.model_config import ModelSettings
from vqa_client.reports.names import safe_name
from vqa_client.runs.plan import Note, Plan
from vqa_client.runs.resume import RunPaths
from vqa_client.runs.run_file import RunFile
from vqa_client.settings.declared import BenchmarkSettings
from vqa_client.task import Loaded, Source, Task
from vqa_client.tasks import registry
from vqa_client.tasks.report import writer


def declared_plans(
    settings: BenchmarkSettings, config: str | None, model: ModelSettings | None, note: Note
) -> list[Plan]:
    """One plan for each part of the data; raises UsageError or DataError."""
    entry = registry.find(settings.benchmark)
    benchmark = entry.make(settings)
    template, message = benchmark.template(model.prompt_template if model else None)
    if message:
        note(message)
    task = benchmark.task(template, entry.scoring(settings))
    return [
        Plan(
            task=task,
            loaded=part.loaded,
            variant=part.name,
            paths=RunPaths.beside(
                settings.output / f"{safe_name('_'.join(filter(None, (benchmark.name, part.name))))}.json"
            ),
            data_path=part.data_path,
            images_dir=part.images_dir,
            missing_pages=part.missing_pages,
            write=writer(benchmark),
            config=config,
            limit=settings.limit,
            identity=entry.identity(settings),
            description=benchmark.description(),
        )
        for part in benchmark.load(Source(settings=settings, notify=note))
    ]


def _report_name(benchmark: str, part: str) -> str:
    return f"{safe_name(f'{benchmark}_{part}' if part else benchmark)}.json"


def reopen_declared(file: RunFile) -> tuple[Task, Loaded]:
    """A run's task and all its questions, without looking for images; raises KeyError for a missing setting."""
    given: dict[str, Any] = file.described["settings"]
    entry = registry.find(given["benchmark"])
    settings = settings_of(entry.settings, given)
    benchmark = entry.make(settings)
    template, _ = benchmark.template(file.model().prompt_template)
    parts = benchmark.load(Source(settings=settings, finds_images=False))
    part = next(part for part in parts if part.name == file.identity.get("variant", ""))
    return benchmark.task(template, entry.scoring(settings)), part.loaded


def settings_of(kind: type[BenchmarkSettings], given: dict[str, Any]) -> BenchmarkSettings:
    """Settings from a run file, whose paths are texts and whose tuples are lists; questions are all of the data."""
    hints = get_type_hints(kind)
    values = {field.name: given[field.name] for field in fields(kind) if field.name in given}
    for name, value in values.items():
        if isinstance(value, str) and Path in (hints[name], *get_args(hints[name])):
            values[name] = Path(value)
        elif isinstance(value, list):
            values[name] = tuple(value)
    return kind(**values | {"limit": None, "sample": None, "by": "", "dry_run": False, "rate": None})
