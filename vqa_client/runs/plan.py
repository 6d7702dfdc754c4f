"""The plan of one run: its questions, its task, its files; what its run file says, and how its report is written."""

import dataclasses
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from vqa_client.batch.parts import BatchPart, PartFolder, key_of, keys_of
from vqa_client.errors import UsageError
from vqa_client.model_config import ModelSettings
from vqa_client.own_code import place_of, shown
from vqa_client.records import RecordLog
from vqa_client.reports.names import count, first_of
from vqa_client.reports.report import Report
from vqa_client.reports.run import Pairs, Run, Sample, Write
from vqa_client.reports.summary import Summary
from vqa_client.runs.resume import RunPaths
from vqa_client.runs.run_file import RunFile
from vqa_client.settings.batch import without_keys
from vqa_client.settings.run import RunSettings, entry_title
from vqa_client.tables.pictures import is_address, url_of
from vqa_client.task import Loaded, Task, Walk
from vqa_client.tasks.registry import Opened
from vqa_client.types import Failure, Note, Question, Record, Status
from vqa_client.version import __version__

PlanStep = Callable[[Sequence["Plan"], Any], list["Plan"]]
"""Changes the plans of a command as its settings say."""


NOT_GENERATION = frozenset({"timeout", "base_url", "serve", "prices", "system_prompt"})
"""Model settings that don't change what the model answers: they decide when a question fails, or what it costs.

The system message is left out because the command line may replace it; the identity has the one that is sent."""


class Plan(Struct, frozen=True, kw_only=True):
    """What one run asks and writes; `data_path`, `images_dir` and `config` are as the user gave them.

    `folder` names the page folder, or another part of the data: each part is a run. `shown` is added to the title: the
    corruptions, the form of the pages, the shard. `identity` is what decides what is sent, apart from the model and the
    image settings. `described` has fields that only the run file shows: the corruptions and the shard. The `gate`
    questions are asked first, into the same log, by a plan that `is_gate`. All parts of the data share `opened`.
    `is_mixed` says that the questions are asked in forms whose common accuracy no report has.
    """

    opened: Opened
    task: Task
    loaded: Loaded
    folder: str
    paths: RunPaths
    data_path: Path
    images_dir: Path | None
    write: Write
    config: str | None = None
    sample: Sample | None = None
    shown: str = ""
    identity: Mapping[str, Any] = {}
    described: Mapping[str, Any] = {}
    missing_pages: Mapping[str, tuple[int, ...]] = {}
    gate: Loaded | None = None
    is_gate: bool = False
    is_mixed: bool = False

    @property
    def title(self) -> str:
        name = entry_title(self.task.name, self.opened.settings.entry, self.folder)
        return f"{name} · {self.shown}" if self.shown else name

    @property
    def live_measure(self) -> str:
        """The name of the accuracy so far."""
        measure = self.task.description.measure
        measure = "accuracy" if measure.startswith("accuracy") else measure
        return f"{measure} over all variants" if self.is_mixed else measure

    @property
    def gates(self) -> "tuple[Plan, ...]":
        """The plan of the gate questions, if there are any."""
        write = self.opened.benchmark.gate
        if self.gate is None or write is None:
            return ()
        task = replace(self.task, description=replace(self.task.description, measure="as expected"))
        return (replace(self, task=task, loaded=self.gate, write=write, shown="controls", gate=None, is_gate=True),)

    def unfinished_parts(self) -> list[BatchPart]:
        """The unfinished parts with this plan's questions: those of its gate questions are in the same folder."""
        gate = self.loaded if self.is_gate else self.gate
        of_gate = {key_of(question) for question in gate.questions} if gate else set()
        parts = PartFolder(self.paths.log).all()
        return [part for part in parts if self.is_gate != of_gate.isdisjoint(keys_of([part]))]

    def asking(self, walk: Callable[[Iterable[Question]], Iterator[Question]], count: int) -> "Plan":
        """The same plan with the `count` questions that `walk` makes of its questions."""
        questions = Walk(partial(walk, self.loaded.questions))
        return replace(self, loaded=replace(self.loaded, questions=questions, count=count))

    def announce(self, note: Note) -> None:
        """Note which questions are skipped, and why."""
        for reason, ids in self.loaded.left_out.items():
            folder = self.images_dir if reason == "no_images" else None
            near = _expected_name(ids[0], folder) if folder and not is_address(folder) else ""
            examples = first_of(ids, 3)
            note(f"{self.title}: skipped {count(len(ids), 'question')} ({reason.replace('_', ' ')}): {examples}{near}")
        if self.missing_pages:
            document, numbers = next(iter(self.missing_pages.items()))
            note(f"{self.title}: documents with gaps: {len(self.missing_pages)}; {document} lacks page {numbers[0]}")

    def report(self, pairs: Pairs, file: RunFile) -> Report:
        """Write the report of all records so far; raises OutputError."""
        failures: dict[Status, Failure] = {}
        cut_documents: set[str] = set()

        def watched() -> Iterator[tuple[Question, Record]]:
            for question, record in pairs():
                if record.error is not None:
                    failures.setdefault(record.status, record.error)
                if record.truncated_pages:
                    cut_documents.add(record.cluster or record.question_id)
                yield question, record

        path, run = self.paths.dated(file.started), self._run(file)
        summary = self.write(path, run, watched)
        if not isinstance(summary, Summary):
            raise UsageError(
                f"{self.title}: write{place_of(self.write)} returns {shown(summary)}", hint="return a Summary"
            )
        return Report(
            task=self.task.name,
            folder=self.folder,
            model=run.model,
            path=path,
            log=self.paths.log,
            expected=self.loaded.count,
            left_out=self.loaded.left_out,
            summary=summary,
            limit=self.opened.settings.limit,
            sample=self.sample,
            headline=self.task.headline,
            description=self.task.description,
            failures=failures,
            cut_documents=len(cut_documents),
        )

    def _run(self, file: RunFile) -> Run:
        model = file.identity["model"]
        return Run(
            folder=self.folder,
            model=model["model_name"],
            config=self.config,
            data_path=url_of(self.data_path),
            images_dir=url_of(self.images_dir) if self.images_dir else None,
            expected=self.loaded.count,
            text_only=self.images_dir is None,
            left_out=self.loaded.left_out,
            scoring=self.task.scoring,
            limit=self.opened.settings.limit,
            sample=self.sample,
            model_settings=model,
            server=file.described.get("server", {}),
            started=file.sessions[0]["started"] if file.sessions else "",
            sessions=file.sessions,
        )


def per_plan(change: Callable[[Plan, Any], Plan]) -> PlanStep:
    """The step that applies `change` to each plan."""
    return lambda plans, settings: [change(plan, settings) for plan in plans]


def _expected_name(name: str, folder: Path) -> str:
    """The file name that was expected, and one that the folder has."""
    names = sorted(path.name for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    more = f" and {len(names) - 1:,} more" if names[1:] else ""
    return f"; {name}_page_001.png is not in {folder}, which has {names[0] if names else 'none'}{more}"


def run_file_for(plan: Plan, settings: RunSettings, model: ModelSettings) -> RunFile:
    """The run file of a plan before any question is asked."""
    return RunFile(
        identity=identity_of_plan(plan, model, settings),
        scoring=plan.task.scoring,
        described={
            "versions": versions(),
            "settings": described_settings(settings),
            "data_sha256": plan.loaded.data_sha256,
            "data_path": _absolute(plan.data_path),
            "images_dir": _absolute(plan.images_dir) if plan.images_dir else None,
            "expected": plan.loaded.count,
            "left_out": {reason: len(ids) for reason, ids in plan.loaded.left_out.items()},
            "benchmark": msgspec.to_builtins(plan.task.description),
            **({"prices": msgspec.to_builtins(model.prices)} if model.prices else {}),
            **plan.described,
        },
    )


def model_identity(model: ModelSettings, settings: RunSettings) -> dict[str, Any]:
    """The settings of the model and of the images that must be equal for records to belong to the same run."""
    sent = msgspec.to_builtins(model)
    quality = settings.image_quality if settings.image_format in ("jpeg", "webp") else None
    return {
        "model": {key: value for key, value in sent.items() if key not in NOT_GENERATION},
        "images": {
            "max_pixels": settings.max_pixels,
            **({"max_side": settings.max_side} if settings.max_side else {}),
            **({"white_value": settings.white_value} if settings.white_value else {}),
            "image_format": settings.image_format,
            "image_quality": quality,
            "max_pages": settings.max_pages,
        },
    }


def described_settings(settings: RunSettings) -> dict[str, Any]:
    """The settings as they were given, without API keys, headers and addresses, which may contain a key.

    Corruptions have a field of their own in the run file.
    """
    values = dataclasses.asdict(settings) | {"batch_command": without_keys(settings.batch_command)}
    return {
        key: str(value) if isinstance(value, Path) else value
        for key, value in values.items()
        if key not in ("api_key", "base_url", "endpoint", "header", "corrupted") and (key != "entry" or value)
    }


def versions() -> dict[str, str]:
    """The versions of this program, Python, Pillow and the system."""
    import PIL

    return {
        "vqa_client": __version__,
        "python": platform.python_version(),
        "pillow": PIL.__version__,
        "platform": platform.platform(terse=True),
    }


def _absolute(path: Path) -> str:
    return url_of(path) if is_address(path) else str(path.absolute())


def identity_of_plan(plan: Plan, model: ModelSettings, settings: RunSettings) -> dict[str, Any]:
    """Everything that decides what is sent, without what is known of the server.

    The key of the folder is "variant": the digest of the identity is in the first line of a log, so keys can't change.
    """
    return {"task": plan.task.name, "variant": plan.folder, **plan.identity, **model_identity(model, settings)}


def close_plan(plan: Plan, note: Note, file: RunFile, log: RecordLog) -> Report:
    """Write the report, complete or not; delete the files of an incomplete run without any record.

    The run file stays while questions are in batches, whose answers belong to this run only.
    """
    log.sync()
    report = plan.report(lambda: log.answers_to(plan.loaded.questions), file)
    if totals := report.summary.added().get("totals"):  # the page shows them without loading the benchmark
        file.described["totals"] = totals
        file.write(plan.paths.run)
    if not len(log) and report.incomplete:
        in_batches = PartFolder(plan.paths.log).all()
        for path in (report.path, plan.paths.log, *(() if in_batches else (plan.paths.run,))):
            path.unlink(missing_ok=True)
    elif report.incomplete:
        answers = len(log) - (plan.gate.count if plan.gate else 0)
        note(f"{plan.title}: {answers:,} of {count(plan.loaded.count, 'answer')} saved in {plan.paths.log}")
    return report
