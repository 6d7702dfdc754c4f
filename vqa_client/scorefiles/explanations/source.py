"""Which benchmark and file the predictions are of: as the settings say, else as the files' own names do."""

import re
from pathlib import Path

from msgspec import Struct

from vqa_client.errors import UsageError
from vqa_client.settings.score_explanations import ScoreExplanationsSettings
from vqa_client.tasks.explain import EXPLAIN_TASKS, FREE, dataset_of, find_file, said_of_split, split_read

_OURS = re.compile(rf"({'|'.join(EXPLAIN_TASKS)})_(train|val|test)_eval((?:-[a-z0-9]+)*)[._]")
_MODE = re.compile(r"-(q2ar|q2a|qa2r)\b")


class Source(Struct, frozen=True, kw_only=True):
    """The file of references and how it is to be read; `task` is None where no name tells."""

    path: Path
    task: str | None
    split: str
    vcr_mode: str
    note: str = ""


def source_of(settings: ScoreExplanationsSettings) -> Source:
    """Find the references; raises UsageError where nothing says which, DataError where the file isn't there."""
    named = _OURS.match(settings.predictions.name)
    conditions = named[3] if named else ""
    task = settings.task or _task_by_file(settings.references) or (named[1] if named else None)
    split = settings.split or (named[2] if named else None)
    mode = _MODE.search(conditions)
    vcr_mode = settings.vcr_mode or (mode[1] if mode and task == "vcr" else FREE)
    if task:
        dataset_of(task, vcr_mode)  # an impossible pair is told before any file is read
    if settings.references:
        return Source(path=settings.references, task=task, split=split or "val", vcr_mode=vcr_mode)
    if not task or not split:
        raise UsageError(
            f"nothing says what {settings.predictions} is compared with",
            hint="give --task and --split with --data_root, or a file with --references",
        )
    path = find_file(task, split, settings.data_root, vcr_mode=vcr_mode)
    return Source(
        path=path, task=task, split=split_read(task, split), vcr_mode=vcr_mode, note=said_of_split(task, split)
    )


def _task_by_file(path: Path | None) -> str | None:
    """The benchmark whose files begin like this one: vqaX_, actX_, esnlive_, vcr_."""
    name = path.name.lower() if path else ""
    return next((task for task in EXPLAIN_TASKS if name.startswith(f"{task}_")), None)
