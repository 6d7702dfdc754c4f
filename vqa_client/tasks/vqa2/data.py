"""The files, questions, annotations and images of VQA 2.0: which questions are asked, and why others are left out.

`sample/` has twenty questions of our own on drawn pictures, in files of the same form; data/vqa2_sample.py makes them.
"""

import os
import random
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from vqa_client.errors import DataError, UsageError
from vqa_client.files import replacing
from vqa_client.scoring.vqa_accuracy import FEWEST_FOR_FULL_MARKS, HumanAnswer, texts
from vqa_client.tables.data_file import DataFile

DEFAULT_SUBTYPE = "val2014"
SAMPLE = "sample"
_OFFICIAL = re.compile(r"v2_OpenEnded_mscoco_(.+)_questions\.json")
_SUFFIXES = (".jpg", ".jpeg", ".png")
_NAMES = ("COCO_{0}_{1:012d}", "COCO_{0}_{1:06d}", "{0}_{1:012d}", "{1:012d}", "{1}")
"""The names of image files by split and id; the published framework knows the first two."""
_LAYOUT = (
    "expected are v2_OpenEnded_mscoco_val2014_questions.json and v2_mscoco_val2014_annotations.json, or questions.json "
    "and annotations.json, beside images/; or give --questions_file, --annotations_file and --images"
)


class Vqa2Files(Struct, frozen=True, kw_only=True):
    """The files of one split; without annotations replies aren't scored. `image_roots` are searched in order."""

    questions: Path
    annotations: Path | None
    image_roots: tuple[Path, ...]


def find_files(
    data_dir: Path, questions_file: Path | None = None, annotations_file: Path | None = None, images: Path | None = None
) -> Vqa2Files:
    """Find the other files in `data_dir`; raises DataError that names the files that are there or missing.

    A given questions file needs no annotations, and a test split has none.
    """
    questions = questions_file or _questions_in(data_dir)
    annotations = annotations_file or _annotations_of(questions)
    unlabelled = questions_file is not None or "test" in questions.name
    if annotations is None and not unlabelled:
        raise DataError(
            f"{questions} has no annotations beside it", hint=f"{_LAYOUT}; --questions_file alone: unscored"
        )
    roots = (images,) if images else (questions.parent / "images", questions.parent, data_dir / "images", data_dir)
    return Vqa2Files(questions=questions, annotations=annotations, image_roots=tuple(dict.fromkeys(roots)))


def _questions_in(folder: Path) -> Path:
    for name in (f"v2_OpenEnded_mscoco_{DEFAULT_SUBTYPE}_questions.json", "questions.json"):
        if (folder / name).is_file():
            return folder / name
    others = sorted(path for path in _list_folder(folder) if _OFFICIAL.fullmatch(path))
    if len(others) == 1:
        return folder / others[0]
    splits = ", ".join(_OFFICIAL.sub(r"\1", name) for name in others)
    if splits:
        raise DataError(
            f"{folder} has no questions of {DEFAULT_SUBTYPE}, but of {splits}", hint="--questions_file FILE"
        )
    if not folder.exists():
        raise DataError(f"{folder} does not exist", hint=f"--data FOLDER, or --mode sample; {_LAYOUT}")
    raise DataError(f"{folder} has no questions of VQA 2.0", hint=_LAYOUT)


def _annotations_of(questions: Path) -> Path | None:
    name = questions.name.replace("OpenEnded_", "").replace("questions", "annotations")
    path = questions.with_name(name)
    return path if name != questions.name and path.is_file() else None


def copy_sample(folder: Path) -> Vqa2Files:
    """Copy the files of our own sample that are missing or differ, and return their places.

    Equal files stay, so that they don't look new to a run that has begun. Raises UsageError or OutputError.
    """
    shipped = Path(__file__).with_name(SAMPLE)
    for source in (path for path in shipped.rglob("*") if path.is_file()):
        _keep(folder / source.relative_to(shipped), source.read_bytes())
    questions, annotations = (folder / f"val_{kind}_sample.json" for kind in ("questions", "annotations"))
    return Vqa2Files(questions=questions, annotations=annotations, image_roots=(folder / "images",))


def _keep(path: Path, content: bytes) -> None:
    try:
        if path.is_file() and path.read_bytes() == content:
            return
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}", hint="allow reading it, or remove it") from None
    with replacing(path) as file:
        file.write(content)


_MOST_DIGITS = 18


class ImageFolders:
    """The image files of a split, listed once; an image is found by its id."""

    def __init__(self, roots: Sequence[Path], subtype: str) -> None:
        self._subtype = subtype or DEFAULT_SUBTYPE
        inner = [root / name for root in roots for name in (f"{self._subtype}_sample", self._subtype, "")]
        listed = ((path, [name for name in _list_folder(path) if not name.endswith(".json")]) for path in inner)
        self._folders = {os.fspath(path): frozenset(names) for path, names in listed}
        self._filled = [(folder, names) for folder, names in self._folders.items() if names]
        self._last: tuple[int | str, str] = ("", "")

    def path(self, image_id: int | str) -> str:
        """The path of an image, or "".

        Of several files the one with the longer number is preferred, then the one in the first folder.
        """
        if image_id != self._last[0]:  # the questions on an image are neighbours
            self._last = (image_id, self._path(image_id))
        return self._last[1]

    def _path(self, image_id: int | str) -> str:
        for name in self._names(image_id) if self._filled else ():
            for folder, names in self._filled:
                if name in names:
                    return os.path.join(folder, name)
        return ""

    def sought(self, image_id: int | str) -> str:
        """The possible names of an image, and the folders that were searched, in words."""
        names = [
            name
            for name in dict.fromkeys(self._names(image_id))
            if not name.endswith(_SUFFIXES[1:]) or name == image_id
        ]
        existing = [folder for folder in self._folders if os.path.isdir(folder)]
        folders = ", ".join(existing) or f"{', '.join(self._folders)}, which are not there"
        return f"looked for {', '.join(names)} (or {' or '.join(_SUFFIXES[1:])}) in {folders}"

    def _names(self, image_id: int | str) -> Iterator[str]:
        if isinstance(image_id, str) and not (image_id.isdecimal() and len(image_id) <= _MOST_DIGITS):
            yield from (image_id, *(image_id + suffix for suffix in _SUFFIXES))
            return
        for template in _NAMES:
            stem = template.format(self._subtype, int(image_id))
            yield from (stem + suffix for suffix in _SUFFIXES)


def _list_folder(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise DataError(f"{folder}: {error.strerror}", hint="give a folder that may be read") from None


Kind = Literal["yes/no", "color", "count", "other"]
Id = int | str
_COLOR = re.compile(r"\bcolou?rs?\b", re.IGNORECASE)
_COUNT = re.compile(r"\bhow many\b", re.IGNORECASE)
_YES_NO = re.compile(
    r"\s*(?:is|are|was|were|am|do|does|did|can|could|will|would|has|have|had|should|shall|may|might)(?:n't)?\b",
    re.IGNORECASE,
)


class QuestionRow(Struct, frozen=True, kw_only=True, gc=False):
    """A record of `questions`."""

    question_id: Id
    image_id: Id
    question: str


class AnnotationRow(Struct, frozen=True, kw_only=True, gc=False):
    """A record of `annotations`; `answers` are mostly ten, each with its own `answer_id`."""

    question_id: Id
    multiple_choice_answer: str | None = None
    answers: tuple[HumanAnswer | str, ...] = ()
    question_type: str | None = None
    answer_type: str | None = None

    @property
    def all_answers(self) -> tuple[HumanAnswer | str, ...]:
        """The answers; in a file without a list of answers the one answer."""
        if not self.answers and self.multiple_choice_answer:
            return (self.multiple_choice_answer,)
        return self.answers

    @property
    def gold(self) -> str:
        """The most frequent answer, by the file or by counting; of equally frequent ones the first in the alphabet."""
        if self.multiple_choice_answer:
            return self.multiple_choice_answer
        counts = Counter(texts(self.answers))
        return min(counts, key=lambda answer: (-counts[answer], answer), default="")

    def described(self) -> int:
        """The byte of `Paired.answers`."""
        count = min(len(self.answers), _MOST_ANSWERS) or bool(self.multiple_choice_answer)
        ids = self.answers and all(isinstance(a, HumanAnswer) and a.answer_id is not None for a in self.answers)
        return count | (_WITH_IDS if ids else 0)


def kind_of(question: str, gold: str | None) -> Kind:
    """The kind of a question by its answer, or by its first word where it has no answer, and by its words."""
    yes_no = _YES_NO.match(question) if gold is None else gold.strip().lower() in ("yes", "no")
    if yes_no:
        return "yes/no"
    if _COLOR.search(question):
        return "color"
    return "count" if _COUNT.search(question) else "other"


USUAL_ANSWERS = 10
Reasons = dict[str, list[str]]
"""The ids that are left out, by reason."""
_HINT = "a question has question_id, image_id and question; an annotation question_id and answers: [{answer: ...}]"
_NONE = -1
_TAKEN = -2
_MOST_ANSWERS = 0x7F
_WITH_IDS = 0x80


class Paired(Struct, frozen=True, kw_only=True):
    """Questions and their annotations as indices in the two files; -1 means that there is none.

    `answers` has a byte per record of the annotations: the number of its answers, at most 127, plus 128 where each
    answer has an id.
    """

    questions: DataFile
    annotations: DataFile | None
    answers: bytes
    places: "array[int]"
    annotated: "array[int]"

    def __len__(self) -> int:
        return len(self.places)

    def rows(self) -> Iterator[tuple[QuestionRow, AnnotationRow | None]]:
        """Read each question and its annotation again; raises DataError that names the record and the field."""
        annotations = self.annotations.rows(AnnotationRow, self.annotated, hint=_HINT) if self.annotations else iter(())
        for _, row in self.questions.rows(QuestionRow, self.places, hint=_HINT):
            _, annotation = next(annotations, (0, None))
            yield row, annotation

    def picked(self, indices: Sequence[int]) -> "Paired":
        """The questions at these indices, in this order."""
        return msgspec.structs.replace(
            self,
            places=array("q", (self.places[index] for index in indices)),
            annotated=array("q", (self.annotated[index] for index in indices)),
        )

    def sample(self, size: int | None, seed: int) -> "Paired":
        """Draw `size` questions as the published framework does; where `size` is 0, None or too large, all in order.

        `random.seed(seed); random.sample(annotated, size)` draws the same questions.
        """
        if not size or size >= len(self):
            return self
        return self.picked(random.Random(seed).sample(range(len(self)), size))


def pair(questions: DataFile, annotations: DataFile | None) -> tuple[Paired, Reasons]:
    """Join by id, in the order of the questions; of several records with the same id the first counts.

    Left out are "no_annotation", "no_question", "duplicate_question" and "duplicate_annotation". Raises DataError.
    """
    left_out: Reasons = {}
    by_id, answers = _by_id(annotations, left_out)
    places, annotated = array("q"), array("q")
    for index, question in questions.rows(QuestionRow, hint=_HINT):
        name = str(question.question_id)
        annotation = by_id.get(name, _NONE)
        by_id[name] = _TAKEN
        if annotation == _TAKEN:
            left_out.setdefault("duplicate_question", []).append(name)
        elif annotations is not None and annotation == _NONE:
            left_out.setdefault("no_annotation", []).append(name)
        else:
            places.append(index)
            annotated.append(annotation)
    strays = [name for name, annotation in by_id.items() if annotation != _TAKEN]
    if strays:
        left_out["no_question"] = strays
    paired = Paired(questions=questions, annotations=annotations, answers=answers, places=places, annotated=annotated)
    return paired, left_out


def _by_id(annotations: DataFile | None, left_out: Reasons) -> tuple[dict[str, int], bytes]:
    by_id: dict[str, int] = {}
    answers = bytearray()
    if annotations is not None:
        for index, row in annotations.rows(AnnotationRow, hint=_HINT):
            name = str(row.question_id)
            answers.append(row.described())
            if by_id.setdefault(name, index) != index:
                left_out.setdefault("duplicate_annotation", []).append(name)
    return by_id, bytes(answers)


def askable(paired: Paired, images: ImageFolders | None) -> tuple[Paired, Reasons]:
    """The questions with an image and an answer; left out are "no_image" (only with `images`) and "no_answer"."""
    left_out: Reasons = {}
    places = array("q")
    file = paired.questions
    for at, (index, record) in enumerate(file.picked(paired.places)):
        answered = paired.annotations is None or paired.answers[paired.annotated[at]]
        if images is None and answered:
            places.append(at)
            continue
        row = file.decode(index, record, QuestionRow, hint=_HINT)
        if images is not None and not images.path(row.image_id):
            left_out.setdefault("no_image", []).append(str(row.question_id))
        elif not answered:
            left_out.setdefault("no_answer", []).append(str(row.question_id))
        else:
            places.append(at)
    return paired.picked(places) if left_out else paired, left_out


def lost(paired: Paired, images: ImageFolders) -> str:
    """Name the first question without its image, and the files that were looked for; there must be one."""
    rows = paired.questions.rows(QuestionRow, paired.places, hint=_HINT)
    row = next(row for _, row in rows if not images.path(row.image_id))
    return f"question {row.question_id} has the image_id {row.image_id!r}: {images.sought(row.image_id)}"


def oddities(paired: Paired) -> list[str]:
    """Notes on unusual annotations, which change the accuracy."""
    if paired.annotations is None:
        return [f"there are no annotations for {paired.questions.path}: replies are saved and not scored"]
    packed = [paired.answers[place] for place in paired.annotated]
    counts = [bits & _MOST_ANSWERS for bits in packed]
    counted = (
        (
            sum(not bits & _WITH_IDS for bits in packed),
            "have answers without answer_id: the official score takes equal ones for one person's",
        ),
        (sum(count != USUAL_ANSWERS for count in counts), f"have more or fewer than {USUAL_ANSWERS} answers"),
        (
            sum(count < FEWEST_FOR_FULL_MARKS for count in counts),
            f"have fewer than {FEWEST_FOR_FULL_MARKS} answers, so that no reply to them has a VQA accuracy of 1",
        ),
    )
    return [f"{count:,} of {len(packed):,} questions {words}" for count, words in counted if count]
