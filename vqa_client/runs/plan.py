"""One run to be: its questions, its task, and where its report goes; and how a plan is made of a plan."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from vqa_client.errors import OutputError
from vqa_client.files import obstacle
from vqa_client.model_config import ModelSettings
from vqa_client.records import RecordLog
from vqa_client.reports.names import count
from vqa_client.reports.report import Report
from vqa_client.reports.run import Pairs, Run, Sample, Write
from vqa_client.runs.resume import RunPaths
from vqa_client.runs.run_file import RunFile, described_settings, identity, versions
from vqa_client.settings.run import RunSettings
from vqa_client.tables.pictures import is_address, url_of
from vqa_client.task import Loaded, Task, Walk
from vqa_client.tasks.registry import Opened
from vqa_client.types import Failure, Question, Record, Status

Note = Callable[[str], None]
"""Takes one line for whoever watches."""
Step = Callable[[Sequence["Plan"], Any], list["Plan"]]
"""Makes other plans of a command's plans, as its settings say."""


class Plan(Struct, frozen=True, kw_only=True):
    """What is to be asked and written; `data_path` and `images_dir` are as they were given.

    `folder` is the page folder, or another part of the data, that tells the run from others of one command; `shown`
    tells people in what forms it shows its images; `identity` is what, besides the model and the images' recipe,
    decides what is sent; `config` is as given. `described` is what only the run file repeats: under which corruptions
    it asks, and which shard it is. `gate` are the questions that are asked first, into the same log. `opened` is what
    all parts of the data share.
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

    @property
    def title(self) -> str:
        name = f"{self.task.name} {self.folder}".rstrip()
        return f"{name} · {self.shown}" if self.shown else name

    @property
    def gates(self) -> "tuple[Plan, ...]":
        """The plan of the questions that are asked first, where there are any."""
        write = self.opened.benchmark.gate
        if self.gate is None or write is None:
            return ()
        task = replace(self.task, description=replace(self.task.description, measure="as expected"))
        return (replace(self, task=task, loaded=self.gate, write=write, shown="controls", gate=None),)

    def asking(self, walk: Callable[[Iterable[Question]], Iterator[Question]], count: int) -> "Plan":
        """The same plan over `count` other questions: those that `walk` makes of its own."""
        questions = Walk(partial(walk, self.loaded.questions))
        return replace(self, loaded=replace(self.loaded, questions=questions, count=count))

    def announce(self, note: Note) -> None:
        """Say which questions are left out, and why."""
        for reason, ids in self.loaded.left_out.items():
            examples = ", ".join(ids[:3]) + (", ..." if len(ids) > 3 else "")
            folder = self.images_dir if reason == "no_images" else None
            near = _looked_for(ids[0], folder) if folder and not is_address(folder) else ""
            note(f"{self.title}: skipped {count(len(ids), 'question')} ({reason.replace('_', ' ')}): {examples}{near}")
        if self.missing_pages:
            document, numbers = next(iter(self.missing_pages.items()))
            note(f"{self.title}: documents with gaps: {len(self.missing_pages)}; {document} lacks page {numbers[0]}")

    def check_place(self) -> None:
        """Raise OutputError where the report could not be written, before hours are spent on it."""
        place = self.paths.report.parent
        if reason := obstacle(place):
            raise OutputError(f"{self.paths.report} can't be written: {reason}", hint="choose another --output")

    def report(self, pairs: Pairs, file: RunFile) -> Report:
        """Write the report of the records there are; raises OutputError where it can't be written."""
        examples = Examples()
        path = self.paths.dated(file.started)
        run = self._run(file)
        summary = self.write(path, run, lambda: examples.watching(pairs()))
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
            failures=examples.failures,
            cut_documents=len(examples.cut_documents),
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


def per_plan(change: Callable[[Plan, Any], Plan]) -> Step:
    """The step that changes each plan by itself."""
    return lambda plans, settings: [change(plan, settings) for plan in plans]


def _looked_for(name: str, folder: Path) -> str:
    """The file name that was looked for, beside one that is there."""
    there = sorted(path.name for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    more = f" and {len(there) - 1:,} more" if there[1:] else ""
    return f"; {name}_page_001.png is not in {folder}, which has {there[0] if there else 'none'}{more}"


class Examples:
    """The first failure of each status, and the documents that were shown in part, met on a walk over the records."""

    def __init__(self) -> None:
        self.failures: dict[Status, Failure] = {}
        self.cut_documents: set[str] = set()

    def watching(self, pairs: Iterable[tuple[Question, Record]]) -> Iterator[tuple[Question, Record]]:
        for question, record in pairs:
            if record.error is not None:
                self.failures.setdefault(record.status, record.error)
            if record.truncated_pages:
                self.cut_documents.add(record.cluster or record.question_id)
            yield question, record


def run_file_for(plan: Plan, settings: RunSettings, model: ModelSettings) -> RunFile:
    """What the run file of a plan says before anything is asked."""
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


def _absolute(path: Path) -> str:
    return url_of(path) if is_address(path) else str(path.absolute())


def identity_of_plan(plan: Plan, model: ModelSettings, settings: RunSettings) -> dict[str, Any]:
    """What decides what is sent, before a server adds what it is.

    The folder is called a variant here: the first line of a log has the digest of all this.
    """
    return {"task": plan.task.name, "variant": plan.folder, **plan.identity, **identity(model, settings)}


def close_plan(plan: Plan, note: Note, file: RunFile, log: RecordLog) -> Report:
    """Write the report, however the session ended; where nothing was answered and more is to come, no file at all."""
    log.sync()
    report = plan.report(lambda: log.answers_to(plan.loaded.questions), file)
    if totals := report.summary.added().get("totals"):  # the page shows them, and asks no benchmark
        file.described["totals"] = totals
        file.write(plan.paths.run)
    if not len(log) and report.incomplete:
        for path in (report.path, plan.paths.run, plan.paths.log):
            path.unlink(missing_ok=True)
    elif report.incomplete:
        note(f"{plan.title}: {len(log)} of {plan.loaded.count} answers saved in {plan.paths.log}")
    return report
