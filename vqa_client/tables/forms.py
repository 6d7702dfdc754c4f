"""What a benchmark declares of its data: the forms that people have it in, and the columns of each."""

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from typing import Annotated, Any, Final

from msgspec import Struct

from vqa_client.types import Question

HIDDEN: Final = ("", "?", "nan", "hidden")
"""What files have in place of an answer that is kept back."""


class IsPicture(Struct, frozen=True):
    """The mark of a field that names images."""


Picture = Annotated[str, IsPicture()]
"""An image by its name: a path, or a place in a file such as `test.parquet#5310:image[0]`."""


class Beside(Struct, frozen=True):
    """A path made of a row's columns, relative to the row's file: `Beside("png/{imgname}")`, `Beside("{id:012d}.jpg")`.

    Of a column that is a list it makes one path for each item, of a null none.
    """

    template: str


class Columns:
    """Several columns in one field: by name where it is a dict, else in order; empty ones are left out."""

    def __init__(self, *names: str) -> None:
        self.names = names


ColumnNames = Mapping[str, str | Columns | Beside]
"""The columns of fields that have another name than theirs."""


class Home(Struct, frozen=True):
    """Where a form of the data is published, under which licence, and how large it is."""

    address: str
    licence: str
    megabytes: int = 0


class Join(Struct, frozen=True):
    """The columns of a second file: of the row whose column `key` has what the first file's row has in `on`.

    `files` and `records` are as in `Form`; a row's own columns come before those of the second file.
    """

    files: str
    on: str
    key: str
    records: str = ""


class LeftOut(Struct, frozen=True):
    """Why a row, named by `id`, makes no question."""

    reason: str
    id: str


class Place(Struct, frozen=True):
    """Where a row is: `file` is the name of `path` without its suffix, in `folder`; `number` counts from 0."""

    file: str
    number: int
    split: str
    folder: str = ""
    path: str = ""


_SPLIT = "\0"
Made = Question | LeftOut | Iterable[Question | LeftOut]


class Form(Struct, frozen=True):
    """A form that people have the data in: globs below --data, in which {split} is the split.

    `columns` names a field's column where it is called otherwise; `a.b` reaches into an object. `records` is the key of
    a JSON file under which the rows are. `splits` gives what a split is called here: {"val": "validation"}. `row` and
    `question` take the place of the benchmark's own, where a form is another thing altogether. Paths of images begin so
    many folders `up` from the rows' file. `header` names the columns of text files without a header line.
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
        """The globs of a split."""
        return tuple(self.filled(glob, split) for glob in self.patterns)

    def filled(self, glob: str, split: str) -> str:
        """A glob with the split as it is called here."""
        return glob.replace("{split}", self.splits.get(split, split))

    def split_of(self, name: str) -> str | None:
        """The split whose files have such a name below --data; None where no split has."""
        for glob in self.patterns:
            before, *after = translate(glob.replace("{split}", _SPLIT)).split(_SPLIT)
            if after and (
                match := re.match("(?P=split)".join([f"{before}(?P<split>\\w+){after[0]}", *after[1:]]), name)
            ):
                names = {word: split for split, word in self.splits.items()}
                return names.get(match["split"], match["split"])
        return None
