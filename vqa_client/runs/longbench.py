"""The runs of mc and niah, one an image folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vqa_client.errors import UsageError
from vqa_client.images.find import PageFolder, PageIndex, page_folders
from vqa_client.model_config import ModelSettings
from vqa_client.reports.longbench import report as longbench
from vqa_client.reports.names import report_name
from vqa_client.reports.run import Write
from vqa_client.runs.page_counts import PageCounts
from vqa_client.runs.plan import Note, Plan
from vqa_client.runs.resume import RunPaths
from vqa_client.settings.longbench import McSettings, NiahSettings
from vqa_client.tasks import mc, niah
from vqa_client.tasks.task import Loaded, Task

TEXT_ONLY = "text_only"


def mc_plans(settings: McSettings, config: str | None, model: ModelSettings | None, note: Note) -> list[Plan]:
    """One plan an image folder; raises UsageError or DataError."""
    template, mode = model.prompt_template if model else None, settings.choice_mode
    if mode != "text" and settings.parser != "robust":
        raise UsageError(f"--parser reads free text, and --choice_mode {mode} has none", hint="leave --parser away")
    if mode != "text" and template:
        note(f"--choice_mode {mode}: the config's prompt_template is kept; it should ask for the letter alone")
    task = mc.task(prompt_template=template, parser=settings.parser, choice_mode=mode, text_only=settings.text_only)
    folders = _folders(settings.images_dir, "--images_dir", text_only=settings.text_only)
    return _plans(
        settings, task, folders, settings.data_json, lambda name: settings.output / report_name(name, "mc"), note
    )


def _mode(task: Task) -> dict[str, Any]:
    """What of the identity is another one where answers aren't read from free text."""
    return {"choice_mode": task.choosing.mode} if task.choosing else {}


def niah_plans(settings: NiahSettings, config: str | None, model: ModelSettings | None, note: Note) -> list[Plan]:
    """The same for needles; `note` is told where the config's template can't be used."""
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
    place = (lambda _: settings.output) if one_file else (lambda name: settings.output / report_name(name, "niah"))
    return _plans(settings, task, folders, data, place, note)


FORMS: dict[str, tuple[Callable[..., Loaded], Write]] = {
    "mc": (mc.load, longbench.write_mc),
    "niah": (niah.load, longbench.write_niah),
}
"""How a task's data is read and its report written."""


def _plans(
    settings: McSettings | NiahSettings,
    task: Task,
    folders: list[PageFolder] | list[None],
    data: Path,
    report_path: Callable[[str], Path],
    note: Note,
) -> list[Plan]:
    counts = PageCounts()
    plans = [_plan_of_folder(settings, task, folder, data, report_path(_name(folder)), counts) for folder in folders]
    counts.tell(note)
    for line in dict.fromkeys(line for plan in plans for line in plan.loaded.notes):
        note(line)
    return plans


def _plan_of_folder(
    settings: McSettings | NiahSettings,
    task: Task,
    folder: PageFolder | None,
    data: Path,
    report_path: Path,
    counts: PageCounts,
) -> Plan:
    load, write = FORMS[task.name]
    index = PageIndex(folder.path) if folder else None
    loaded = load(
        data,
        variant=_name(folder),
        pages=counts.counted(_name(folder), index.pages) if index else None,
        blacklist=settings.blacklist,
        limit=settings.limit,
        text_only=settings.text_only,
    )
    return Plan(
        task=task,
        loaded=loaded,
        variant=_name(folder),
        paths=RunPaths.beside(report_path),
        data_path=data,
        images_dir=folder.path if folder else None,
        missing_pages=index.missing if index else {},
        write=write,
        config=settings.config,
        limit=settings.limit,
        identity={"text_only": settings.text_only, **_mode(task)},
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
