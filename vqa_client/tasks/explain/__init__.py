"""Benchmarks whose answers come with an explanation: `<answer> because <explanation>`."""

from collections.abc import Mapping
from typing import Any, Final

from vqa_client.tasks.explain.actx import ACTX_TASK
from vqa_client.tasks.explain.dataset import FREE, Dataset, check_mode
from vqa_client.tasks.explain.esnlive import ESNLIVE_TASK
from vqa_client.tasks.explain.vcr import VCR_TASKS
from vqa_client.tasks.explain.vqax import VQAX_TASK

EXPLAIN_TASKS: Final[Mapping[str, Dataset[Any]]] = {
    "vqax": VQAX_TASK,
    "actx": ACTX_TASK,
    "esnlive": ESNLIVE_TASK,
    "vcr": VCR_TASKS[FREE],
}


def dataset_of(task: str, vcr_mode: str = FREE) -> Dataset[Any]:
    """Give a benchmark by its short name; raises UsageError for another's mode."""
    check_mode(task, vcr_mode)
    return VCR_TASKS[vcr_mode] if task == "vcr" else EXPLAIN_TASKS[task]
