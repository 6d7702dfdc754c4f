"""A finished run's task and questions again, from its run file: needs no server and no image."""

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.benchmark import Benchmark
from vqa_client.errors import DataError, UsageError
from vqa_client.reports.log_reader import LOG_ENDING
from vqa_client.runs.plans import with_data
from vqa_client.runs.run_file import RunFile
from vqa_client.scoring.choices.circular import as_shown
from vqa_client.settings.run import RunSettings
from vqa_client.task import Source, Task, Walk
from vqa_client.tasks import registry
from vqa_client.types import Group, Question

WAY_OUT = (
    "paths are as the run was given them: start from the folder that it was started in, or put the file back there"
)
_CORRUPTED: Final = ("corruption", "level")
"""Groups that a robustness run adds to those of its benchmark."""


class Reopened(Struct, frozen=True, kw_only=True):
    """What today's code makes of a run's benchmark; `questions` are all of the data file, asked or not."""

    file: RunFile
    benchmark: Benchmark
    task: Task
    questions: Iterable[Question]
    data_sha256: str


def reopen(log: Path, *, finds_images: bool = False) -> Reopened:
    """Read the run file beside a log and the data file that it names; its images are looked for only on request.

    Raises UsageError without a run file or for a task that isn't known, DataError that names a missing data file.
    """
    file = RunFile.read(run_file_of(log))
    if file is None:
        raise UsageError(
            f"{run_file_of(log)} is missing, which says from which data and by which parser the run is",
            hint="put it back beside the log",
        )
    try:
        settings, entry = settings_of(file)
        settings, _ = with_data(settings, lambda line: None, str(file.identity.get("data_revision", "")))
        benchmark = entry.make(settings)
        parts = list(benchmark.load(Source(settings=settings, finds_images=finds_images)))
    except KeyError as missing:
        raise UsageError(f"{run_file_of(log)} does not say the setting {missing}", hint="was it edited?") from None
    except DataError as error:
        raise DataError(f"{log.name} needs the data that its questions are from: {error}", hint=WAY_OUT) from None
    part = next((part for part in parts if part.name == file.identity.get("variant")), parts[0])
    loaded = part.loaded
    walks = [each.questions for each in (part.gate, loaded) if each is not None]
    template, _ = benchmark.template(file.model().prompt_template)
    return Reopened(
        file=file,
        benchmark=benchmark,
        task=benchmark.task(template, entry.scoring(settings)),
        questions=Walk(lambda: chain.from_iterable(walks)),
        data_sha256=loaded.data_sha256,
    )


def rows_of(log: Path) -> dict[str, dict[str, Any]]:
    """The cells of the data file's rows that JSON can hold, by question, for a benchmark that keeps them."""
    return {
        question.id: {
            name: value
            for name, value in question.extra.get("row", {}).items()
            if value is not None and _fits_json(value)
        }
        for question in reopen(log).questions
    }


def _fits_json(value: Any) -> bool:
    """Whether it is, or holds, nothing but texts, numbers and null: an image's bytes don't fit."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, str | int | float | list | dict | None) and all(map(_fits_json, inner))


def asked_as(question: Question, variant: str, groups: Mapping[str, Group]) -> Question:
    """The question in the variant in which a record has it, whose `groups` say under which corruption.

    A variant that is an order of the choices has them in that order; a question that is of this variant has them so.
    """
    corrupted = {name: groups[name] for name in _CORRUPTED if name in groups}
    asked = replace(question, variant=variant, groups=question.groups | corrupted)
    return asked if question.variant == variant else as_shown(asked)


def run_file_of(log: Path) -> Path:
    """Where the run file of a log lies."""
    return log.with_name(log.name.replace(LOG_ENDING, ".run.json"))


def settings_of(file: RunFile, *, as_given: bool = False) -> tuple[RunSettings, registry.Entry]:
    """A run's settings and benchmark; raises UsageError for one that isn't installed, KeyError for a lost setting."""
    given = file.described.get("settings") or {}
    entry = registry.find(given.get("benchmark") or str(file.identity.get("task")))
    decided = {name: value for name, value in (file.identity | file.scoring).items() if isinstance(value, str | bool)}
    return entry.settings_from(given, decided, as_given=as_given), entry
