"""ACT-X: what a person in a photograph does, of some 400 activities, with the explanations of people."""

import os
from typing import ClassVar

from vqa_client.benchmark import Benchmark
from vqa_client.scoring.explained_answer import read_phrase
from vqa_client.settings.own_commands import ExplainSettings
from vqa_client.tasks.explain.dataset import Dataset, Id, PhotoRow
from vqa_client.tasks.explain.declared import declared
from vqa_client.tasks.explain.prompts import ACTX
from vqa_client.types import Question

_ASKED = "What is the person doing?"


class ActxRow(PhotoRow, frozen=True, kw_only=True):
    """One photograph and its activity, in one of three fields."""

    folder: ClassVar = "mpi"
    answers: str | None = None
    label: str | None = None
    activity: str | None = None
    image_id: Id = None

    def gold(self) -> str:
        """The activity, or ""."""
        return next((text for text in (self.answers, self.label, self.activity) if text and text.strip()), "").strip()


def _question(sample_id: str, row: ActxRow, path: str) -> Question | str:
    gold = row.gold()
    if not gold:
        return "no_answer"
    return Question(
        id=sample_id,
        text=_ASKED,
        images=(path,),
        references=(gold,),
        rationales=row.gold_explanations(),
        cluster=os.path.basename(path),
        extra={"gold": gold, "columns": {"image_id": str(row.image_id or ""), "gt_label": gold}},
    )


ACTX_TASK = Dataset(
    name="actx",
    title="ACT-X",
    folders=("ACT-X",),
    files={split: (f"actX_{split}.json",) for split in ("train", "test")},
    row=ActxRow,
    question=_question,
    wording=ACTX,
    read=lambda reply, question: read_phrase(reply),
)


def benchmark(options: ExplainSettings) -> Benchmark:
    return declared(options, ACTX_TASK)
