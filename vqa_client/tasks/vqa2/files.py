"""Where the questions, annotations and images of VQA 2.0 lie: the official file names and the short ones.

`sample/` has twenty questions of our own on drawn pictures in the same files, which data/vqa2_sample.py makes.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from vqa_client.errors import DataError, UsageError
from vqa_client.files import replacing

DEFAULT_SUBTYPE = "val2014"
SAMPLE = "sample"
_OFFICIAL = re.compile(r"v2_OpenEnded_mscoco_(.+)_questions\.json")
_SUFFIXES = (".jpg", ".jpeg", ".png")
_NAMES = ("COCO_{0}_{1:012d}", "COCO_{0}_{1:06d}", "{0}_{1:012d}", "{1:012d}", "{1}")
"""Image files by split and id; the published framework knows the first two."""
_LAYOUT = (
    "expected are v2_OpenEnded_mscoco_val2014_questions.json and v2_mscoco_val2014_annotations.json, or questions.json "
    "and annotations.json, beside images/; or give --questions_file, --annotations_file and --images"
)


class Vqa2Files(Struct, frozen=True, kw_only=True):
    """The files of one split; without annotations replies are kept unscored. `image_roots` are looked into in order."""

    questions: Path
    annotations: Path | None
    image_roots: tuple[Path, ...]


def find_files(
    data_dir: Path, questions_file: Path | None = None, annotations_file: Path | None = None, images: Path | None = None
) -> Vqa2Files:
    """Find what is not given in `data_dir`; raises DataError that says what is there and what is missing.

    Questions that are given by hand need no annotations, nor do those of a test split, which has none.
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
    others = sorted(path for path in _listed(folder) if _OFFICIAL.fullmatch(path))
    if len(others) == 1:
        return folder / others[0]
    splits = ", ".join(_OFFICIAL.sub(r"\1", name) for name in others)
    if splits:
        raise DataError(
            f"{folder} has no questions of {DEFAULT_SUBTYPE}, but of {splits}", hint="--questions_file FILE"
        )
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}", hint=f"--data FOLDER, or --mode sample; {_LAYOUT}")
    raise DataError(f"{folder} has no questions of VQA 2.0", hint=_LAYOUT)


def _annotations_of(questions: Path) -> Path | None:
    name = questions.name.replace("OpenEnded_", "").replace("questions", "annotations")
    path = questions.with_name(name)
    return path if name != questions.name and path.is_file() else None


def copy_sample(folder: Path) -> Vqa2Files:
    """Copy those files of our own sample that are missing or differ, and say where they are.

    The others are left alone: a file that a run has begun with must not look new. Raises UsageError or OutputError.
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
        listed = ((path, [name for name in _listed(path) if not name.endswith(".json")]) for path in inner)
        self._folders = {os.fspath(path): frozenset(names) for path, names in listed}
        self._filled = [(folder, names) for folder, names in self._folders.items() if names]
        self._last: tuple[int | str, str] = ("", "")

    def path(self, image_id: int | str) -> str:
        """Give the path of an image, "" where there is none.

        Of several the one with the longer number, in the folder that comes first, is taken.
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
        """Say which files an image could be, and the folders that were looked into."""
        names = [
            name
            for name in dict.fromkeys(self._names(image_id))
            if not name.endswith(_SUFFIXES[1:]) or name == image_id
        ]
        there = [folder for folder in self._folders if os.path.isdir(folder)]
        folders = ", ".join(there) or f"{', '.join(self._folders)}, which are not there"
        return f"looked for {', '.join(names)} (or {' or '.join(_SUFFIXES[1:])}) in {folders}"

    def _names(self, image_id: int | str) -> Iterable[str]:
        if isinstance(image_id, str) and not (image_id.isdecimal() and len(image_id) <= _MOST_DIGITS):
            return (image_id, *(image_id + suffix for suffix in _SUFFIXES))
        return self._numbered(int(image_id))

    def _numbered(self, number: int) -> Iterator[str]:
        for template in _NAMES:
            stem = template.format(self._subtype, number)
            for suffix in _SUFFIXES:
                yield stem + suffix


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise DataError(f"{folder}: {error.strerror}", hint="give a folder that may be read") from None
