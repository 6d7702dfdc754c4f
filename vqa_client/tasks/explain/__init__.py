"""Benchmarks whose answers come with an explanation: `<answer> because <explanation>`."""

from vqa_client.tasks.explain.dataset import FREE
from vqa_client.tasks.explain.declared import declared
from vqa_client.tasks.explain.loading import find_file, load, read_questions
from vqa_client.tasks.explain.table import EXPLAIN_TASKS, dataset_of

__all__ = [
    "EXPLAIN_TASKS",
    "FREE",
    "dataset_of",
    "declared",
    "find_file",
    "load",
    "read_questions",
]
