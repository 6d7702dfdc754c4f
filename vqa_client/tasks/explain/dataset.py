"""What a dataset of answers with explanations is: its files, records and questions, and how its replies are read.

One split's file, of any form, is loaded with its records' images.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from vqa_client.benchmark import Metric
from vqa_client.errors import UNDECODABLE, DataError, UsageError, unreadable
from vqa_client.not_json import fault
from vqa_client.scoring.reply import Reply
from vqa_client.task import Loaded
from vqa_client.tasks.explain.prompts import Wording
from vqa_client.types import Answer, Question

FREE: Final = "free"
"""The mode of VCR without choices, and of all other datasets."""
Id = str | int | None
Texts = str | list[str] | None
"""One text, or several."""


class NleRow(Struct, frozen=True, kw_only=True):
    """What the records of all benchmarks may have; the explanations come under one of five names.

    `folder` is that of the images below images/.
    """

    folder: ClassVar[str] = ""
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

    def photo(self) -> str:
        """The name of the image's file, with its folders where it has any, or ""."""
        raise NotImplementedError

    def places(self, split: str) -> tuple[str, ...]:
        """Where the record's image may lie, relative to images/; "" where it names none."""
        return (f"{self.folder}/{self.photo()}" if self.photo() else "",)

    def gold_explanations(self) -> tuple[str, ...]:
        """All explanations of people that the record has; the published script keeps the first."""
        fields = (self.explanation, self.explanations, self.rationale, self.nle, self.exp)
        value = next((field for field in fields if field is not None), [])
        texts = [value] if isinstance(value, str) else value
        return tuple(text for text in texts if text.strip())


class PhotoRow(NleRow, frozen=True, kw_only=True):
    """A record of one photograph, whose name goes by one of three names."""

    image_name: str | None = None
    image: str | None = None
    filename: str | None = None

    def photo(self) -> str:
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
        other = self.split_read(split)
        return "" if other == split else f"{self.title} has no {split} split; {other} is used"


def check_mode(task: str, vcr_mode: str) -> None:
    """Raise UsageError for a mode of VCR that is given to another benchmark."""
    if task != "vcr" and vcr_mode != FREE:
        raise UsageError(f"--vcr_mode {vcr_mode} is for --task vcr, not {task}", hint="leave it out")


_LAYOUT = "--data is a folder with images/ and nle_data/, with nle_data/VQA-X/vqaX_val.json and the like"
_NO_IMAGE = "no_image"
_BOM = b"\xef\xbb\xbf"
_HINT = "an NLE file is a JSON object of records by id, or a list of them; a .jsonl file has one per line"


class ImageFiles:
    """The images below one root; its folders are walked over once, when the first image isn't where it should be."""

    def __init__(self, root: Path) -> None:
        self._root = os.fspath(root)

    def find(self, places: Iterable[str]) -> str | None:
        """Give the first of `places` (relative to the root) that is a file, else a file of the same name, else None.

        A place outside the root is one by its name alone: a data file may not have any file sent that it names.
        Of several with that name it is one in the folder that the first place begins with, then the first by path.
        """
        candidates = [place for place in places if place]
        for place in filter(_is_below, candidates):
            path = os.path.join(self._root, place)
            if os.path.isfile(path):
                return path
        for place in candidates:
            same_name = self._by_name.get(os.path.basename(place), [])
            folder = os.path.join(self._root, place.split("/")[0], "")
            if same_name:
                return min(same_name, key=lambda path: (not path.startswith(folder), path))
        return None

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        paths: dict[str, list[str]] = {}
        for folder, _, names in os.walk(self._root):
            for name in names:
                paths.setdefault(name, []).append(os.path.join(folder, name))
        return paths


def _is_below(place: str) -> bool:
    return not os.path.isabs(place) and os.pardir not in place.split("/")


def find_file(dataset: Dataset[Any], split: str, data_root: str | os.PathLike[str]) -> Path:
    """Find the file of a split below nle_data/; raises DataError that names the places looked at."""
    names = dataset.files.get(dataset.split_read(split), ())
    places = [Path(data_root, "nle_data", folder, name) for name in names for folder in dataset.folders]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        looked_for = " or ".join(map(str, places)) or f"a file of the split {split!r}"
        raise DataError(f"{dataset.title}: {looked_for} does not exist", hint=_LAYOUT)
    return path


def load(
    dataset: Dataset[Any],
    split: str,
    data_root: str | os.PathLike[str],
    *,
    n_samples: int | None = None,
    require_images: bool = False,
) -> Loaded:
    """Read a split and find its images; of the samples that have one, the first `n_samples` are asked.

    Left out are, by id, those met before the last one asked that have no image ("no_image"), no gold answer
    ("no_answer", "no_label") or no choices that the mode asks for. Raises DataError where no image is found, or one is
    missing and `require_images`; UsageError where the file has nothing that the mode asks for.
    """
    path = find_file(dataset, split, data_root)
    rows, sha256 = _read_rows(path, dataset.row)
    images = Path(data_root, "images")
    questions, left_out, missing = _choose(dataset, rows, dataset.split_read(split), ImageFiles(images), n_samples)
    for reason, (what, hint) in dataset.lacking.items():
        if reason in left_out and not questions and not missing:
            raise UsageError(f"{path} {what}", hint=hint)
    if missing and (require_images or not questions):
        raise DataError(
            f"{dataset.title}: {len(missing)} of {len(missing) + len(questions)} images are missing in {images}, the "
            f"first is {missing[0] or 'not named in its record'}",
            hint=_LAYOUT,
        )
    left_out_ids = {reason: tuple(ids) for reason, ids in left_out.items()}
    return Loaded(questions=questions, count=len(questions), left_out=left_out_ids, data_sha256=sha256)


def read_questions(
    dataset: Dataset[Any], path: Path, *, split: str = "val"
) -> tuple[list[Question], dict[str, list[str]]]:
    """Every question of an NLE file, whether its image is there or not, and by reason the ids that make none.

    Raises DataError where the file can't be read or makes no question.
    """
    questions, left_out, _ = _choose(dataset, _read_rows(path, dataset.row)[0], split)
    if not questions:
        what, hint = next(
            (dataset.lacking[reason] for reason in left_out if reason in dataset.lacking),
            ("has no record with a right answer", f"is it a file of {dataset.title}?"),
        )
        raise DataError(f"{path} {what}", hint=hint)
    return questions, left_out


def _choose(
    dataset: Dataset[Any],
    rows: Iterable[tuple[str, NleRow]],
    split: str,
    images: ImageFiles | None = None,
    n_samples: int | None = None,
) -> tuple[list[Question], dict[str, list[str]], list[str]]:
    """The questions, by reason the ids that make none, and where images that aren't there should be.

    Without `images` none is looked for.
    """
    questions: list[Question] = []
    left_out: dict[str, list[str]] = {}
    missing: list[str] = []
    for sample_id, row in rows:
        if n_samples is not None and len(questions) >= n_samples:
            break
        places = row.places(split)
        path = next(filter(None, places), "") if images is None else images.find(places)
        question = dataset.question(sample_id, row, path or "")
        if isinstance(question, str):
            left_out.setdefault(question, []).append(sample_id)
        elif path is None:
            left_out.setdefault(_NO_IMAGE, []).append(sample_id)
            missing.append(places[0])
        else:
            questions.append(question)
    return questions, left_out, missing


def _read_rows(path: Path, row_type: type[AnyRow]) -> tuple[list[tuple[str, AnyRow]], str]:
    """Give every record with its id, in file order, and the file's SHA-256.

    The id is the record's key in the file; in a list, the one it gives itself, else its index from 0. One that comes
    again gets "#2", "#3" and so on behind it, so that no record hides another. Raises DataError that names the file
    and the record.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error, _HINT) from None
    rows: dict[str, AnyRow] = {}
    for index, (key, record) in enumerate(_records(path, data.removeprefix(_BOM))):
        row = _decode(path, repr(key) if key else str(index + 1), record, row_type)
        rows[_unused_name(key or row.own_id() or str(index), rows)] = row
    if not rows:
        raise DataError(f"{path} contains no record", hint=_HINT)
    return list(rows.items()), hashlib.sha256(data).hexdigest()


def _records(path: Path, data: bytes) -> Iterator[tuple[str, Raw]]:
    try:
        if path.suffix.lower() == ".jsonl":
            yield from (("", line) for line in msgspec.json.Decoder(Raw).decode_lines(data))
            return
        records = msgspec.json.decode(data, type=dict[str, Raw] | list[Raw])
    except UNDECODABLE as error:
        raise DataError(f"{path}: {fault(error, data)}", hint=_HINT) from None
    yield from records.items() if isinstance(records, dict) else (("", record) for record in records)


def _decode(path: Path, name: str, record: Raw, row_type: type[AnyRow]) -> AnyRow:
    try:
        return msgspec.json.decode(record, type=row_type)
    except UNDECODABLE as error:
        raise DataError(f"{path}: record {name}: {fault(error, bytes(record))}", hint=_HINT) from None


def _unused_name(name: str, taken: dict[str, AnyRow]) -> str:
    times = 1
    unused = name
    while unused in taken:
        times += 1
        unused = f"{name}#{times}"
    return unused
