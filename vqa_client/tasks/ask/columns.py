"""The meaning of the columns of a data file, by their names and values, or by options.

A column is detected by its name (compared without case, `-`, `_` and blanks) and by the values of all rows. Where two
columns are possible, nothing is guessed: the error names the option that decides.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from vqa_client.errors import UsageError
from vqa_client.reports.names import count
from vqa_client.tables.rows import Here, reach
from vqa_client.tasks.ask.values import LABELS

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "messages": ("messages", "conversations", "conversation"),
    "question": ("question", "query", "prompt", "instruction", "input", "text"),
    "image": (
        *("image", "images", "image_path", "image_paths", "image_file", "img", "img_path", "filename", "file_name"),
        *("file_names", "pictures", "picture", "photo", "path", "url", "image_url", "image_base64", "base64"),
        *("image_b64", "image_data", "image_bytes", "bytes"),
    ),
    "choices": ("choices", "options", "candidates", "multiple_choices"),
    "answer": (
        *("answer", "answers", "target", "label", "gold", "ground_truth", "gt", "reference", "references"),
        *("response", "output", "correct", "solution", "caption"),
    ),
    "id": ("question_id", "id", "_id", "qid", "index", "idx", "uid", "sample_id", "key", "__key__"),
    "group": (
        *("category", "l2-category", "type", "question_type", "answer_type", "difficulty", "subject", "subset"),
        *("split", "source", "task", "length"),
    ),
    "document": ("image_id", "doc_id", "document", "docId", "page_id"),
}
"""The known names of columns, best first."""
_SURE: Final = ("answer", "answers", "target", "label", "gold", "groundtruth", "gt")
_SERIES: Final = re.compile(r"(?P<start>choice|option|image|picture)s?_?(?P<end>[A-Za-z]|\d{1,2})", re.IGNORECASE)
MOST_GROUPS: Final = 50
"""A field with more values than this isn't a group."""
BLANK: Final[tuple[Any, ...]] = (None, "", [])
"""Empty values."""


class Column(Struct):
    """One column over all rows: in how many rows it has a value, and its values while they are few."""

    present: int = 0
    images: int = 0
    first: str = ""
    values: set[str] | None = None

    def add(self, value: Any) -> None:
        """Add one row's value, which may be blank."""
        if value in BLANK:
            return
        self.present += 1
        if self.present == 1:
            self.values, self.first = set(), value if isinstance(value, str) else ""
        if isinstance(value, Here) or (isinstance(value, list) and value and isinstance(value[0], Here)):
            self.images += 1
            self.values = None
        elif self.values is not None:
            if isinstance(value, str | int | float):
                self.values.add(str(value)[:200])
            if not isinstance(value, str | int | float) or len(self.values) > MOST_GROUPS:
                self.values = None

    def knows(self, values: list[Any]) -> bool:
        """Whether these values, none of them blank, would change the count alone."""
        return self.values is not None and {*map(type, values)} == {str} and self.values.issuperset(values)


class Mapped(Struct, frozen=True, kw_only=True):
    """The column of each role, "" or empty where there is none; `decisions` has each role with its reason, for people.

    `fixed_choices` are the same for all rows; with `true_false` all answers are "true" or "false", in any case.
    """

    question: str
    messages: str = ""
    image: tuple[str, ...]
    choices: tuple[str, ...]
    fixed_choices: tuple[str, ...]
    answer: str
    id: str
    document: str
    groups: tuple[str, ...]
    true_false: bool = False
    decisions: tuple[tuple[str, str], ...]

    def identity(self) -> dict[str, Any]:
        """The mapping in the run file: with another mapping it is another run."""
        fields = {
            name: getattr(self, name)
            for name in self.__struct_fields__
            if name not in ("decisions", "groups", "true_false")
        }
        return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items() if value}


def mapped(
    columns: Mapping[str, Column], rows: int, options: Mapping[str, str], *, is_file: Callable[[Any], bool]
) -> Mapped:
    """Decide the role of each column; `options` are by role, and `is_file` says whether a cell names an image file.

    Raises UsageError where it can't be decided.
    """
    decisions: list[tuple[str, str]] = []
    fields: dict[str, Any] = {"messages": ""}

    def take(role: str, column: str, how: str = "") -> None:
        fields[role] = column
        if column:
            decisions.append((role, f"column `{column}`{how}"))

    for role in ("question", "answer", "id", "document"):
        named = options.get(role)
        take(role, _check_column(role, named, columns) if named else "", f", as --{role} says")
    if not fields["question"]:
        take("messages", _first_column("messages", columns))
    if not (fields["question"] or fields["messages"]):
        take("question", _first_column("question", columns))
    texts = {fields["question"], fields["answer"], fields["messages"]}
    fields["image"] = _images(options.get("image", ""), columns, decisions, rows)
    if not fields["image"] and not fields["messages"]:
        images = [name for name, column in columns.items() if name not in texts and is_file(column.first)]
        if len(images) > 1:
            raise UsageError(f"{_column_words(images)} have images", hint=f"say which: --image {','.join(images)}")
        fields["image"] = tuple(images)
        decisions.append(
            ("image", f"{_column_words(images)}, whose values are files")
            if images
            else ("image", "none (--image COLUMN): the questions are asked in words alone")
        )
    fields["choices"], fields["fixed_choices"] = _choices(options.get("choices", ""), columns, decisions)
    if not fields["answer"]:
        take("answer", _answer(columns))
        if not (fields["answer"] or fields["messages"]):
            decisions.append(("answer", "none (--answer COLUMN)"))
    if (column := columns.get(fields["answer"])) and column.values:
        fields["true_false"] = {value.casefold() for value in column.values} <= {"true", "false"}
        if fields["true_false"] and not (fields["choices"] or fields["fixed_choices"]):
            decisions.append(("", "of True and False, which yes and no answer too"))
    taken = {fields["question"], fields["answer"], *fields["image"], *fields["choices"]}
    for role in ("id", "document"):
        if not fields[role]:
            take(role, _first_column(role, columns, leaving=taken))
    fields["groups"] = _groups(options.get("group", ""), columns, taken | {fields["id"]}, decisions)
    used = {*taken, fields["id"], fields["document"], *fields["groups"], fields["messages"]}
    if unused := [name for name in columns if name not in used]:
        decisions.append(("unused", ", ".join(f"`{name}`" for name in unused)))
    return Mapped(**fields, decisions=tuple(decisions))


def plain(name: str) -> str:
    """A column's name in the form that is compared."""
    return re.sub(r"[-_\s]", "", name).casefold()


def _first_column(role: str, columns: Mapping[str, Column], *, leaving: Iterable[str] = ()) -> str:
    excluded = set(leaving)
    by_name = {plain(name): name for name, column in columns.items() if name not in excluded}
    by_name |= {plain(name): name for name, column in columns.items() if column.present and name not in excluded}
    return next((by_name[plain(name)] for name in NAMES[role] if plain(name) in by_name), "")


def _check_column(role: str, name: str, columns: Mapping[str, Column]) -> str:
    """The column that an option names; `json.question` is a field of an object. Raises UsageError."""
    if name in columns or name.split(".")[0] in columns:
        return name
    known = ", ".join(columns)
    raise UsageError(f"--{role}: column `{name}` is not there", hint=f"the columns are {known}")


def _images(option: str, columns: Mapping[str, Column], decisions: list[tuple[str, str]], rows: int) -> tuple[str, ...]:
    if option:
        names = tuple(_check_column("image", name.strip(), columns) for name in option.split(","))
        decisions.append(("image", f"{_column_words(names)}, as --image says"))
        return names
    if series := _series(columns, ("image", "picture")):
        decisions.append(("image", f"columns {series[0]} to {series[-1]}"))
        return series
    name = _first_column("image", columns)
    if not name:
        name = next((name for name, column in columns.items() if column.images), "")
    if name:
        column = columns[name]
        inside = ", in the file itself" if column.images else ""
        decisions.append(("image", f"column `{name}`{inside}, in {column.present:,} of {count(rows, 'row')}"))
    return (name,) if name else ()


def _choices(
    option: str, columns: Mapping[str, Column], decisions: list[tuple[str, str]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if option:
        names = tuple(name.strip() for name in option.split(","))
        if any(name in columns or name.split(".")[0] in columns for name in names):
            for name in names:
                _check_column("choices", name, columns)
            decisions.append(("choices", f"{_column_words(names)}, as --choices says"))
            return names, ()
        decisions.append(("choices", f"{', '.join(names)} for all rows, as --choices says"))
        return (), names
    letters = tuple(name for name in LABELS if name in columns and columns[name].present)
    letters = letters if len(letters) > 1 and letters[0] == "A" else ()
    ways = [way for way in (letters, _series(columns, ("choice", "option"))) if way]
    if name := _first_column("choices", columns):
        ways.append((name,))
    if len(ways) > 1:
        alternatives = " or ".join(_column_words(way) for way in ways)
        raise UsageError(f"the choices are {alternatives}", hint=f"say which: --choices {','.join(ways[0])}")
    if ways:
        decisions.append(("choices", _column_words(ways[0])))
    return (ways[0] if ways else ()), ()


def _series(columns: Mapping[str, Column], starts: Sequence[str]) -> tuple[str, ...]:
    """Columns such as choice_A, choice_B or image_1, image_2, in order."""
    by_start: dict[str, list[tuple[tuple[int, str], str]]] = {}
    for name, column in columns.items():
        match = _SERIES.fullmatch(name)
        if match and match["start"].lower() in starts and column.present:
            end = match["end"]
            by_start.setdefault(match["start"].lower(), []).append(
                ((int(end), "") if end.isdigit() else (0, end.upper()), name)
            )
    best = max(by_start.values(), key=len, default=[])
    return tuple(name for _, name in sorted(best)) if len(best) > 1 else ()


def _answer(columns: Mapping[str, Column]) -> str:
    sure = [name for name, column in columns.items() if column.present and plain(name) in _SURE]
    if len(sure) > 1:
        alternatives = " or ".join(f"`{name}`" for name in sure)
        raise UsageError(f"the answer is in {alternatives}", hint=f"say which: --answer {sure[0]}")
    folder = "folder" if "folder" in columns and columns["folder"].present else ""
    return _first_column("answer", columns) or folder


def _groups(
    option: str, columns: Mapping[str, Column], taken: set[str], decisions: list[tuple[str, str]]
) -> tuple[str, ...]:
    if option:
        names = tuple(_check_column("group", name.strip(), columns) for name in option.split(","))
    else:
        usual = {plain(name) for name in NAMES["group"]}
        names = tuple(
            name
            for name, column in columns.items()
            if plain(name) in usual and name not in taken and column.values and len(column.values) > 1
        )
    if names:
        groups = ((name, columns[name].values) for name in names)
        words = (f"`{name}` ({count(len(values), 'value')})" if values else f"`{name}`" for name, values in groups)
        decisions.append(("groups", ", ".join(words)))
    return names


def _column_words(names: Sequence[str]) -> str:
    return f"column `{names[0]}`" if len(names) == 1 else f"columns {', '.join(names)}"


def value_of(cells: dict[str, Any], name: str) -> Any:
    """The value of a mapped column, or None."""
    if name and name in cells:  # the usual case
        return cells[name]
    return reach(cells, name) if name else None
