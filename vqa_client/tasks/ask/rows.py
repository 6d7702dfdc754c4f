"""Data files of any form as rows, and the questions of the rows."""

import glob
import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from vqa_client.errors import DataError
from vqa_client.files import natural_key
from vqa_client.images.find import IMAGE_SUFFIXES
from vqa_client.prompt import at_marks, numbered
from vqa_client.settings.declared import AskSettings
from vqa_client.tables.inside import open_table, short_name
from vqa_client.tables.objects import home_of
from vqa_client.tables.pictures import is_address, names_in
from vqa_client.tables.rows import DATA_ENDINGS, Here, NumberedRow, Table
from vqa_client.tasks.ask.columns import BLANK, Mapped, value_of
from vqa_client.tasks.ask.values import AnswerForm, choices_of, readings, text_of, texts_of, truth_of, turns_of
from vqa_client.types import Question, Turn

FOLDER, FILE = "folder", "file_name"


class ImageFolder(Table):
    """The images of a folder and of its folders as rows: `file_name`, and `folder`, the name of an image's folder."""

    def __init__(self, path: Path) -> None:
        super().__init__(path / "images")
        self.header = [FILE, FOLDER]
        self.start = f"{path}/#"
        self._root = path

    def rows(self, columns: frozenset[str] | None = None) -> Iterator[NumberedRow]:
        """A row for each image, in natural order."""
        names = (name for name in self._root.rglob("*") if name.suffix.lower() in IMAGE_SUFFIXES and name.is_file())
        for number, path in enumerate(sorted(names, key=lambda name: natural_key(str(name)))):
            inside = path.relative_to(self._root)
            yield number, {FILE: str(inside), FOLDER: inside.parent.name or None}

    def image(self, place: str) -> bytes:
        """Raises LookupError: all images are files."""
        raise LookupError(place)


def tables_of(data: Path) -> list[Table]:
    """The tables of a file, a folder or a quoted glob; raises DataError that lists the files where it isn't clear."""
    if glob.has_magic(str(data)) and not data.exists():
        paths = [Path(name) for name in sorted(glob.glob(str(data)), key=natural_key)]
        if not paths:
            raise DataError(f"no file matches {data}", hint="quote the pattern, so that the shell leaves it alone")
        return [open_table(path) for path in paths]
    if data.is_file():
        return [open_table(data)]
    if not data.is_dir():
        owner = str(data).count("/") == 1 and not data.suffix
        hint = f"--data hf://{data} gets a dataset of this name" if owner else "give a file, a folder or a quoted glob"
        raise DataError(f"{data} does not exist", hint=hint)
    files = sorted(
        (path for path in data.iterdir() if path.suffix.lower() in DATA_ENDINGS), key=lambda p: natural_key(p.name)
    )
    metadata = [path for path in files if path.stem == "metadata"]
    parquet = [path for path in files if path.suffix == ".parquet"]
    chosen = metadata[:1] or parquet or files
    if not chosen:
        return [ImageFolder(data)]
    if len({path.suffix for path in chosen}) > 1 or (len(chosen) > 1 and chosen[0].suffix not in (".parquet", ".tar")):
        names = ", ".join(path.name for path in chosen[:8])
        raise DataError(f"{data} has several data files: {names}", hint="name one of them, or a quoted glob")
    return [open_table(path) for path in chosen]


def state_of(data: Path | None) -> tuple[object, ...]:
    """The names, sizes and times of the files of a data source, to notice changes."""
    if data is None:
        return ()
    paths = [Path(name) for name in glob.glob(str(data))] or [data]
    if data.is_dir():
        paths += [path for path in data.rglob("*") if path.suffix.lower() in (*DATA_ENDINGS, *IMAGE_SUFFIXES)]
    states = ((path, path.stat()) for path in paths if path.exists())
    return tuple((str(path), state.st_size, state.st_mtime_ns) for path, state in states)


def is_image_file(base: Path, name: Any) -> bool:
    """Whether a cell is the name of an image file that exists."""
    return type(name) is str and name.lower().endswith(IMAGE_SUFFIXES) and os.path.isfile(base / name)


class Reader:
    """Makes questions of rows, once the columns are decided."""

    def __init__(self, settings: AskSettings, mapping: Mapped, answer_form: AnswerForm | None = None) -> None:
        self._settings, self._mapped, self._answer_form = settings, mapping, answer_form
        self._fixed = choices_of(list(mapping.fixed_choices)) if mapping.fixed_choices else {}
        self._asks = not settings.prompt or "{question}" in settings.prompt
        self._names_in = partial(names_in, addresses=settings.image_urls != "refuse")

    def question(self, cells: dict[str, Any], table: Table, number: int) -> tuple[Question, Any]:
        """The question of a row, and the value of its answer cell; raises ValueError that names a column."""
        mapping = self._mapped
        text, answer, pictures = value_of(cells, mapping.question), value_of(cells, mapping.answer), list[str]()
        if mapping.true_false:
            answer = truth_of(answer)
        conversation = _column(mapping.messages, turns_of, cells[mapping.messages]) if mapping.messages else None
        if conversation is not None:
            answer = conversation.answer if mapping.answer == "" else answer
            for place, value in conversation.images:
                pictures += self._pictures(mapping.messages, value, table, f"{number}:{mapping.messages}{place}")
        elif mapping.question and type(text) is not str:
            text = _column(mapping.question, text_of, "" if text is None else text)
        if self._asks and text is not None and not text.strip():
            raise ValueError(f"column `{mapping.question}`: the question is missing")
        for name in mapping.image:
            value = value_of(cells, name)
            if type(value) is Here:  # without a call: there may be a million rows
                pictures.append(value.name)
            elif value is not None:
                pictures += self._pictures(name, value, table, f"{number}:{name}")
        choices = self._choices(cells) if mapping.choices else self._fixed
        if choices:
            references = self._label(answer, choices)
        elif type(answer) is str and answer[:1].isalnum() and not self._settings.answers_separator:
            references = (answer,)  # not a list, the usual case
        else:
            separator = self._settings.answers_separator
            references = tuple(_column(mapping.answer, texts_of, answer, separator)) if answer is not None else ()
        texts = numbered("\0".join(conversation.texts)).split("\0") if conversation else (numbered(text or ""),)
        if conversation and not (texts[-1].strip() or pictures):
            raise ValueError(f"column `{mapping.messages}`: the last turn of the user is empty")
        first = pictures[0] if pictures else ""
        name = value_of(cells, mapping.id)
        question = Question(
            id=f"{_stem(table)}#{number}" if name is None else str(name),
            text=texts[-1],
            images=tuple(pictures),
            choices={label: numbered(choice) for label, choice in choices.items()} if choices else {},
            references=references,
            groups={group: str(value) for group in mapping.groups if (value := value_of(cells, group)) is not None},
            cluster=str(value_of(cells, mapping.document) or (short_name(first) if is_address(first) else first)),
            extra={"row": cells} | ({"system": conversation.system} if conversation and conversation.system else {}),
            turns=_turns(texts, conversation.replies, len(pictures)) if conversation else (),
        )
        return question, answer

    def _pictures(self, column: str, value: Any, table: Table, place: str) -> list[str]:
        """The images of a cell; raises ValueError for a missing file."""
        base = self._settings.images or home_of(table.path.parent)
        names: list[str] = _column(column, self._names_in, value, table.start + place, base)
        for name in names:
            if not ("#" in name or is_address(name) or name.startswith(table.start) or os.path.isfile(name)):
                if os.path.isdir(name):
                    raise ValueError(f"column `{column}`: {name} is a folder")
                where = f"looked in {base}" if Path(base).is_dir() else f"{base} does not exist"
                raise ValueError(f"column `{column}`: {name} does not exist; {where}")
        return names

    def _choices(self, cells: dict[str, Any]) -> dict[str, str]:
        names = self._mapped.choices
        if len(names) == 1:
            value = value_of(cells, names[0])
            return _column(names[0], choices_of, value, self._settings.choices_separator) if value else {}
        texts = {name: value for name in names if (value := value_of(cells, name)) not in (None, "")}
        return _column(", ".join(names), choices_of, texts) if texts else {}

    def _label(self, answer: Any, choices: dict[str, str]) -> tuple[str, ...]:
        if answer in BLANK:
            return ()
        if isinstance(answer, list):
            raise ValueError(f"column `{self._mapped.answer}`: {len(answer)} answers to a choice; only one is right")
        if self._answer_form is None:
            return ()
        fits = readings(answer, choices)
        if self._answer_form not in fits:
            raise ValueError(f"column `{self._mapped.answer}`: {answer!r} is not one of {', '.join(choices)}")
        return (fits[self._answer_form],)


def _turns(texts: Sequence[str], replies: tuple[str, ...], pictures: int) -> tuple[Turn, ...]:
    """The earlier turns of a conversation; images without a mark are in the first turn."""
    images = range(1, pictures + 1)
    parts = [at_marks(text, images) for text in texts]
    if replies:
        parts[0] = [*(image for image in images if not any(image in part for part in parts)), *parts[0]]
    return tuple(Turn(content=tuple(part), reply=reply) for part, reply in zip(parts, replies, strict=False))


def _stem(table: Table) -> str:
    return table.path.name.rpartition(".")[0] or table.path.name


def _column(name: str, read: Any, *arguments: Any) -> Any:
    """The result of `read`; its error names the column."""
    try:
        return read(*arguments)
    except ValueError as error:
        raise ValueError(f"column `{name}`: {error}") from None
