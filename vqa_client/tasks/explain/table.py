"""The benchmarks with explanations by their short names, and which split of one stands in for another."""

from collections.abc import Mapping
from typing import Any, Final

from vqa_client.errors import UsageError
from vqa_client.tasks.explain.actx import ACTX_TASK
from vqa_client.tasks.explain.dataset import Dataset
from vqa_client.tasks.explain.esnlive import ESNLIVE_TASK
from vqa_client.tasks.explain.vcr import VCR_TASKS
from vqa_client.tasks.explain.vqax import VQAX_TASK

FREE: Final = "free"
EXPLAIN_TASKS: Final[Mapping[str, Dataset[Any]]] = {
    "vqax": VQAX_TASK,
    "actx": ACTX_TASK,
    "esnlive": ESNLIVE_TASK,
    "vcr": VCR_TASKS[FREE],
}


def dataset_of(task: str, vcr_mode: str = FREE) -> Dataset[Any]:
    """Give a benchmark by its short name; raises UsageError for an unknown one and for another's mode."""
    if task not in EXPLAIN_TASKS:
        raise UsageError(f"unknown task {task!r}", hint=f"known are {', '.join(EXPLAIN_TASKS)}")
    if vcr_mode not in VCR_TASKS:
        raise UsageError(f"unknown VCR mode {vcr_mode!r}", hint=f"known are {', '.join(VCR_TASKS)}")
    if task != "vcr" and vcr_mode != FREE:
        raise UsageError(f"--vcr_mode {vcr_mode} is for --task vcr, not {task}", hint="leave it out")
    return VCR_TASKS[vcr_mode] if task == "vcr" else EXPLAIN_TASKS[task]


def split_read(task: str, split: str) -> str:
    """Give the split whose file is read: test stands in for a val that a benchmark does not have."""
    return split if split in EXPLAIN_TASKS[task].files or split != "val" else "test"


def said_of_split(task: str, split: str) -> str:
    """What a user should know where another split's file is read than the one asked for, else ""."""
    read = split_read(task, split)
    return "" if read == split else f"{EXPLAIN_TASKS[task].title} has no {split} split: {read} stands in for it"
