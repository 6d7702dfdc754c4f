"""e-SNLI-VE: does a photograph entail a sentence, contradict it, or leave it open."""

import os
import re
from typing import ClassVar

from vqa_client.benchmark import Benchmark
from vqa_client.scoring.explained_answer import LABELS, read_label
from vqa_client.settings.own_commands import ExplainSettings
from vqa_client.tasks.explain.dataset import Dataset, PhotoRow
from vqa_client.tasks.explain.declared import declared
from vqa_client.tasks.explain.prompts import ESNLIVE
from vqa_client.types import Question

_NUMBER = re.compile(r"\d+")


class EsnliveRow(PhotoRow, frozen=True, kw_only=True):
    """One sentence about a photograph; its label is in one of four fields."""

    folder: ClassVar = "flickr30k"
    hypothesis: str = ""
    answers: str | None = None
    label: str | None = None
    gold_label: str | None = None
    relation: str | None = None

    def gold(self) -> str:
        """The first known label of the four fields, or ""."""
        candidates = (self.answers, self.label, self.gold_label, self.relation)
        return next((label for text in candidates if text and (label := text.strip().lower()) in LABELS), "")


def _question(sample_id: str, row: EsnliveRow, path: str) -> Question | str:
    gold = row.gold()
    if not gold:
        return "no_label"
    if not row.hypothesis.strip():
        return "no_hypothesis"
    name = os.path.basename(row.photo())
    number = _NUMBER.search(name)
    columns = {
        "image_name": name,
        "image_numeric_id": number[0] if number else "",
        "hypothesis": row.hypothesis,
        "gt_label": gold,
    }
    return Question(
        id=sample_id,
        text=row.hypothesis,
        images=(path,),
        references=(gold,),
        rationales=row.gold_explanations(),
        groups={"label": gold},
        cluster=name,
        extra={"gold": gold, "columns": columns},
    )


ESNLIVE_TASK = Dataset(
    name="esnlive",
    title="ESNLI-VE",
    folders=("eSNLI-VE",),
    files={split: (f"esnlive_{split}.json",) for split in ("train", "test")},
    row=EsnliveRow,
    question=_question,
    wording=ESNLIVE,
    breakdowns=("label",),
    read=lambda reply, question: read_label(reply),
    prompt_mode="3shot",
)


def benchmark(options: ExplainSettings) -> Benchmark:
    return declared(options, ESNLIVE_TASK)
