"""A benchmark's declaration of its data: the forms in which it is published, and the columns of each."""

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from typing import Annotated, Any, Final

from msgspec import Struct

from vqa_client.types import Question

HIDDEN: Final = ("", "?", "nan", "hidden")
"""Values in files for an answer that is not public."""


class IsPicture(Struct, frozen=True):
    """The mark of a field that names images."""


Picture = Annotated[str, IsPicture()]
"""An image by its name: a path, or a place in a file such as `test.parquet#5310:image[0]`."""


class Beside(Struct, frozen=True):
    """A path made of a row's columns, relative to the row's file: `Beside("png/{imgname}")`, `Beside("{id:012d}.jpg")`.

    A column with a list makes one path per item, a null none.
    """

    template: str


class Columns:
    """Several columns in one field: by name where it is a dict, else in order; empty ones are left out.

    If all are empty, the field has its default.
    """

    def __init__(self, *names: str) -> None:
        self.names = names


ColumnNames = Mapping[str, str | Columns | Beside]
"""The columns of fields that have another name than theirs."""


class Home(Struct, frozen=True):
    """Where a form of the data is published, its licence and its size."""

    address: str
    licence: str
    megabytes: int = 0


class Join(Struct, frozen=True):
    """The columns of a second file, from the row whose column `key` equals the column `on` of the first file's row.

    `files` and `records` are as in `Form`; a row's own columns come before those of the second file.
    """

    files: str
    on: str
    key: str
    records: str = ""


class LeftOut(Struct, frozen=True):
    """The reason why the row with this `id` makes no question."""

    reason: str
    id: str


class Place(Struct, frozen=True):
    """The place of a row: `file` is the name of `path` without its suffix, in `folder`; `number` counts from 0."""

    file: str
    number: int
    split: str
    folder: str = ""
    path: str = ""


_SPLIT = "\0"
Made = Question | LeftOut | Iterable[Question | LeftOut]


class Form(Struct, frozen=True):
    """A form in which the data is published: globs below --data, in which {split} is the split.

    `columns` has the columns of fields that have another name there; `a.b` is the key b of an object in column a.
    `records` is the key of the rows in a JSON file. `splits` has the names of splits in this form: {"val":
    "validation"}. `row` and `question` replace those of the benchmark for a form that differs much. Paths of images
    begin `up` folders above the rows' file. `header` names the columns of text files without a header line.
    """

    files: str | tuple[str, ...]
    columns: ColumnNames = {}
    records: str = ""
    splits: dict[str, str] = {}
    join: Join | None = None
    home: Home | None = None
    row: type[Struct] | None = None
    question: Callable[[Any, Place], Made] | None = None
    up: int = 0
    header: tuple[str, ...] = ()

    @property
    def patterns(self) -> tuple[str, ...]:
        """The globs, with {split} for the split."""
        return (self.files,) if isinstance(self.files, str) else self.files

    def globs(self, split: str) -> tuple[str, ...]:
        return tuple(self.filled(glob, split) for glob in self.patterns)

    def filled(self, glob: str, split: str) -> str:
        """A glob with the name of the split in this form."""
        return glob.replace("{split}", self.splits.get(split, split))

    def split_of(self, name: str) -> str | None:
        """The split of the file with this name below --data, or None."""
        for glob in self.patterns:
            before, *after = translate(glob.replace("{split}", _SPLIT)).split(_SPLIT)
            if after and (
                match := re.match("(?P=split)".join([f"{before}(?P<split>\\w+){after[0]}", *after[1:]]), name)
            ):
                names = {word: split for split, word in self.splits.items()}
                return names.get(match["split"], match["split"])
        return None
