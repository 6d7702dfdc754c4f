"""The forms that people have a benchmark's data in, and the questions that their rows make."""

import hashlib
import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from vqa_client.errors import DataError, UsageError
from vqa_client.files import natural_key, sha256_of
from vqa_client.tables.rows import read_rows
from vqa_client.task import Loaded, Part, Source
from vqa_client.types import Question

_NAMED = re.compile(r"\{([A-Za-z_][\w.]*)\}")


class _IsPicture(Struct, frozen=True):
    """The mark of a field that names images."""


Picture = Annotated[str, _IsPicture()]
"""An image by its name: a path."""


class Beside(Struct, frozen=True):
    """A path made of a row's columns, relative to the row's file: `Beside("png/{imgname}")`."""

    template: str


class Home(Struct, frozen=True):
    """Where a form of the data is published, under which licence, and how large it is."""

    address: str
    licence: str
    megabytes: int = 0


class Form(Struct, frozen=True):
    """A form that people have the data in: globs below --data, in which {split} is the split.

    `columns` names a field's column where it is called otherwise; `a.b` reaches into an object. `records` is the key of
    a JSON file under which the rows are.
    """

    files: str | tuple[str, ...]
    columns: dict[str, str | Beside] = {}
    records: str = ""
    home: Home | None = None

    def globs(self, split: str) -> tuple[str, ...]:
        """The globs of a split."""
        files = (self.files,) if isinstance(self.files, str) else self.files
        return tuple(glob.replace("{split}", split) for glob in files)


class Place(Struct, frozen=True):
    """Where a row is: `file` is the file's name without its suffix, `number` counts from 0."""

    file: str
    number: int
    split: str


class LeftOut(Struct, frozen=True):
    """Why a row, named by `id`, makes no question."""

    reason: str
    id: str


Made = Question | LeftOut | Iterable[Question | LeftOut]


class _Walk(Struct, frozen=True, kw_only=True):
    """The questions of some files of one form, made again at each walk."""

    tables: "Tables"
    form: Form
    files: tuple[Path, ...]
    split: str
    images: Path | None
    limit: int | None

    def __iter__(self) -> Iterator[Question]:
        return islice((made for made in self.made() if isinstance(made, Question)), self.limit)

    def made(self) -> Iterator[Question | LeftOut]:
        """Everything that the rows make."""
        for path in self.files:
            for number, cells in read_rows(path, self.form.records):
                row = self.tables.row_of(cells, self.form, path, number, self.images)
                made = self.tables.question(row, Place(path.stem, number, self.split))
                yield from (made,) if isinstance(made, Question | LeftOut) else made


class Tables(Struct, frozen=True, kw_only=True):
    """Loads the rows of the first form whose files are there: see `tables`."""

    row: type[Struct]
    forms: tuple[Form, ...]
    question: Callable[[Any, Place], Made]
    split: str

    def __call__(self, source: Source) -> list[Part]:
        """Check every row and find every image; raises DataError that names the row and the field."""
        settings = source.settings
        form, files = self._found(settings.data, settings.split or self.split)
        walk = _Walk(
            tables=self,
            form=form,
            files=files,
            split=settings.split or self.split,
            images=settings.images,
            limit=settings.limit,
        )
        count, left_out = _checked(walk, finds_images=source.finds_images)
        loaded = Loaded(questions=walk, count=count, left_out=left_out, data_sha256=_digest(files))
        return [Part(loaded=loaded, data_path=settings.data, images_dir=settings.images or files[0].parent)]

    def _found(self, data: Path | None, split: str) -> tuple[Form, tuple[Path, ...]]:
        known = "; ".join(" and ".join(form.globs(split)) for form in self.forms)
        if data is None:
            homes = [form.home for form in self.forms if form.home]
            where = f"; it is at {homes[0].address} ({homes[0].licence})" if homes else ""
            raise UsageError("there is no data to ask", hint=f"--data FOLDER with {known}{where}")
        for form in self.forms:
            if data.is_dir():
                files = {path for glob in form.globs(split) for path in data.glob(glob) if path.is_file()}
            else:
                files = (
                    {data} if any(fnmatch(data.name, glob.rpartition("/")[2]) for glob in form.globs(split)) else set()
                )
            if files:
                return form, tuple(sorted(files, key=lambda path: natural_key(str(path))))
        if data.exists():
            raise DataError(f"{data} has no data of this benchmark", hint=f"known forms are {known}")
        raise DataError(f"there is no {data}", hint=f"--data takes a folder with {known}, or one such file")

    def row_of(self, cells: dict[str, Any], form: Form, path: Path, number: int, images: Path | None) -> Any:
        """A row as the benchmark's own type; its pictures are paths."""
        base = images or path.parent
        try:
            given = {
                name: _as(kind, value, base)
                for name, kind in _kinds(self.row).items()
                if (value := _cell(cells, form.columns.get(name, name))) is not None
            }
            return msgspec.convert(given, self.row, strict=False)
        except (ValueError, KeyError) as error:
            fault = str(error).replace("$.", "").strip("'\"")
            raise DataError(f"{path}: row {number}: {fault}", hint=f"its columns are {', '.join(cells)}") from None


def tables(row: type[Struct], *forms: Form, question: Callable[[Any, Place], Made], split: str = "test") -> Tables:
    """Load rows of the type `row`, in the first of `forms` whose files are there, each made into questions.

    A field is a column of its name unless the form says otherwise. A `Picture` is a path relative to --images, or to
    the row's file. A number for a text field is its text, and one item for a tuple a tuple of one. `question` gives one
    question, several, or LeftOut.
    """
    return Tables(row=row, forms=forms, question=question, split=split)


class _Kind(NamedTuple):
    """What a field takes: texts, which may be pictures' names, or anything else; several of them, or one."""

    texts: bool
    pictures: bool
    several: bool


@cache
def _kinds(row: type[Struct]) -> dict[str, _Kind]:
    kinds = {}
    for name, hint in get_type_hints(row, include_extras=True).items():
        several = get_origin(hint) is tuple
        item = get_args(hint)[0] if several else hint
        pictures = _IsPicture() in getattr(item, "__metadata__", ())
        kinds[name] = _Kind(texts=pictures or item is str, pictures=pictures, several=several)
    return kinds


def _cell(cells: dict[str, Any], column: str | Beside) -> Any:
    if isinstance(column, Beside):
        return _NAMED.sub(lambda found: _filled(cells, found[1]), column.template)
    value: Any = cells
    for key in (column,) if column in cells else column.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _filled(cells: dict[str, Any], name: str) -> str:
    value = _cell(cells, name)
    if value is None:
        raise KeyError(f"there is no column `{name}`")
    return _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _as(kind: _Kind, value: Any, base: Path) -> Any:
    """A cell as its field's type takes it."""
    if not kind.texts:
        return value
    cells = value if kind.several and isinstance(value, list) else [value]
    items = [_text(one) if isinstance(one, int | float) else one for one in cells]
    if kind.pictures:
        items = [_below(base, one) if isinstance(one, str) else one for one in items]
    return items if kind.several else items[0]


def _below(base: Path, name: str) -> str:
    """The path of an image below a folder; raises ValueError for a name that leaves it."""
    if os.path.isabs(name) or os.pardir in Path(name).parts:
        raise ValueError(f"{name} is outside {base}; --images names the folder that all images are below")
    return os.path.join(base, name)


def _checked(walk: _Walk, *, finds_images: bool) -> tuple[int, dict[str, tuple[str, ...]]]:
    """Walk over everything once: how many questions there are, and which rows make none.

    Raises DataError where two have one id, or where no image is there.
    """
    hashes = array("q")
    left_out: dict[str, list[str]] = {}
    missing: list[str] = []
    for made in walk.made():
        if isinstance(made, LeftOut):
            left_out.setdefault(made.reason, []).append(made.id)
            continue
        if len(hashes) == walk.limit:
            break
        hashes.append(hash(made.id))
        if finds_images:
            missing += [name for name in made.images if not os.path.isfile(name)]
    if missing and len(missing) == sum(len(question.images) for question in walk):
        raise DataError(f"no image is there: {missing[0]}", hint="--images names the folder that the images are in")
    _check_ids(hashes, walk)
    return len(hashes), {reason: tuple(ids) for reason, ids in left_out.items()}


def _check_ids(hashes: "array[int]", walk: _Walk) -> None:
    """Raise DataError where two questions have one id; the hashes only say whether it is worth a second walk."""
    if len(set(hashes)) == len(hashes):
        return
    seen: set[str] = set()
    for question in walk:
        if question.id in seen:
            raise DataError(f"two rows have the id {question.id!r}", hint="an id names one question of the data")
        seen.add(question.id)


def _digest(files: Iterable[Path]) -> str:
    """The digest of one file, or of several files' digests in order."""
    digests = [sha256_of(path) for path in files]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
