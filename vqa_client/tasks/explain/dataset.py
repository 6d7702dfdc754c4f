"""Datasets of answers with explanations: their files, records and questions, how they are loaded and replies read."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from vqa_client.benchmark import Metric
from vqa_client.errors import UNDECODABLE, DataError, UsageError, reading
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
    """The fields that records of all benchmarks may have; explanations have one of five names.

    `folder` is the folder of the images below images/.
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
        """The id in the record, or ""."""
        ids = (self.id, self.sample_id, self.question_id, self.annot_id)
        return next((str(value) for value in ids if value not in (None, "")), "")

    def photo(self) -> str:
        """The name of the image's file, with its folders where it has any, or ""."""
        raise NotImplementedError

    def places(self, split: str) -> tuple[str, ...]:
        """The possible paths of the record's image, relative to images/; "" where it names no image."""
        return (f"{self.folder}/{self.photo()}" if self.photo() else "",)

    def gold_explanations(self) -> tuple[str, ...]:
        """All explanations by people in the record; the published script keeps the first."""
        fields = (self.explanation, self.explanations, self.rationale, self.nle, self.exp)
        value = next((field for field in fields if field is not None), [])
        texts = [value] if isinstance(value, str) else value
        return tuple(text for text in texts if text.strip())


class PhotoRow(NleRow, frozen=True, kw_only=True):
    """A record of one photograph, whose file is named in one of three fields."""

    image_name: str | None = None
    image: str | None = None
    filename: str | None = None

    def photo(self) -> str:
        return (self.image_name or self.image or self.filename or "").lstrip("/")


AnyRow = TypeVar("AnyRow", bound=NleRow)


def in_words(answer: str, question: Question) -> str:
    """The answer as text: the text of a choice instead of its letter."""
    return question.choices.get(answer.partition(" because ")[0], answer)


class Dataset(Struct, Generic[AnyRow], frozen=True, kw_only=True):
    """One dataset.

    `title` is its row in the accuracy grid. `folders` and `files` are the possible places of a split's file below
    nle_data/, in order of preference; a dataset without a val split uses its test split. `question` makes the question
    of an id, a record and the path of its image, or returns the reason why there is none; `lacking` has the message and
    the hint for a reason that is true of the whole file. `extra` of a question has "gold" (the right answer as `read`
    returns it), "gold_text" where the published readings return another form, and "columns" of the published table.
    `metrics` are the metrics in addition to the accuracies of all readings.
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
        """The split whose file is read: test where a dataset has no val."""
        return split if split in self.files or split != "val" else "test"

    def split_notice(self, split: str) -> str:
        """The notice for people that another split is read, else ""."""
        other = self.split_read(split)
        return "" if other == split else f"{self.title} has no {split} split; {other} is used"


def check_mode(task: str, vcr_mode: str) -> None:
    """Raise UsageError for a mode of VCR with another benchmark."""
    if task != "vcr" and vcr_mode != FREE:
        raise UsageError(f"--vcr_mode {vcr_mode} is for --task vcr, not {task}", hint="leave it out")


_LAYOUT = "--data is a folder with images/ and nle_data/, with nle_data/VQA-X/vqaX_val.json and the like"
_NO_IMAGE = "no_image"
_BOM = b"\xef\xbb\xbf"
_HINT = "an NLE file is a JSON object of records by id, or a list of them; a .jsonl file has one per line"


class DatasetImages:
    """The images below one root; its folders are listed once, when the first image isn't at its place."""

    def __init__(self, root: Path) -> None:
        self._root = os.fspath(root)

    def find(self, places: Iterable[str]) -> str | None:
        """The first of `places` (relative to the root) that is a file, else a file of the same name, else None.

        Of a place outside the root only the file name is looked for: a data file must not choose which files are sent.
        Of several files of that name one in the folder of the first place is preferred, then the first by path.
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
    """Find the file of a split below nle_data/; raises DataError that names the places."""
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

    Left out are, by id, the samples before the last question that have no image ("no_image"), no gold answer
    ("no_answer", "no_label") or none of the choices that the mode needs. Raises DataError where no image is found, or
    with `require_images` where one is missing; UsageError where the whole file lacks what the mode needs.
    """
    path = find_file(dataset, split, data_root)
    rows, sha256 = _read_rows(path, dataset.row)
    images = Path(data_root, "images")
    questions, left_out, missing = _choose(dataset, rows, dataset.split_read(split), DatasetImages(images), n_samples)
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
    """Every question of an NLE file, with or without its image, and the ids of the other records by reason.

    Raises DataError where the file can't be read or has no question.
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
    images: DatasetImages | None = None,
    n_samples: int | None = None,
) -> tuple[list[Question], dict[str, list[str]], list[str]]:
    """The questions, the ids of the other records by reason, and the places of missing images.

    Without `images` no image is looked for.
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
    """Every record with its id, in file order, and the file's SHA-256.

    The id is the record's key in the file; in a list, the id in the record, else its index from 0. A repeated id gets
    the suffix "#2", "#3" and so on. Raises DataError that names the file and the record.
    """
    with reading(path, _HINT):
        data = path.read_bytes()
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
    names = chain([name], (f"{name}#{times}" for times in count(2)))
    return next(name for name in names if name not in taken)
