"""What a dataset of answers with explanations is: its files, records and questions, and how its replies are read."""

from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

from msgspec import Struct

from vqa_client.benchmark import Metric
from vqa_client.errors import UsageError
from vqa_client.scoring.reply import Reply
from vqa_client.tasks.explain.prompts import Wording
from vqa_client.types import Answer, Question

FREE: Final = "free"
"""The mode of VCR without choices, and of all other datasets."""
Id = str | int | None
Texts = str | list[str] | None
"""One text, or several."""


class NleRow(Struct, frozen=True, kw_only=True):
    """What the records of all benchmarks may have; the explanations come under one of five names."""

    id: Id = None
    sample_id: Id = None
    question_id: Id = None
    annot_id: Id = None
    explanation: Texts = None
    explanations: Texts = None
    rationale: Texts = None
    nle: Texts = None
    exp: Texts = None

    def own_id(self) -> str:
        """The id that the record itself gives, or ""."""
        ids = (self.id, self.sample_id, self.question_id, self.annot_id)
        return next((str(each) for each in ids if each not in (None, "")), "")

    def places(self, split: str) -> tuple[str, ...]:
        """Where the record's image may lie, relative to images/; "" where it names none."""
        raise NotImplementedError

    def gold_explanations(self) -> tuple[str, ...]:
        """All explanations of people that the record has; the published script keeps the first."""
        fields = (self.explanation, self.explanations, self.rationale, self.nle, self.exp)
        given = next((field for field in fields if field is not None), [])
        texts = [given] if isinstance(given, str) else given
        return tuple(text for text in texts if text.strip())


class PhotoRow(NleRow, frozen=True, kw_only=True):
    """A record of one photograph, whose name goes by one of three names."""

    image_name: str | None = None
    image: str | None = None
    filename: str | None = None

    def photo(self) -> str:
        """The name of the photograph's file, with its folders where it has any, or ""."""
        return (self.image_name or self.image or self.filename or "").lstrip("/")


AnyRow = TypeVar("AnyRow", bound=NleRow)


def in_words(answer: str, question: Question) -> str:
    """The answer as text: where it is a letter, what the letter stands for."""
    return question.choices.get(answer.partition(" because ")[0], answer)


class Dataset(Struct, Generic[AnyRow], frozen=True, kw_only=True):
    """One dataset.

    `title` is its row in the accuracy grid, `folders` and `files` say where below nle_data/ its file of a split may
    lie, tried in order; one without a val split takes its test split. `question` takes an id, a record and the path of
    its image, or gives the reason why the record can't be asked; `lacking` says what to do where that holds for the
    whole file. A question's `extra` has "gold" (the right answer as `read` gives it), "gold_text" where the published
    readings give it otherwise, and "columns" of the published table. `metrics` are those beside the accuracies of all
    readings.
    """

    name: str
    title: str
    folders: tuple[str, ...]
    files: Mapping[str, tuple[str, ...]]
    row: type[AnyRow]
    question: Callable[[str, AnyRow, str], Question | str]
    wording: Wording
    read: Callable[[Reply, Question], Answer]
    metrics: tuple[Metric, ...] = ()
    breakdowns: tuple[str, ...] = ()
    question_type: str = ""
    normalise: Callable[[str], str] | None = None
    lacking: Mapping[str, tuple[str, str]] = {}
    prompt_mode: str = "zero"
    published: bool = True

    def split_read(self, split: str) -> str:
        """Give the split whose file is read: test stands in for a val that a benchmark does not have."""
        return split if split in self.files or split != "val" else "test"

    def said_of_split(self, split: str) -> str:
        """What a user should know where another split's file is read than the one asked for, else ""."""
        read = self.split_read(split)
        return "" if read == split else f"{self.title} has no {split} split: {read} stands in for it"


def check_mode(task: str, vcr_mode: str) -> None:
    """Raise UsageError for a mode of VCR that is given to another benchmark."""
    if task != "vcr" and vcr_mode != FREE:
        raise UsageError(f"--vcr_mode {vcr_mode} is for --task vcr, not {task}", hint="leave it out")
