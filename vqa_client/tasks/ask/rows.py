"""Data files of any form as rows, the columns they have, and the questions that the rows make."""

import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from vqa_client.errors import DataError, UsageError
from vqa_client.files import natural_key
from vqa_client.images.find import IMAGE_SUFFIXES
from vqa_client.prompt import at_marks, numbered
from vqa_client.settings.ask import AskSettings
from vqa_client.tables.inside import open_table, short_name
from vqa_client.tables.pictures import is_address, names_in
from vqa_client.tables.rows import NumberedRow, Table
from vqa_client.tasks.ask.columns import Column, Mapped, mapped, value_of
from vqa_client.tasks.ask.values import FORMS, AnswerForm, choices_of, readings, texts_of, turns_of
from vqa_client.types import Group, Question, Turn

SHOWN_FAULTS = 5
_FORM_WORDS: dict[AnswerForm, str] = {
    "letter": "letters",
    "text": "the texts of choices",
    "0": "places counted from 0",
    "1": "places counted from 1",
}
_DATA = (".parquet", ".jsonl", ".json", ".csv", ".tsv", ".tar")
FOLDER, FILE = "folder", "file_name"


class ImageFolder:
    """The images of a folder and of its folders as rows: `file_name`, and `folder`, the name of an image's folder."""

    notes: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self.header = [FILE, FOLDER]
        self.path = path / "images"
        self.start = f"{path}/#"
        self._root = path

    def rows(self, columns: frozenset[str] | None = None) -> Iterator[NumberedRow]:
        """A row for each image, in natural order."""
        del columns
        names = (name for name in self._root.rglob("*") if name.suffix.lower() in IMAGE_SUFFIXES and name.is_file())
        for number, path in enumerate(sorted(names, key=lambda name: natural_key(str(name)))):
            inside = path.relative_to(self._root)
            yield number, {FILE: str(inside), FOLDER: inside.parent.name or None}

    def image(self, place: str) -> bytes:
        """None is inside: all images are files."""
        raise LookupError(place)

    def is_near(self, place: str) -> bool:
        """Files are."""
        del place
        return True


class Fault(NamedTuple):
    """Why a row can't be asked."""

    where: str
    reason: str


class Survey(Struct, frozen=True, kw_only=True):
    """A data source with its columns decided: `answer_form` is that of answers to choices; `parts` counts questions.

    `references` counts the open questions that have so many answers, `faults` are rows that can't be asked, and
    `system` is the system message that all conversations have.
    """

    tables: tuple[Any, ...]
    mapped: Mapped
    answer_form: AnswerForm | None
    parts: dict[str, int]
    references: Counter[int]
    faults: tuple[Fault, ...]
    rows: int
    columns: tuple[str, ...]
    system: str = ""

    def reading(self) -> Iterator[str]:
        """What was found, a line per fact."""
        names = ", ".join(table.path.name for table in self.tables[:3]) + (", ..." if len(self.tables) > 3 else "")
        yield f"{names}: {self.rows:,} rows"
        for role, words in self.mapped.said:
            yield f"  {role:<9} {words}"
        if self.answer_form:
            yield f"  answers   {_FORM_WORDS[self.answer_form]}, because all of them fit"
        if missing := self.parts.get("no_answer"):
            yield f"  {missing:,} rows have no answer: they are asked, and in no accuracy"


def tables_of(data: Path) -> list[Table]:
    """The tables of a file, a folder or a quoted glob; raises DataError with what there is where it isn't clear."""
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
        raise DataError(f"there is no {data}", hint=hint)
    files = sorted((path for path in data.iterdir() if path.suffix.lower() in _DATA), key=lambda p: natural_key(p.name))
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
    """What changes with the files of a data source: their names, sizes and times."""
    if data is None:
        return ()
    paths = [Path(name) for name in glob.glob(str(data))] or [data]
    if data.is_dir():
        paths += [path for path in data.rglob("*") if path.suffix.lower() in (*_DATA, *IMAGE_SUFFIXES)]
    states = ((path, path.stat()) for path in paths if path.exists())
    return tuple((str(path), state.st_size, state.st_mtime_ns) for path, state in states)


class Reader:
    """Makes questions of rows, once the columns are decided."""

    def __init__(self, settings: AskSettings, found: Mapped, answer_form: AnswerForm | None = None) -> None:
        self._settings, self._mapped, self._answer_form = settings, found, answer_form
        self._fixed = choices_of(list(found.fixed_choices)) if found.fixed_choices else {}

    def question(self, cells: dict[str, Any], table: Table, number: int) -> tuple[Question, Any]:
        """The question of a row, and its answer as the cell has it; raises ValueError that names a column."""
        of, settings = self._mapped, self._settings
        base = settings.images or table.path.parent
        named = partial(names_in, addresses=settings.image_urls != "refuse")
        start = f"{table.start}{number}:"
        text, answer, pictures = value_of(cells, of.question), value_of(cells, of.answer), list[str]()
        said = _column(of.messages, turns_of, cells[of.messages]) if of.messages else None
        if said is not None:
            answer = said.answer if of.answer == "" else answer
            for place, value in said.images:
                pictures += _column(of.messages, named, value, f"{start}{of.messages}{place}", base)
        elif of.question and text is None:
            raise ValueError(f"column `{of.question}`: the question is missing")
        for name in of.image:
            pictures += _column(name, named, value_of(cells, name), start + name, base)
        for name in pictures:
            if not ("#" in name or is_address(name) or name.startswith(table.start) or os.path.isfile(name)):
                raise ValueError(f"column `{', '.join(of.image)}`: {name} doesn't exist; looked in {base}")
        choices = self._choices(cells)
        if choices:
            references = self._label(answer, choices)
        else:
            separator = settings.answers_separator
            references = tuple(_column(of.answer, texts_of, answer, separator)) if answer is not None else ()
        groups: dict[str, Group] = {
            name: str(value) for name in of.groups if (value := value_of(cells, name)) is not None
        }
        first = next(iter(pictures), "")
        texts = numbered("\0".join(said.texts)).split("\0") if said else []
        row = {name: value for name, value in cells.items() if isinstance(value, str | int | float)}
        question = Question(
            id=str(
                value_of(cells, of.id) if of.id and value_of(cells, of.id) is not None else f"{_stem(table)}#{number}"
            ),
            text=numbered(str(text or "")) if said is None else texts[-1],
            images=tuple(pictures),
            choices={label: numbered(choice) for label, choice in choices.items()},
            references=references,
            groups=groups,
            cluster=str(value_of(cells, of.document) or (short_name(first) if is_address(first) else first)),
            extra={"row": row, **({"system": said.system} if said and said.system else {})},
            turns=_turns(texts, said.replies, len(pictures)) if said else (),
        )
        return question, answer

    def _choices(self, cells: dict[str, Any]) -> dict[str, str]:
        if self._fixed:
            return self._fixed
        names = self._mapped.choices
        if not names:
            return {}
        if len(names) == 1:
            value = value_of(cells, names[0])
            return _column(names[0], choices_of, value, self._settings.choices_separator) if value else {}
        texts = [str(value) for name in names if (value := value_of(cells, name)) not in (None, "")]
        return _column(", ".join(names), choices_of, texts) if texts else {}

    def _label(self, answer: Any, choices: dict[str, str]) -> tuple[str, ...]:
        if answer is None or answer == "" or answer == []:
            return ()
        if isinstance(answer, list):
            raise ValueError(f"column `{self._mapped.answer}`: {len(answer)} answers to a choice; only one is right")
        if self._answer_form is None:
            return ()
        fits = readings(answer, choices)
        if self._answer_form not in fits:
            raise ValueError(f"column `{self._mapped.answer}`: {answer!r} is not one of {', '.join(choices)}")
        return (fits[self._answer_form],)


def _turns(texts: list[str], replies: tuple[str, ...], pictures: int) -> tuple[Turn, ...]:
    """The earlier turns of a conversation; images without a mark are in the first one."""
    everywhere = range(1, pictures + 1)
    parts = [at_marks(text, everywhere) for text in texts]
    if replies:
        parts[0] = [*(image for image in everywhere if not any(image in each for each in parts)), *parts[0]]
    return tuple(Turn(content=tuple(each), reply=reply) for each, reply in zip(parts, replies, strict=False))


def _stem(table: Table) -> str:
    return table.path.name.rpartition(".")[0] or table.path.name


def _column(name: str, read: Any, *given: Any) -> Any:
    """What a reader gives; an error names the column."""
    try:
        return read(*given)
    except ValueError as error:
        raise ValueError(f"column `{name}`: {error}") from None


def survey(settings: AskSettings) -> Survey:
    """Look at all rows: which columns there are, what they mean, and which rows can't be asked.

    Raises UsageError where a decision is left to the user, DataError for data that can't be asked.
    """
    if settings.data is None:
        raise UsageError("there is no data to ask", hint="vqa-client ask FILE, a folder, or a quoted glob")
    tables = tables_of(settings.data)
    columns, rows = _columns(tables)
    if not rows:
        raise DataError(f"{settings.data} has no rows", hint="a data file has a question per row")
    given = {
        role: getattr(settings, role) for role in ("question", "image", "choices", "answer", "id", "document", "group")
    }
    found = mapped(columns, rows, given, has_folder=FOLDER in columns)
    if not (found.question or found.messages or settings.prompt):
        raise UsageError(
            f"no column of {settings.data} is the question", hint=f"--question COLUMN, of {', '.join(columns)}"
        )
    return _checked(settings, tables, found, rows, tuple(columns))


def _columns(tables: Iterable[Table]) -> tuple[dict[str, Column], int]:
    columns: dict[str, Column] = {}
    rows = 0
    for table in tables:
        for _, cells in table.rows():
            rows += 1
            for name, value in cells.items():
                column = columns.get(name)
                if column is None:
                    column = columns[name] = Column()
                column.add(value)
    return columns, rows


def _checked(settings: AskSettings, tables: list[Table], found: Mapped, rows: int, columns: tuple[str, ...]) -> Survey:
    """Make every question once, to find all faults and the form of the answers."""
    reader = Reader(settings, found)
    forms: set[AnswerForm] = {settings.answer_from} if settings.answer_from else set(FORMS)
    faults, parts, ids, references = list[Fault](), Counter[str](), set[int](), Counter[int]()
    systems: set[str] = set()
    differ: set[frozenset[AnswerForm]] = set()
    for table in tables:
        for number, cells in table.rows():
            where = f"{table.path.name} row {number}"
            try:
                question, answer = reader.question(cells, table, number)
                if question.choices and answer not in (None, "", []):
                    fits = readings(answer, question.choices)
                    if not forms & fits.keys():
                        of = ", ".join(question.choices)
                        raise ValueError(f"column `{found.answer}`: {answer!r} is not one of {of}, nor a choice's text")
                    forms &= fits.keys()
                    differ |= {frozenset((a, b)) for a in fits for b in fits if fits[a] != fits[b]}
                elif not question.choices:
                    references[len(question.references)] += 1
                if (key := hash(question.id)) in ids:
                    raise ValueError(f"column `{found.id}`: two rows have the id {question.id!r}")
                ids.add(key)
            except ValueError as error:
                faults.append(Fault(where, str(error)))
                continue
            systems.add(question.extra.get("system", ""))
            parts[_part(question, answered=answer not in (None, "", []))] += 1
    _report(settings, faults, rows)
    form = _form(forms, differ, found) if parts["choice"] else None
    if len(systems) > 1 and settings.system is None:
        raise UsageError(f"the rows have {len(systems)} different system messages", hint="--system TEXT is for all")
    return Survey(
        tables=tuple(tables),
        mapped=found,
        answer_form=form,
        parts={name: count for name, count in parts.items() if count},
        references=references,
        faults=tuple(faults),
        columns=columns,
        system=next(iter(systems), ""),
        rows=rows,
    )


def _part(question: Question, *, answered: bool) -> str:
    return "no_answer" if not answered else "choice" if question.choices else "open"


def _form(forms: set[AnswerForm], differ: set[frozenset[AnswerForm]], found: Mapped) -> AnswerForm:
    for one in forms:
        for other in forms:
            if frozenset((one, other)) in differ:
                raise UsageError(
                    f"column `{found.answer}` can be read as {' or '.join(sorted(forms))}",
                    hint="say which: --answer_from 0",
                )
    return next(form for form in FORMS if form in forms)


def _report(settings: AskSettings, faults: list[Fault], rows: int) -> None:
    if not faults or settings.skip_faulty:
        return
    by_kind = Counter(fault.reason.partition(":")[0] for fault in faults)
    shown: Counter[str] = Counter()
    lines = []
    for fault in faults:
        kind = fault.reason.partition(":")[0]
        shown[kind] += 1
        if shown[kind] <= SHOWN_FAULTS:
            lines.append(f"  {fault.where}, {fault.reason}")
        elif shown[kind] == by_kind[kind]:
            lines.append(f"  and {by_kind[kind] - SHOWN_FAULTS:,} more, {kind}")
    raise DataError(
        f"{settings.data} can't be asked: {len(faults):,} of {rows:,} rows are faulty\n" + "\n".join(lines),
        hint="mend them (rows count from 0), or --skip_faulty leaves them out and says so in the report",
    )


class Asked(Struct, frozen=True, kw_only=True):
    """The questions of one part, made again at each walk."""

    settings: AskSettings
    of: Survey
    part: str

    def __iter__(self) -> Iterator[Question]:
        reader = Reader(self.settings, self.of.mapped, self.of.answer_form)
        count = 0
        for table in self.of.tables:
            for number, cells in table.rows():
                try:
                    question, answer = reader.question(cells, table, number)
                except ValueError:
                    continue  # a faulty row, which --skip_faulty leaves out
                if self.part and _part(question, answered=answer not in (None, "", [])) != self.part:
                    continue
                if question.choices and answer not in (None, "", []) and not question.references:
                    continue
                if self.settings.limit is not None and count >= self.settings.limit:
                    return
                count += 1
                yield question
