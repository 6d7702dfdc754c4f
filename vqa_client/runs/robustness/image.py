"""The first image that a robustness run showed, looked for where the run had its images."""

import contextlib
from glob import escape
from pathlib import Path

import msgspec
from msgspec import Struct

from vqa_client.reports.robustness.results import FoundRun
from vqa_client.runs.resume import RunPaths
from vqa_client.runs.run_file import RunFile
from vqa_client.tables.inside import split_name

_FOLDERS = ("images_dir", "images", "data_dir", "input")
"""The settings that name a folder of images, or one with such a folder in it."""


class _Name(Struct):
    name: str


class _Line(Struct):
    images: tuple[_Name, ...] = ()


class _Report(Struct):
    images_dir: str | None = None


_line = msgspec.json.Decoder(_Line)
_report = msgspec.json.Decoder(_Report)


def first_image(run: FoundRun) -> Path | None:
    """The image's file; None where it is not there any more, or the run is of result files."""
    if run.report is None or (name := _first_name(run.path)) is None:
        return None
    for folder in _places(run.report):
        if (folder / name).is_file() or split_name(str(folder / name))[1]:
            return folder / name
        if found := next(folder.rglob(escape(name)), None):
            return found
    return None


def _first_name(log: Path) -> str | None:
    with log.open("rb") as file:
        for text in file:
            try:
                images = _line.decode(text).images
            except ValueError:
                continue
            if images:
                return images[0].name
    return None


def _places(report: Path) -> list[Path]:
    """Folders named by the run's report and its settings, those that are there."""
    named: list[str | None] = []
    with contextlib.suppress(OSError, ValueError):  # an interrupted run may have no report
        named.append(_report.decode(report.read_bytes()).images_dir)
    file = RunFile.read(RunPaths.beside(report).run)
    settings = file.described.get("settings", {}) if file else {}
    named += [settings.get(name) for name in _FOLDERS]
    return [Path(folder) for folder in named if folder and Path(folder).is_dir()]
