"""What a command is to do, one plan an image folder: questions, task, and where the report goes."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, assert_never

from msgspec import Struct

from vqa_client.errors import DataError, UsageError
from vqa_client.images.find import PageFolder, PageIndex, page_folders
from vqa_client.model_config import ModelSettings
from vqa_client.reports import longbench
from vqa_client.reports.names import report_name
from vqa_client.reports.report import Report
from vqa_client.reports.summary import Summary
from vqa_client.settings import McSettings, NiahSettings
from vqa_client.tasks import mc, niah
from vqa_client.tasks.task import Loaded, Task
from vqa_client.types import Failure, Question, Record, Status

TEXT_ONLY = "text_only"
NOTHING_LEFT = "page images are named {_id}_page_{NNN}.png; look at the ids, the blacklist and the folder"
Note = Callable[[str], None]
Writer = Callable[[Path, longbench.Run, longbench.Pairs], Summary]


class Plan(Struct, frozen=True, kw_only=True):
    """One run to be; `data_path` and `images_dir` are as they were given."""

    task: Task
    loaded: Loaded
    variant: str
    report_path: Path
    data_path: Path
    images_dir: Path | None
    missing_pages: dict[str, tuple[int, ...]]
    write: Writer

    @property
    def title(self) -> str:
        """What the displays call it."""
        return f"{self.task.name} {self.variant}"

    def identity(self) -> dict[str, Any]:
        """What only the plan knows of a run's identity."""
        return {"task": self.task.name, "variant": self.variant, "text_only": self.images_dir is None}

    def report(self, pairs: longbench.Pairs, model: str, config: str | None, limit: int | None) -> Report:
        """Write the report of the records there are; raises UsageError where it can't be written."""
        run = longbench.Run(
            subdirectory=self.variant,
            model=model,
            config=config,
            data_path=str(self.data_path),
            images_dir=str(self.images_dir) if self.images_dir else None,
            expected=self.loaded.count,
            text_only=self.images_dir is None,
            left_out=self.loaded.left_out,
            scoring=self.task.scoring,
            limit=limit,
        )
        examples = Examples()
        summary = self.write(self.report_path, run, lambda: examples.watching(pairs()))
        return Report(
            task=self.task.name,
            variant=self.variant,
            model=model,
            path=self.report_path,
            expected=self.loaded.count,
            left_out=self.loaded.left_out,
            summary=summary,
            limit=limit,
            headline=self.task.scoring.get("parser", "containment"),
            failures=examples.failures,
            cut_documents=len(examples.cut_documents),
        )


class Examples:
    """The first failure of each status, and the documents that were shown in part, met on a walk over the records."""

    def __init__(self) -> None:
        self.failures: dict[Status, Failure] = {}
        self.cut_documents: set[str] = set()

    def watching(self, pairs: Iterable[tuple[Question, Record]]) -> Iterator[tuple[Question, Record]]:
        """The same pairs."""
        for question, record in pairs:
            if record.error is not None:
                self.failures.setdefault(record.status, record.error)
            if record.truncated_pages:
                self.cut_documents.add(record.cluster or record.question_id)
            yield question, record


def make_plans(settings: McSettings | NiahSettings, model: ModelSettings | None, note: Note) -> list[Plan]:
    """Check and load everything a command needs; raises DataError or UsageError before any question is asked."""
    match settings:
        case McSettings():
            plans = _mc(settings, model)
        case NiahSettings():
            plans = _niah(settings, model, note)
        case _:
            assert_never(settings)
    _check_place(settings.output)
    for plan in plans:
        for reason, ids in plan.loaded.left_out.items():
            shown = ", ".join(ids[:3]) + (", ..." if len(ids) > 3 else "")
            note(f"{plan.title}: {len(ids)} left out ({reason.replace('_', ' ')}): {shown}")
        if plan.missing_pages:
            document, numbers = next(iter(plan.missing_pages.items()))
            note(f"{plan.title}: {len(plan.missing_pages)} documents have gaps, {document} lacks page {numbers[0]}")
        if not plan.loaded.count and settings.limit != 0:
            raise DataError(f"{plan.title}: no question is left to ask of {plan.data_path}", hint=NOTHING_LEFT)
    return plans


def _check_place(output: Path) -> None:
    """Raise UsageError where the reports could not be written, before hours are spent on them."""
    place = output if output.suffix.lower() != ".json" else output.parent
    there = next((path for path in (place, *place.absolute().parents) if path.exists()), Path())
    if not there.is_dir():
        raise UsageError(f"--output {output}: {there} is a file, not a folder", hint="choose another --output")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"--output {output}: no right to write in {there}", hint="choose another --output")


def _mc(settings: McSettings, model: ModelSettings | None) -> list[Plan]:
    template = model.prompt_template if model else None
    task = mc.task(prompt_template=template, parser=settings.parser, text_only=settings.text_only)
    folders = _folders(settings.images_dir, "--images_dir", text_only=settings.text_only)
    return [
        _plan(settings, task, folder, settings.data_json, settings.output / report_name(_name(folder), "mc"))
        for folder in folders
    ]


def _niah(settings: NiahSettings, model: ModelSettings | None, note: Note) -> list[Plan]:
    data, images = _niah_input(settings)
    template, said = niah.choose_template(model.prompt_template if model else None)
    if said:
        note(said)
    task = niah.task(prompt_template=template, case_sensitive=settings.case_sensitive, text_only=settings.text_only)
    folders = _folders(images, "--images", text_only=settings.text_only)
    one_file = settings.output.suffix.lower() == ".json"
    if one_file and len(folders) > 1:
        raise UsageError(
            f"--output {settings.output} is one file and {images} has {len(folders)} folders of page images",
            hint="give a folder as --output, or one folder of pages as --images",
        )
    return [
        _plan(
            settings,
            task,
            folder,
            data,
            settings.output if one_file else settings.output / report_name(_name(folder), "niah"),
        )
        for folder in folders
    ]


FORMS: dict[str, tuple[Callable[..., Loaded], Writer]] = {
    "mc": (mc.load, longbench.write_mc),
    "niah": (niah.load, longbench.write_niah),
}
"""How a task's data is read and its report written."""


def _plan(
    settings: McSettings | NiahSettings, task: Task, folder: PageFolder | None, data: Path, report_path: Path
) -> Plan:
    load, write = FORMS[task.name]
    index = PageIndex(folder.path) if folder else None
    loaded = load(
        data,
        pages=index.pages if index else None,
        blacklist=settings.blacklist,
        limit=settings.limit,
        text_only=settings.text_only,
    )
    return Plan(
        task=task,
        loaded=loaded,
        variant=_name(folder),
        report_path=report_path,
        data_path=data,
        images_dir=folder.path if folder else None,
        missing_pages=index.missing if index else {},
        write=write,
    )


def _name(folder: PageFolder | None) -> str:
    return folder.name if folder else TEXT_ONLY


def _niah_input(settings: NiahSettings) -> tuple[Path, Path | None]:
    """The data file and the images' place from either form of the command."""
    if settings.input is not None:
        if settings.data or settings.images:
            raise UsageError("--input stands instead of --data and --images", hint="give one or the other")
        return settings.input / "data.json", settings.input
    if settings.data is None:
        raise UsageError("niah needs questions", hint="--data FILE with --images DIR, or --input DIR with both")
    return settings.data, settings.images


def _folders(root: Path | None, option: str, *, text_only: bool) -> list[PageFolder] | list[None]:
    """The page folders to run over; a single None where the prompt holds the text instead."""
    if text_only:
        return [None]
    if root is None:
        raise UsageError("there are no page images to show", hint=f"give their folder as {option}, or --text_only")
    return page_folders(root)
