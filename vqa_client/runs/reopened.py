"""A finished run's task and questions again, from its run file: needs no server and, but for vqa2, no image."""

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.errors import DataError, UsageError
from vqa_client.reports.log_reader import LOG_ENDING
from vqa_client.runs.declared import reopen_declared
from vqa_client.runs.run_file import RunFile
from vqa_client.scoring.reordered import as_shown
from vqa_client.task import Loaded, Task
from vqa_client.tasks import explain, mc, niah
from vqa_client.tasks.vqa2 import task as vqa2
from vqa_client.tasks.vqa2.files import Vqa2Files, find_files
from vqa_client.tasks.vqa2.sample import ANNOTATIONS, QUESTIONS, SUBTYPE
from vqa_client.types import Question

WAY_OUT = (
    "paths are as the run was given them: start from the folder that it was started in, or put the file back there"
)
_CORRUPTED: Final = ("corruption", "level")
"""Groups that a robustness run adds to those of its benchmark."""


class Reopened(Struct, frozen=True, kw_only=True):
    """What today's code makes of a run's benchmark; `questions` are all of the data file, asked or not."""

    file: RunFile
    task: Task
    questions: Iterable[Question]
    data_sha256: str


def reopen(log: Path) -> Reopened:
    """Read the run file beside a log and the data file that it names.

    Raises UsageError without a run file or for a task that isn't known, DataError that names a missing data file.
    """
    file = RunFile.read(run_file_of(log))
    if file is None:
        raise UsageError(
            f"{run_file_of(log)} is missing, which says from which data and by which parser the run is",
            hint="put it back beside the log",
        )
    task, loaded = _opened(str(file.identity.get("task")), file, log)
    return Reopened(file=file, task=task, questions=loaded.questions, data_sha256=loaded.data_sha256)


def asked_as(question: Question, variant: str, groups: dict[str, str]) -> Question:
    """The question in the variant in which a record has it, whose `groups` say under which corruption.

    A variant that is an order of the choices has them in that order.
    """
    corrupted = {name: groups[name] for name in _CORRUPTED if name in groups}
    return as_shown(replace(question, variant=variant, groups=question.groups | corrupted))


def run_file_of(log: Path) -> Path:
    """Where the run file of a log lies."""
    return log.with_name(log.name.replace(LOG_ENDING, ".run.json"))


def _opened(name: str, file: RunFile, log: Path) -> tuple[Task, Loaded]:
    settings = file.described.get("settings") or {}
    try:
        return _OPENERS[name](settings, file) if name in _OPENERS else reopen_declared(file)
    except KeyError as missing:
        raise UsageError(f"{run_file_of(log)} does not say the setting {missing}", hint="was it edited?") from None
    except DataError as error:
        raise DataError(f"{log.name} needs the data that its questions are from: {error}", hint=WAY_OUT) from None


def _mc(settings: dict[str, Any], file: RunFile) -> tuple[Task, Loaded]:
    task = mc.task(
        prompt_template=_template(file),
        parser=file.scoring.get("parser", "robust"),
        choice_mode=file.identity.get("choice_mode", "text"),
    )
    return task, mc.load(settings["data_json"], pages=_unseen)


def _niah(settings: dict[str, Any], file: RunFile) -> tuple[Task, Loaded]:
    task = niah.task(prompt_template=_template(file), case_sensitive=file.scoring.get("case_sensitive") == "true")
    data = settings.get("data") or Path(settings["input"] or "", "data.json")
    return task, niah.load(data, pages=_unseen)


def _unseen(document_id: str) -> tuple[str, ...]:
    """A page for every document, so that none is left out for having none today."""
    return (document_id,)


def _vqa2(settings: dict[str, Any], file: RunFile) -> tuple[Task, Loaded]:
    template, _ = vqa2.choose_template(_template(file))
    return vqa2.task(prompt_template=template), vqa2.load(_vqa2_files(settings), num_questions=None)


def _vqa2_files(settings: dict[str, Any]) -> Vqa2Files:
    if settings["mode"] == SUBTYPE:
        folder = Path(settings["results_dir"], "vqa2_sample")
        return Vqa2Files(
            questions=folder / QUESTIONS, annotations=folder / ANNOTATIONS, image_roots=(folder / "images",)
        )
    given = (settings.get(name) for name in ("questions_file", "annotations_file", "images"))
    return find_files(Path(settings["data_dir"]), *(Path(path) if path else None for path in given))


def _explain(settings: dict[str, Any], file: RunFile) -> tuple[Task, Loaded]:
    name, split, mode = settings["task"], settings["split"], file.identity.get("vcr_mode", explain.FREE)
    task = explain.task(
        name,
        parsing=file.scoring.get("parsing", "robust"),
        prompt_mode=file.identity.get("prompt_mode"),
        vcr_mode=mode,
    )
    path = explain.find_file(name, split, settings["data_root"], vcr_mode=mode)
    questions, _ = explain.read_questions(name, path, split=explain.split_read(name, split), vcr_mode=mode)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return task, Loaded(questions=questions, count=len(questions), data_sha256=digest)


def _template(file: RunFile) -> str | None:
    return file.model().prompt_template


_OPENERS: dict[str, Callable[[dict[str, Any], RunFile], tuple[Task, Loaded]]] = {
    "mc": _mc,
    "niah": _niah,
    "vqa2": _vqa2,
    **dict.fromkeys(explain.EXPLAIN_TASKS, _explain),
}
"""How each benchmark is opened again."""
