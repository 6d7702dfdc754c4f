"""VQA-X: open questions on COCO photographs, with ten answers and the explanations of people."""

import os

from msgspec import Struct

from vqa_client.benchmark import Benchmark, Metric
from vqa_client.scoring.short_answers import majority as most_frequent
from vqa_client.scoring.short_answers import normalise, same
from vqa_client.scoring.explained_answer import read_phrase
from vqa_client.scoring.explanation_metrics.evil import SOFT
from vqa_client.scoring.vqa_accuracy import FEWEST_FOR_FULL_MARKS, question_accuracy
from vqa_client.scoring.vqa_normalise import normalised
from vqa_client.settings.own_commands import ExplainSettings
from vqa_client.tasks.explain.dataset import Dataset, Id, PhotoRow
from vqa_client.tasks.explain.declared import declared
from vqa_client.tasks.explain.prompts import VQAX
from vqa_client.types import Question

_MOST_DIGITS = 18


class _Given(Struct, frozen=True):
    answer: str | None = None


class VqaxRow(PhotoRow, frozen=True, kw_only=True):
    """One question; the name of its image says whether it is of COCO's train2014 or val2014."""

    question: str = ""
    answers: str | list[str | _Given] | None = None
    image_id: Id = None

    def given_answers(self) -> tuple[str, ...]:
        """The answers of all annotators, as they wrote them."""
        answers = [self.answers] if isinstance(self.answers, str) else self.answers or []
        texts = (answer if isinstance(answer, str) else answer.answer for answer in answers)
        return tuple(text for text in texts if text and text.strip())

    def places(self, split: str) -> tuple[str, ...]:
        """The image's name in the folder that the name contains, else the split's; then the image's number there."""
        own = "train2014" if split == "train" else "val2014"
        name = os.path.basename(self.photo())
        folder = next((folder_name for folder_name in ("train2014", "val2014") if folder_name in name), own)
        number = "".join(filter(str.isdecimal, str(self.image_id or "")))
        by_number = f"{own}/COCO_{own}_{int(number):012d}.jpg" if 0 < len(number) <= _MOST_DIGITS else ""
        return (f"{folder}/{name}" if name else "", by_number)


def _question(sample_id: str, row: VqaxRow, path: str) -> Question | str:
    answers = row.given_answers()
    gold = most_frequent(answers)
    if not row.question.strip():
        return "no_question"
    if gold is None:
        return "no_answer"
    return Question(
        id=sample_id,
        text=row.question,
        images=(path,),
        references=answers,
        rationales=row.gold_explanations(),
        groups={"answer_kind": _kind(gold.answer), "majority": "tied" if gold.tied else "clear"},
        cluster=os.path.basename(path),
        extra={"gold": gold.answer, "columns": {"image_id": str(row.image_id or ""), "gt_answer": gold.answer}},
    )


def _kind(answer: str) -> str:
    if answer in ("yes", "no"):
        return "yes/no"
    return "number" if answer.isdecimal() else "other"


def _soft_accuracy(answer: str, question: Question) -> float:
    return question_accuracy(answer, question.references) if normalised(answer) else 0.0


def _any_of_ten(answer: str, question: Question) -> float:
    """Whether one of the annotators gave the answer, as NLX-GPT counts."""
    return float(any(same(answer, reference) for reference in question.references))


VQAX_TASK = Dataset(
    name="vqax",
    title="VQA-X",
    folders=("VQA-X",),
    files={split: (f"vqaX_{split}.json",) for split in ("train", "val", "test")},
    row=VqaxRow,
    question=_question,
    wording=VQAX,
    breakdowns=("answer_kind",),
    question_type="answer_kind",
    normalise=normalise,
    read=lambda reply, question: read_phrase(reply),
    metrics=(
        Metric(
            SOFT,
            _soft_accuracy,
            "by how many of ten people say so",
            when=lambda question: len(question.references) >= FEWEST_FOR_FULL_MARKS,  # fewer can't reach 1
        ),
        Metric("any_of_ten", _any_of_ten, "as one of ten people says"),
    ),
)


def benchmark(options: ExplainSettings) -> Benchmark:
    return declared(options, VQAX_TASK)
