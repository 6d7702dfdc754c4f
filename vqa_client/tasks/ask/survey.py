"""A survey of all rows of a data source: the roles of its columns, its faulty rows, and its questions."""

from array import array
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from vqa_client.errors import DataError, UsageError
from vqa_client.prompt import marks_in
from vqa_client.reports.names import count, first_of
from vqa_client.settings.declared import AskSettings
from vqa_client.tables.loading import may_repeat
from vqa_client.tables.objects import home_of
from vqa_client.tables.rows import Table
from vqa_client.tasks.ask.columns import BLANK, Column, Mapped, mapped
from vqa_client.tasks.ask.rows import Reader, is_image_file, tables_of
from vqa_client.tasks.ask.values import FORMS, AnswerForm, readings
from vqa_client.types import Question

SHOWN_FAULTS = 5
_BLOCK = 16
"""Rows in memory at the same time: each may have an image of some megabytes in a cell."""
_FORM_WORDS: dict[AnswerForm, str] = {
    "letter": "letters",
    "text": "the texts of choices",
    "0": "places counted from 0",
    "1": "places counted from 1",
}


class RowFault(NamedTuple):
    """Why a row can't be asked."""

    path: Path
    row: int
    reason: str

    @property
    def where(self) -> str:
        """The row for people, who count from 1."""
        return f"{self.path.name} row {self.row + 1}"


class Survey(Struct, frozen=True, kw_only=True):
    """A data source with the roles of its columns.

    `answer_form` is the form of answers to choices, `parts` counts questions, `references` counts open questions by
    their number of answers, `faults` are the faulty rows, and `systems` are the system messages of conversations: all
    of them, or the first two. `leaves_out`: the prompt names no column, although one has the questions.
    """

    tables: tuple[Any, ...]
    mapped: Mapped
    answer_form: AnswerForm | None
    parts: dict[str, int]
    references: Counter[int]
    faults: tuple[RowFault, ...]
    rows: int
    columns: tuple[str, ...]
    systems: tuple[str, ...] = ()
    leaves_out: bool = False

    def reading(self) -> Iterator[str]:
        """The result for people, one line per fact."""
        names = first_of([table.path.name for table in self.tables], 3)
        yield f"{names}: {count(self.rows, 'row')}"
        for role, words in self.mapped.decisions:
            yield f"  {role:<9} {words}"
        if self.answer_form:
            yield f"  answers   {_FORM_WORDS[self.answer_form]}, because all of them fit"
        if missing := self.parts.get("no_answer"):
            yield f"  without an answer: {count(missing, 'row')}, asked, and in no accuracy"
        if self.leaves_out:
            yield "warning: --prompt has no {question} and no other {column}: the same words are sent for every row"


def survey(settings: AskSettings) -> Survey:
    """Look at all rows: which columns there are, their roles, and the faulty rows.

    Raises UsageError where the user must decide, DataError for data that can't be asked.
    """
    if settings.data is None:
        raise UsageError("there is no data to ask", hint="--data FILE, a folder, or a quoted glob")
    tables = tables_of(settings.data)
    columns, rows = _columns(tables)
    if not rows:
        lacks = "no rows" if os.path.isfile(settings.data) else "neither rows nor images"
        raise DataError(f"{settings.data} has {lacks}", hint="a data file has a question per row")
    options = {
        role: getattr(settings, role) for role in ("question", "image", "choices", "answer", "id", "document", "group")
    }
    base = settings.images or home_of(tables[0].path.parent)
    mapping = mapped(columns, rows, options, is_file=partial(is_image_file, base))
    if settings.images and not (mapping.image or mapping.messages):
        raise UsageError(
            f"--images {settings.images} is given, and no column is the image",
            hint=f"--image COLUMN, of {', '.join(columns)}",
        )
    if not (mapping.question or mapping.messages or settings.prompt):
        raise UsageError(
            f"no column of {settings.data} is the question",
            hint=f"--question COLUMN, of {', '.join(columns) or 'none'}; or --prompt TEXT asks the same of each row",
        )
    return _survey(settings, tables, mapping, rows, tuple(columns))


def _columns(tables: Iterable[Table]) -> tuple[dict[str, Column], int]:
    """Each column over all rows, and the number of rows.

    A block of rows that have all columns and no new values is counted at once: of a million rows nearly all are.
    """
    columns: defaultdict[str, Column] = defaultdict(Column)
    few: dict[str, Column] = {}
    rows = repeated = 0
    for table in tables:
        numbered = table.rows()
        while block := [cells for _, cells in islice(numbered, _BLOCK)]:
            rows += len(block)
            if not _has_news(block, columns, few):
                repeated += len(block)
                continue
            for cells in block:
                for name, value in cells.items():
                    columns[name].add(value)
            few = {name: column for name, column in columns.items() if column.values is not None or not column.present}
    for column in columns.values():
        column.present += repeated
    return columns, rows


def _has_news(rows: list[dict[str, Any]], columns: Mapping[str, Column], few: Mapping[str, Column]) -> bool:
    """Whether rows have a new value, a blank one, or other columns."""
    if any(cells.keys() != columns.keys() for cells in rows):
        return True
    for name in columns:
        values = [cells[name] for cells in rows]
        if None in values or "" in values or [] in values or (name in few and not few[name].knows(values)):
            return True
    return False


def _survey(settings: AskSettings, tables: list[Table], mapping: Mapped, rows: int, columns: tuple[str, ...]) -> Survey:
    """Make every question once, to find all faults and the form of the answers."""
    facts = _walk(settings, tables, mapping)
    if may_repeat(facts.hashes):
        facts = _walk(settings, tables, mapping, ids=set())
    _report(settings, facts.faults, rows)
    form = _only_form(facts.forms, facts.differ, mapping) if facts.parts["choice"] else None
    return Survey(
        tables=tuple(tables),
        mapped=mapping,
        answer_form=form,
        parts={name: number for name, number in facts.parts.items() if number},
        references=facts.references,
        faults=tuple(facts.faults),
        columns=columns,
        systems=tuple(facts.systems),
        rows=rows,
        leaves_out=bool(mapping.question and settings.prompt and "{" not in settings.prompt),
    )


class _RowFacts(Struct):
    """The facts of a walk over all rows; `hashes` are of the ids, `differ` has pairs of forms that disagree."""

    forms: set[AnswerForm]
    differ: set[frozenset[AnswerForm]] = msgspec.field(default_factory=set)
    faults: list[RowFault] = msgspec.field(default_factory=list)
    parts: Counter[str] = msgspec.field(default_factory=Counter)
    references: Counter[int] = msgspec.field(default_factory=Counter)
    systems: set[str] = msgspec.field(default_factory=set)
    hashes: Any = msgspec.field(default_factory=lambda: array("q"))


def _walk(settings: AskSettings, tables: list[Table], mapping: Mapped, ids: set[str] | None = None) -> _RowFacts:
    """Walk over all rows; with `ids`, which take 100 bytes per row, a repeated id is a fault."""
    reader, facts = Reader(settings, mapping), _RowFacts({settings.answer_from} if settings.answer_from else set(FORMS))
    for table in tables:
        for number, cells in table.rows():
            try:
                question, answer = reader.question(cells, table, number)
                answered = answer not in BLANK
                if not question.choices:
                    facts.references[len(question.references)] += 1
                elif answered:
                    _narrow(facts, answer, question.choices, mapping, settings.answer_from)
                if question.turns or question.choices or "<image " in question.text:
                    _check_marks(question, mapping.question or mapping.messages)
                if ids is None:
                    facts.hashes.append(hash(question.id))
                elif question.id in ids:
                    raise ValueError(f"column `{mapping.id}`: two rows have the id {question.id!r}")
                else:
                    ids.add(question.id)
            except ValueError as error:
                facts.faults.append(RowFault(table.path, number, str(error)))
                continue
            if len(facts.systems) < 2:
                facts.systems.add(question.extra.get("system", ""))
            facts.parts[_part(question, settings, answered=answered)] += 1
    return facts


def _check_marks(question: Question, column: str) -> None:
    """Raise ValueError where the text of this column, or of a choice, names an image that the row doesn't have."""
    earlier = [part for turn in question.turns for part in turn.content if isinstance(part, str)]
    count = len(question.images)
    for text in (question.text, *question.choices.values(), *earlier):
        for number in marks_in(text):
            if not 0 < number <= count:
                where = f"column `{column}`: " if text not in question.choices.values() else ""
                raise ValueError(f"{where}the text names image {number}, and the number of the row's images is {count}")


def _narrow(
    facts: _RowFacts, answer: Any, choices: Mapping[str, str], mapping: Mapped, answer_from: AnswerForm | str
) -> None:
    """Keep the forms that fit this answer too; raises ValueError where no form is left."""
    fits = readings(answer, choices)
    if not facts.forms & fits.keys():
        if fits:
            before = " or ".join(_FORM_WORDS[form] for form in sorted(facts.forms))
            others = f"--answer_from {answer_from} says {before}" if answer_from else f"earlier ones of {before}"
            raise ValueError(f"column `{mapping.answer}`: {answer!r} is of {_FORM_WORDS[min(fits)]}, {others}")
        of = ", ".join(choices)
        raise ValueError(f"column `{mapping.answer}`: {answer!r} is not one of {of}, nor a choice's text")
    facts.forms &= fits.keys()
    facts.differ |= {frozenset((a, b)) for a in fits for b in fits if fits[a] != fits[b]}


def _part(question: Question, settings: AskSettings, *, answered: bool) -> str:
    """The part of a question; --choice_mode asks no question without choices, with an answer or without."""
    if not question.choices and (answered or settings.choice_mode != "text"):
        return "open"
    return "choice" if answered else "no_answer"


def _only_form(forms: set[AnswerForm], differ: set[frozenset[AnswerForm]], mapping: Mapped) -> AnswerForm:
    if any(pair <= forms for pair in differ):
        raise UsageError(
            f"column `{mapping.answer}` can be read as {' or '.join(_FORM_WORDS[form] for form in sorted(forms))}",
            hint=f"say which: {' or '.join(f'--answer_from {form}' for form in sorted(forms))}",
        )
    return next(form for form in FORMS if form in forms)


def _report(settings: AskSettings, faults: list[RowFault], rows: int) -> None:
    if not faults or settings.skip_faulty:
        return
    by_kind = Counter(fault.reason.partition(":")[0] for fault in faults)
    counts: Counter[str] = Counter()
    lines = []
    for fault in faults:
        kind = fault.reason.partition(":")[0]
        counts[kind] += 1
        if counts[kind] <= SHOWN_FAULTS:
            lines.append(f"  {fault.where}, {fault.reason}")
        elif counts[kind] == by_kind[kind]:
            lines.append(f"  and {by_kind[kind] - SHOWN_FAULTS:,} more, {kind}")
    raise DataError(
        f"{settings.data} can't be asked: {len(faults):,} of {rows:,} rows are faulty\n" + "\n".join(lines),
        hint="mend them (rows count from 1, without a header); --skip_faulty leaves them out and says so in the report",
    )


class PartQuestions(Struct, frozen=True, kw_only=True):
    """The questions of one part, made again on each walk; --score none leaves their answers out."""

    settings: AskSettings
    of: Survey
    part: str

    def __iter__(self) -> Iterator[Question]:
        return islice(self._questions(), self.settings.limit)

    def _questions(self) -> Iterator[Question]:
        reader = Reader(self.settings, self.of.mapped, self.of.answer_form)
        faulty = {(fault.path, fault.row) for fault in self.of.faults}
        for table in self.of.tables:
            for number, cells in table.rows():
                if faulty and (table.path, number) in faulty:
                    continue
                question, answer = reader.question(cells, table, number)
                if _part(question, self.settings, answered=answer not in BLANK) == self.part:
                    yield replace(question, references=()) if self.settings.score == "none" else question
