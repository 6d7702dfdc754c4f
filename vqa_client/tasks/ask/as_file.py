"""The columns that were found, as a benchmark file: the way from a quick look to a benchmark of one's own."""

from itertools import takewhile
from pathlib import Path

from vqa_client.errors import UsageError
from vqa_client.files import replacing
from vqa_client.settings.ask import AskSettings
from vqa_client.tasks.ask.benchmark import WITH_CHOICES, at_places, benchmark
from vqa_client.tasks.ask.rows import ImageFolder
from vqa_client.tasks.ask.survey import Survey, survey

_HEAD = '''"""{name}: questions of {files}.

Written by `vqa-client ask {data} --to {file}`. Run it: vqa-client run {file} --data {data} -o results
"""

from typing import Any

from msgspec import Struct

from vqa_client.benchmark import Benchmark, {columns}Form, Picture, Place, Prompt, Question, numbered, tables
from vqa_client.scoring.readings import choice_or_short
from vqa_client.tasks.ask.benchmark import {metrics}
from vqa_client.tasks.ask.values import choices_of, readings, texts_of, truth_of


class Row(Struct):
{fields}

def question(row: Row, place: Place) -> Question:
{body}

{declared} = Benchmark(
    name={name!r},
    load=tables(
        Row,
        Form(
            {glob!r},
            columns={mapping},
        ),
        question=question,
    ),
    prompt=Prompt({prompt!r}, images="marked"),
    parse=choice_or_short,
    metrics={metric_list},
    headline={headline!r},
    breakdowns={groups!r},{labels}
)
'''


def write_benchmark(settings: AskSettings, path: Path, data: str) -> None:
    """Write the file; `data` is how the user names what is read.

    Raises UsageError for a name that is taken or that no benchmark can have, for data that has no columns to name, and
    for data that has two kinds of questions.
    """
    if path.suffix != ".py":
        raise UsageError(f"--to {path}: a benchmark is a Python file", hint=f"--to {path.with_suffix('.py')}")
    if path.exists():
        raise UsageError(f"--to {path}: the file is there already", hint="name another file, or remove this one")
    of = survey(settings)
    if any(isinstance(table, ImageFolder) for table in of.tables) or of.mapped.messages:
        raise UsageError("--to writes the columns of a table, and this data has none", hint="copy a file of tasks/")
    if {"choice", "open"} <= of.parts.keys():
        raise UsageError("some rows have choices and some have none", hint="split them into two files")
    with replacing(path) as file:
        file.write(_text(settings, of, path, data).encode())


def _text(settings: AskSettings, of: Survey, path: Path, data: str) -> str:
    found, declared = of.mapped, benchmark(settings)
    columns: dict[str, str] = {}
    fields: list[str] = []

    def field(name: str, kind: str, column: str, default: str = "") -> None:
        fields.append(f"    {name}: {kind}{default}\n")
        columns[name] = column

    if found.question:
        field("question", "str", repr(found.question))
    choices = ("Any", " = ()") if len(found.choices) == 1 else ("dict[str, str]", " = {}")
    pictures = ("tuple[Picture, ...]", " = ()")
    for name, (kind, default), names in (("images", pictures, found.image), ("choices", choices, found.choices)):
        if names:
            field(name, kind, repr(names[0]) if len(names) == 1 else f"Columns{names!r}", default)
    for name in ("answer", "id", "document"):
        if column := getattr(found, name):
            field(name, "Any", repr(column), " = None")
    for number, name in enumerate(found.groups):
        field(f"group_{number}", "Any", repr(name), " = None")
    prompt = at_places(settings.prompt or "", found.image) or (WITH_CHOICES if of.parts.get("choice") else "{question}")
    is_choice = bool(of.parts.get("choice"))
    files = [table.path.name for table in of.tables]
    start = "".join(each[0] for each in takewhile(lambda each: len({*each}) == 1, zip(*files, strict=False)))
    return _HEAD.format(
        name=path.stem,
        declared="BENCHMARK",
        files=", ".join(files[:3]),
        data=data,
        file=path.name,
        columns="Columns, " if any("Columns(" in column for column in columns.values()) else "",
        metrics="CHOICE" if is_choice else "OPEN",
        fields="".join(fields),
        body=_body(settings, of),
        glob=files[0] if len(files) == 1 else f"{start}*{Path(files[0]).suffix}",
        mapping="{\n"
        + "".join(f"                {name!r}: {column},\n" for name, column in columns.items())
        + "            }",
        prompt=prompt,
        metric_list="(CHOICE,)" if is_choice else "OPEN",
        headline=declared.headline_metric.name,
        groups=tuple(f"{name}" for name in found.groups),
        labels=f"\n    labels={declared.labels!r}," if declared.labels else "",
    )


def _body(settings: AskSettings, of: Survey) -> str:
    found = of.mapped
    lines = []
    if found.choices:
        separator = f", {settings.choices_separator!r}" if settings.choices_separator else ""
        lines.append(f"    choices = choices_of(row.choices{separator})")
    elif found.fixed_choices:
        lines.append(f"    choices = choices_of({list(found.fixed_choices)!r})")
    has_choices = bool(found.choices or found.fixed_choices)
    cell = "truth_of(row.answer)" if found.true_false else "row.answer"
    if has_choices:
        answer = f"(readings({cell}, choices)[{of.answer_form!r}],)"
        empty = ' if row.answer not in (None, "") else ()'
    else:
        separator = f", {settings.answers_separator!r}" if settings.answers_separator else ""
        answer, empty = f"tuple(texts_of({cell}{separator}))", ""
    default = 'f"{place.file}#{place.number}"'
    given = {
        "id": f"{default} if row.id is None else str(row.id)" if found.id else default,
        "text": "numbered(row.question)" if found.question else '""',
        "images": "row.images" if found.image else "",
        "choices": "{label: numbered(text) for label, text in choices.items()}" if has_choices else "",
        "references": (answer + empty) if found.answer else "",
        "groups": "{"
        + ", ".join(f"{name!r}: str(row.group_{number})" for number, name in enumerate(found.groups))
        + "}"
        if found.groups
        else "",
        "cluster": "str(row.document)" if found.document else 'next(iter(row.images), "")' if found.image else "",
    }
    lines.append("    return Question(")
    lines += [f"        {name}={value}," for name, value in given.items() if value]
    lines.append("    )\n")
    return "\n".join(lines)
