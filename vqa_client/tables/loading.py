"""Questions from rows of data files: finds the files, checks the rows, and reads them again at each walk."""

import hashlib
import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from vqa_client.errors import DataError, UsageError
from vqa_client.files import natural_key, sha256_of
from vqa_client.own_code import check_fields, line_in, place_of, shown
from vqa_client.tables.fields import Filler
from vqa_client.tables.forms import HIDDEN, Beside, Form, Home, Join, LeftOut, Made, Place
from vqa_client.tables.inside import open_table, split_name
from vqa_client.tables.objects import home_of
from vqa_client.tables.pictures import is_address, names_in
from vqa_client.tables.rows import Here, Table, reach
from vqa_client.task import Loaded, Part, Source
from vqa_client.types import Question

WHOLE_DIGEST_BYTES = 1 << 30
"""The digest of a larger file is of its size, beginning and end: 500 GB of images would take an hour."""
_ENDS_BYTES = 1 << 20
ROW_SPLIT = "split"
"""The field of a row with its split."""


class _Walk(Struct, frozen=True, kw_only=True):
    """The questions of files of one form, made again at each walk."""

    form: Form
    question: Callable[[Any, Place], Made]
    filler: Filler
    tables: tuple[Table, ...]
    joined: dict[str, dict[str, Any]]
    split: str
    images: Path | None
    limit: int | None
    choices_only: bool

    def __iter__(self) -> Iterator[Question]:
        return islice((made for made in self.made() if isinstance(made, Question)), self.limit)

    def made(self, *, checks: bool = False) -> Iterator[Question | LeftOut]:
        """The questions and the rows that make none; with `checks`, a field of the wrong type is a DataError."""
        join = self.form.join
        needed = self.filler.needed | {join.on} if join else self.filler.needed
        for table in self.tables:
            path = table.path
            base = self.images or home_of(path.parent).joinpath(*[os.pardir] * self.form.up)
            file, folder = path.name.rpartition(".")[0] or path.name, path.parent.name
            for number, cells in table.rows(needed):
                try:
                    row = self.filler.row(self._with_joined(cells), f"{table.start}{number}:", base)
                    made = self.question(row, Place(file, number, self.split, folder, str(path)))
                    made = [*made] if isinstance(made, Iterable) else (made,)
                    for item in made if checks else ():
                        check_question(item, self.question, (Question, LeftOut))
                except ValueError as error:
                    hint = f"its columns are {', '.join(table.header or cells)}"
                    raise DataError(
                        f"{path}: row {number + 1}: {error}{line_in(self.question, error)}", hint=hint
                    ) from None
                except Exception as error:
                    error.add_note(f"{path}: row {number + 1}")
                    raise
                for item in made:
                    is_open = self.choices_only and isinstance(item, Question) and not item.choices
                    yield LeftOut("open", item.id) if is_open else _without_hidden(item)

    def _with_joined(self, cells: dict[str, Any]) -> dict[str, Any]:
        join = self.form.join
        if join is None:
            return cells
        key = str(reach(cells, join.on))
        if key not in self.joined:
            raise ValueError(f"no row of {join.files} has {join.key} {key}")
        return self.joined[key] | cells


def check_question(made: object, function: object, kinds: tuple[type[Struct], ...] = (Question,)) -> None:
    """Raise ValueError for anything else than a question, and for a field of it that a record can't have."""
    if not isinstance(made, kinds):
        raise ValueError(f"it makes {shown(made)}, which is not a Question{place_of(function)}")
    try:
        msgspec.convert(asdict(made), type(made))
    except msgspec.ValidationError as error:
        raise ValueError(f"its {type(made).__name__} has a wrong type: {error}{place_of(function)}") from None


def _without_hidden(made: Question | LeftOut) -> Question | LeftOut:
    """The question, without references if the answer is empty or not public."""
    if isinstance(made, LeftOut) or not made.references:
        return made
    hidden = HIDDEN if made.choices else ("",)
    return replace(made, references=()) if all(reference in hidden for reference in made.references) else made


class Tables(Struct, frozen=True, kw_only=True):
    """Loads the rows of the first form whose files exist: see `tables`.

    With `choices_only`, questions without choices are left out as "open".
    """

    row: type[Struct]
    forms: tuple[Form, ...]
    question: Callable[[Any, Place], Made]
    split: str
    choices_only: bool = False

    def __post_init__(self) -> None:
        check_fields(self, "tables")
        for form in self.forms:
            fields = (form.row or self.row).__struct_fields__
            if unknown := [name for name in form.columns if name not in fields]:
                raise ValueError(
                    f"the columns of {form.files!r} name {unknown[0]!r}; the row's fields are {', '.join(fields)}"
                )

    def __call__(self, source: Source) -> list[Part]:
        """Check every row and find every image; raises DataError, which names the row and the field."""
        settings = source.settings
        split = settings.split or self.split
        form, files = self._find_form(settings.data, split)
        if settings.split and not self._has_splits(form):
            self._refuse_split(settings.data, split)
        filler = Filler(form.row or self.row, form.columns)
        tables = tuple(open_table(path, form.records, form.header) for path in files)
        folder = settings.data if settings.data.is_dir() else settings.data.parent
        walk = _Walk(
            form=form,
            question=form.question or self.question,
            filler=filler,
            tables=tables,
            joined=_rows_to_join(form, form.join, folder, split, filler, settings.images) if form.join else {},
            split=split,
            images=settings.images,
            limit=settings.limit,
            choices_only=self.choices_only,
        )
        count, unknown, left_out = _check_questions(walk, finds_images=source.finds_images)
        notes = [note for table in tables for note in table.notes]
        if 0 < unknown < count:
            notes.append(f"{unknown:,} of {count:,} questions have no answer in the data, and count as wrong")
        if not count and not left_out and settings.split and ROW_SPLIT in filler.needed:
            rows = (cells for table in tables for _, cells in table.rows(frozenset({ROW_SPLIT})))
            raise _no_split(settings.data, split, {str(cells.get(ROW_SPLIT)) for cells in rows})
        loaded = Loaded(questions=walk, count=count, left_out=left_out, data_sha256=digest(files), notes=tuple(notes))
        return [Part(loaded=loaded, data_path=settings.data, images_dir=settings.images or files[0].parent)]

    def file_globs(self, split: str) -> list[tuple[str, ...]]:
        """The globs of each form's files, and of the folders of its images."""
        split = split or self.split
        return [
            (*form.globs(split), *(f"{start}*" for start in _folders(form)), *([form.join.files] if form.join else []))
            for form in self.forms
        ]

    def _has_splits(self, form: Form) -> bool:
        """Whether a form has several splits: in different files, or in a field of the rows."""
        globs = (*form.patterns, *([form.join.files] if form.join else []))
        return any("{split}" in glob for glob in globs) or ROW_SPLIT in (form.row or self.row).__struct_fields__

    def _refuse_split(self, data: Path, split: str) -> None:
        """Raise DataError if the data has no splits, unless this is the benchmark's usual split."""
        if not any(map(self._has_splits, self.forms)):
            raise DataError(f"{data} has no splits, and --split is {split!r}", hint="leave out --split")
        if split != self.split:
            raise _no_split(data, split, {self.split})

    def _find_form(self, data: Path | None, split: str) -> tuple[Form, tuple[Path, ...]]:
        known = "; ".join(" or ".join(form.globs(split)) for form in self.forms)
        if data is None:
            homes = [form.home for form in self.forms if form.home]
            raise UsageError("there is no data to ask", hint=f"--data FOLDER with {known}{_home_words(homes)}")
        for form in self.forms:
            if data.is_dir():
                globs = form.globs(split)
                files = next(filter(None, (_matching_files(data, variant) for variant in _glob_variants(globs))), [])
            else:
                names = [glob.rpartition("/")[2] for variant in _glob_variants(form.globs(split)) for glob in variant]
                files = [data] if any(fnmatch(data.name, name) for name in names) else []
            if files:
                return form, tuple(files)
        if data.exists():
            if data.is_dir():
                os.listdir(data)  # PermissionError: for a glob, an unreadable folder is empty
            of_any_split = [variant for form in self.forms for variant in _glob_variants(form.globs("*"))]
            names = [str(path.relative_to(data)) for variant in of_any_split for path in _matching_files(data, variant)]
            names = names if data.is_dir() else [data.name, f"{data.parent.name}/{data.name}"]
            names += [f"data/{name}" for name in names]
            if splits := {word for form in self.forms for name in names if (word := form.split_of(name))}:
                raise _no_split(data, split, splits)
            raise DataError(f"{data} has no data of this benchmark", hint=f"known forms are {known}")
        raise DataError(f"{data} does not exist", hint=f"--data takes a folder with {known}, or one such file")


def tables(
    row: type[Struct], *forms: Form, question: Callable[[Any, Place], Made] | None = None, split: str = "test"
) -> Tables:
    """Load rows of the type `row`, in the first of `forms` whose files exist, and make questions of them.

    A field is read from the column of its name, unless the form names another; a missing or null cell gives the field's
    default. A `Picture` is a path relative to --images, or to the row's file, or an image in the cell: bytes, base64 or
    a data: URL. A number for a text field becomes text. Text for a tuple is a JSON or Python list, else its only item.
    `question` gives one question, several, or LeftOut. Without it, fields with the name of a Question's field fill
    that, and other texts are groups. References that are all empty are left out.
    """
    return Tables(row=row, forms=forms, question=question or question_of, split=split)


def question_of(row: Any, place: Place) -> Question:
    """The question from a row's fields; without an `id`, its id is the file's name and the row's number."""
    values: dict[str, Any] = {"id": f"{place.file}#{place.number}", "groups": {}, "row": row}
    for name in row.__struct_fields__:
        value, kind = getattr(row, name), _FIELDS.get(name)
        if kind is tuple:
            values[name] = (value,) if isinstance(value, str) else tuple(value)
        elif kind is not None:
            values[name] = value
        elif isinstance(value, str | tuple) and value != "" and all(isinstance(text, str) for text in value):
            values["groups"][name] = value
    values["cluster"] = values.get("cluster") or next(iter(values.get("images", ())), "")
    return Question(**values)


_FIELDS: dict[str, type] = {
    field.name: tuple if isinstance(field.default, tuple) else object
    for field in msgspec.structs.fields(Question)
    if field.name not in ("folder", "variant", "groups", "extra", "row")
}


def _no_split(data: Path, split: str, splits: Iterable[str]) -> DataError:
    return DataError(f"{data} has no split {split!r}, but {', '.join(sorted(splits))}", hint="--split names one")


def _glob_variants(globs: Sequence[str]) -> Iterator[list[str]]:
    """The globs, the globs without data/, and VLMEvalKit's names of files whose images it has written to files."""
    yield list(globs)
    yield [glob.removeprefix("data/") for glob in globs]
    yield [f"{glob.removesuffix('.tsv')}_local.tsv" for glob in globs if glob.endswith(".tsv")]


def _home_words(homes: Sequence[Home]) -> str:
    """Words on where the data is published, or how to get it from the hub."""
    home = next((home for home in homes if home.address.startswith("hf://")), homes[0] if homes else None)
    if home is None:
        return ""
    size = f"{home.megabytes:,} MB, " if home.megabytes else ""
    if home.address.startswith("hf://"):
        return f"; or --data {home.address} ({size}{home.licence})"
    return f"; it is at {home.address} ({size}{home.licence})"


def _folders(form: Form) -> list[str]:
    """The folders that a form's paths are in."""
    templates = (column.template for column in form.columns.values() if isinstance(column, Beside))
    return [template.partition("{")[0] for template in templates if "/" in template.partition("{")[0]]


def _matching_files(folder: Path, globs: Iterable[str]) -> list[Path]:
    files = {path for glob in globs for path in folder.glob(glob) if path.is_file()}
    return sorted(files, key=lambda path: natural_key(str(path)))


def _rows_to_join(
    form: Form, join: Join, folder: Path, split: str, filler: Filler, images: Path | None
) -> dict[str, dict[str, Any]]:
    """The rows of the second file by key; the names of their images are places in that file."""
    rows: dict[str, dict[str, Any]] = {}
    glob = form.filled(join.files, split)
    for path in _matching_files(folder, [glob]):
        table = open_table(path, join.records)
        for number, cells in table.rows(filler.needed | {join.key}):
            for name in filler.pictures & cells.keys():
                names = names_in(cells[name], f"{table.start}{number}:{name}", images or home_of(path.parent))
                cells[name] = [Here(name_inside) for name_inside in names]
            rows[str(reach(cells, join.key))] = cells
    if not rows:
        raise DataError(f"{folder} has no {glob}", hint="the questions are in two files, and need both")
    return rows


def _check_questions(walk: _Walk, *, finds_images: bool) -> tuple[int, int, dict[str, tuple[str, ...]]]:
    """Walk over all rows once: the number of questions, how many have no answer, and which rows make none, by reason.

    Raises DataError if two questions have the same id, or if no image exists.
    """
    hashes, unknown = array("q"), 0
    left_out: dict[str, list[str]] = {}
    missing: list[str] = []
    inside = tuple(table.start for table in walk.tables)
    for made in walk.made(checks=True):
        if isinstance(made, LeftOut):
            left_out.setdefault(made.reason, []).append(made.id)
            continue
        if len(hashes) == walk.limit:
            break
        hashes.append(hash(made.id))
        unknown += not made.references
        if finds_images:
            elsewhere = (name for name in made.images if not name.startswith(inside) and not is_address(name))
            missing += [name for name in elsewhere if not os.path.isfile(name) and not split_name(name)[1]]
    if missing and len(missing) == sum(len(question.images) for question in walk):
        raise DataError(f"no image was found: {missing[0]}", hint="--images names the folder that the images are in")
    _check_ids(hashes, walk)
    return len(hashes), unknown, {reason: tuple(ids) for reason, ids in left_out.items()}


def _check_ids(hashes: "array[int]", walk: _Walk) -> None:
    """Raise DataError if two questions have the same id; a second walk is needed only if hashes repeat."""
    if not may_repeat(hashes):
        return
    seen: set[str] = set()
    for question in walk:
        if question.id in seen:
            raise DataError(f"two rows have the id {question.id!r}", hint="an id names one question of the data")
        seen.add(question.id)


def may_repeat(hashes: "array[int]") -> bool:
    """Whether two hashes are equal; a million take 8 MB, and a little for those that share a bit, in a set 80 MB."""
    bits = max(1 << 10, 1 << (64 * len(hashes)).bit_length())
    bitmap, shared = bytearray(bits >> 3), set()
    for hashed in hashes:
        place, bit = (hashed % bits) >> 3, 1 << (hashed & 7)
        if bitmap[place] & bit:
            shared.add(hashed)
        bitmap[place] |= bit
    return any(count > 1 for count in Counter(hashed for hashed in hashes if hashed in shared).values())


def digest(files: Iterable[Path]) -> str:
    """The digest of one file, or of the digests of several files."""
    digests = [_digest_of(path) for path in files]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def _digest_of(path: Path) -> str:
    size = path.stat().st_size
    if size <= WHOLE_DIGEST_BYTES:
        return sha256_of(path)
    with path.open("rb") as file:
        begin = file.read(_ENDS_BYTES)
        file.seek(-_ENDS_BYTES, os.SEEK_END)
        return hashlib.sha256(b"%d\n" % size + begin + file.read()).hexdigest()
