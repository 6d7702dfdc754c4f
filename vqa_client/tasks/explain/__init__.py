"""Benchmarks whose answers come with an explanation: `<answer> because <explanation>`."""

from vqa_client.tasks.explain.declared import declared, prompt_mode_of
from vqa_client.tasks.explain.loading import find_file, load, read_questions
from vqa_client.tasks.explain.table import EXPLAIN_TASKS, FREE, dataset_of, said_of_split, split_read

__all__ = [
    "EXPLAIN_TASKS",
    "FREE",
    "dataset_of",
    "declared",
    "find_file",
    "load",
    "prompt_mode_of",
    "read_questions",
    "said_of_split",
    "split_read",
]
