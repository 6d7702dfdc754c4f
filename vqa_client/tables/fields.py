"""Converts a row's cells to the fields of a benchmark's row type."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from vqa_client.not_json import missing_named
from vqa_client.tables.forms import Beside, ColumnNames, Columns, IsPicture
from vqa_client.tables.pictures import below, literal, names_in
from vqa_client.tables.rows import Here, reach

_FIELD = re.compile(r"`(\w+)(?:\[\d+\])?`$")
_NAMED = re.compile(r"\{([^{}:]+)(?::([^{}]*))?\}")


class _Field(NamedTuple):
    """A field, its column, and its type: texts, names of pictures, several values, or an object.

    `plain` is the column whose text, or whose image's name, is the field's value as it is.
    """

    name: str
    column: str | Columns | Beside
    texts: bool
    pictures: bool
    several: bool
    mapping: bool
    plain: str


class Filler:
    """Makes rows of a type from cells; `needed` are the columns that it reads, `pictures` those with images."""

    def __init__(self, row: type[Struct], columns: ColumnNames) -> None:
        self._row = row
        hints = get_type_hints(row, include_extras=True)
        self._fields = [_field(name, hint, columns.get(name, name)) for name, hint in hints.items()]
        self.pictures = {name for field in self._fields if field.pictures for name in _sources(field.column)}
        sources = {name for field in self._fields for name in _sources(field.column)}
        self.needed = frozenset(sources | {name.split(".")[0] for name in sources})

    def row(self, cells: dict[str, Any], start: str, base: Path) -> Any:
        """A row; names of images in its cells begin with `start`, paths are below `base`.

        Raises ValueError, which names the field.
        """
        values: dict[str, Any] = {}
        is_plain = True
        for field in self._fields:
            value = cells.get(field.plain) if field.plain else None
            if type(value) is str and not field.pictures:
                values[field.name] = value
            elif type(value) is Here:
                values[field.name] = (value.name,) if field.several else value.name
            else:
                is_plain = False
                try:
                    value = _value(field, cells, start, base)
                except ValueError as error:
                    raise ValueError(f"`{field.name}`: {error}") from None
                if value is not None:
                    values[field.name] = value
        if is_plain:  # the types are right, which halves the time of a row
            return self._row(**values)
        try:
            return msgspec.convert(values, self._row, strict=False)
        except msgspec.ValidationError as error:
            raise ValueError(missing_named(self._with_column(str(error).replace("$.", "")))) from None

    def _with_column(self, words: str) -> str:
        """The words of an error, with the column of the field if it has another name."""
        match = _FIELD.search(words)
        field = next((field for field in self._fields if match and field.name == match[1]), None)
        if field is None or isinstance(field.column, Beside) or field.column == field.name:
            return words
        sources = _sources(field.column)
        return f"{words} (column{'s' if len(sources) > 1 else ''} {', '.join(f'`{source}`' for source in sources)})"


def _field(name: str, hint: Any, column: str | Columns | Beside) -> _Field:
    if (
        get_origin(hint) in (Union, UnionType)
        and len(rest := [kind for kind in get_args(hint) if kind is not type(None)]) == 1
    ):
        hint = rest[0]
    several = get_origin(hint) in (tuple, list)
    mapping = get_origin(hint) is dict or (isinstance(hint, type) and issubclass(hint, Struct | dict))
    arguments = get_args(hint)
    item = arguments[0] if several else arguments[1] if mapping and arguments else hint
    pictures = IsPicture() in getattr(item, "__metadata__", ())
    plain = column if isinstance(column, str) and not mapping and (pictures or hint is str) else ""
    return _Field(name, column, pictures or item is str, pictures, several, mapping, plain)


def _sources(column: str | Columns | Beside) -> tuple[str, ...]:
    if isinstance(column, Beside):
        return tuple(name for name, _ in _NAMED.findall(column.template))
    return column.names if isinstance(column, Columns) else (column,)


def _value(field: _Field, cells: dict[str, Any], start: str, base: Path) -> Any:
    column = field.column
    if isinstance(column, Beside):
        made = list(_fill_template(column.template, cells))
        made = [below(base, part) for part in made] if field.pictures else made
        return made if field.several else made[0] if made else None
    if isinstance(column, Columns):
        by_column = {name: value for name in column.names if (value := reach(cells, name)) not in (None, "")}
        if not by_column:
            return None
        if field.pictures:
            named = {name: names_in(value, start + name, base) for name, value in by_column.items()}
            by_column = {name: names[0] for name, names in named.items() if names}
        elif field.texts:
            by_column = {name: _as_text(value) for name, value in by_column.items()}
        return by_column if field.mapping else list(by_column.values())
    value = reach(cells, column)
    if field.pictures:
        names = names_in(value, start + column, base)
        if len(names) > 1 and not field.several:
            raise ValueError(f"{len(names)} images, where one is expected")
        return names if field.several and value not in (None, "") else names[0] if names else None
    if field.several or field.mapping:
        if isinstance(value, str):
            parsed = literal(value)
            value = parsed if parsed is not None else value
        if field.several and value is not None and not isinstance(value, list):
            value = [value]
        if not field.texts:
            return value
        if isinstance(value, dict):
            return {key: _as_text(item) for key, item in value.items()}
        return [_as_text(item) for item in value] if isinstance(value, list) else value
    if field.name.endswith("id") and isinstance(value, float) and value.is_integer():
        value = int(value)  # a column of numbers with a missing cell has floats
    return _as_text(value) if field.texts else value


def _as_text(value: Any) -> Any:
    """A number as text; another value is unchanged, and refused later if it is not a text."""
    return msgspec.json.encode(value).decode() if isinstance(value, int | float) else value


def _fill_template(template: str, cells: dict[str, Any]) -> Iterator[str]:
    """The template with a row's values, once per item of a column with a list; nothing if a cell is null."""
    values = {}
    for name, _ in _NAMED.findall(template):
        value = reach(cells, name)
        if value is None:
            if name.partition(".")[0] in cells:
                return
            raise ValueError(f"there is no column `{name}`")
        parsed = literal(value) if isinstance(value, str) else value
        values[name] = parsed if isinstance(parsed, list) else [value]
    counts = {len(items) for items in values.values()} - {1}
    for at in range(max(counts, default=1)):
        row = {name: items[at % len(items)] for name, items in values.items()}
        yield _NAMED.sub(lambda match, row=row: _formatted_text(row[match[1]], match[2]), template)  # type: ignore[misc]


def _formatted_text(value: Any, form: str | None) -> str:
    return format(int(value), form) if form else str(_as_text(value))
