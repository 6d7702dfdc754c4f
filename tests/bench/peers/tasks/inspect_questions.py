"""The questions as a task of inspect-ai; run by its `inspect eval`, in its environment."""

import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
from inspect_ai.scorer import includes
from inspect_ai.solver import generate


@task
def questions(data: str) -> Task:
    """One sample a question: its pages, then its prompt."""
    rows = map(json.loads, Path(data).read_text(encoding="utf-8").splitlines())
    return Task(dataset=MemoryDataset([_sample(row) for row in rows]), solver=generate(), scorer=includes())


def _sample(row: dict) -> Sample:
    content = [*(ContentImage(image=page) for page in row["pages"]), ContentText(text=row["prompt"])]
    return Sample(id=row["id"], input=[ChatMessageUser(content=content)], target=row["target"])
