"""Your own questions and images: CSV, TSV, JSON, JSON Lines, Parquet, tar, or a folder of images."""

import os
import re
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from pathlib import Path
from shlex import quote
from typing import Final

from msgspec.structs import replace

from vqa_client.benchmark import Answer, Benchmark, Loaded, Metric, Part, Prompt, Question, Source, best_of, whole_reply
from vqa_client.errors import DataError, UsageError
from vqa_client.files import replacing
from vqa_client.prompt import choices_text, numbered
from vqa_client.scoring.published.anls import anls
from vqa_client.scoring.readings import choice_or_short, declared_in, polarity
from vqa_client.scoring.reply import Reply
from vqa_client.scoring.restated import answer_in
from vqa_client.scoring.short_answers import relaxed, same_words, word_f1
from vqa_client.scoring.strict.containment import contains_strict
from vqa_client.scoring.vqa_accuracy import question_accuracy
from vqa_client.settings.declared import AskSettings
from vqa_client.tables.loading import digest
from vqa_client.tables.pictures import url_of
from vqa_client.tasks.ask.rows import ImageFolder, state_of
from vqa_client.tasks.ask.survey import PartQuestions, Survey, survey
from vqa_client.tasks.ask.values import LABELS
from vqa_client.tasks.choices import has_choices, right

WITH_CHOICES: Final = "{question}\n\n{choices}\n\n"
TEN: Final = 10
_POLARITY: Final = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}
_COLUMN: Final = re.compile(r"\{([^{}\s][^{}]*)\}")
_PLACE: Final = re.compile(r"\{image (\d+)\}")


@lru_cache(maxsize=4)
def _survey_of_state(options: AskSettings, state: Hashable) -> Survey:
    """The survey of the data in this state, cached, since a command needs it several times."""
    return survey(options)


def vqa(answer: str, question: Question) -> float:
    """The official accuracy over ten answers; with another number of answers, 1 where one is equal once normalised."""
    if len(question.references) == TEN:
        return question_accuracy(answer, question.references)
    return max(question_accuracy(answer, [reference] * TEN) for reference in question.references)


def contains(answer: str, question: Question) -> float:
    """Whether an answer states one of the references."""
    return float(any(_is_stated(answer, reference, question.text) for reference in question.references))


def _is_stated(answer: str, reference: str, asked: str) -> bool:
    """Whether an answer states a reference.

    "I have no idea" doesn't say no; "There is a dog." says yes to "Is there a dog?" without the word. For a reference
    that is a sentence its new part is enough: "3" for "There are 3 dogs.".
    """
    if wanted := _POLARITY.get(reference.strip(" .").casefold()):
        return polarity(answer, asked) == wanted
    short_answer, short_reference = (
        declared_in(text) or answer_in(text, asked) or text for text in (answer, reference)
    )
    return contains_strict(reference, answer, secret=False) or same_words(short_answer, short_reference)


OPEN: Final = (
    Metric("contains", contains, "an answer is stated", read=whole_reply),
    Metric("exact", best_of(same_words), "the same words, but for case and outer punctuation"),
    Metric("anls", best_of(anls), "1 less the edit distance by length, 0 below 0.5"),
    Metric("vqa", vqa, "VQA accuracy: three of ten people say so"),
    Metric("relaxed", best_of(relaxed), "a number within 5 %, else the same words"),
    Metric("f1", best_of(word_f1), "F1 of the words, as SQuAD counts them"),
)
CHOICE: Final = Metric("choice", right, "the right letter, as the robust parser reads it", when=has_choices)


def benchmark(options: AskSettings) -> Benchmark:
    """The benchmark of the data; raises DataError and UsageError for data that can't be asked."""
    of = _survey_of_state(options, state_of(options.data))
    if options.system in of.columns:
        raise UsageError(
            f"--system {options.system} is a column, and a system message is one text for all rows",
            hint=f"--prompt with {{{options.system}}} puts the column before each question",
        )
    by_choice, by_words = of.parts.get("choice", 0), of.parts.get("open", 0)
    headline = options.score or _headline(of)
    has_choices = bool(by_choice or of.mapped.choices or of.mapped.fixed_choices)
    if headline == "choice" and not has_choices:
        raise UsageError("--score choice needs choices, and the data has none", hint="--choices COLUMN")
    chosen = next((metric for metric in OPEN if metric.name == headline), OPEN[0])
    metrics: tuple[Metric, ...] = (CHOICE,) if by_choice and not by_words else OPEN
    if by_choice and by_words:
        metrics = (
            _either(chosen),
            CHOICE,
            *(replace(metric, when=lambda question: not question.choices) for metric in OPEN),
        )
        headline = "score"
    asked = _prompt(options, of)
    return Benchmark(
        name="ask",
        load=lambda source: _parts(options, of, source),
        prompt=Prompt(
            asked, images="marked", system=_system(of), checked="<image" not in str(asked) and not callable(asked)
        ),
        parse=choice_or_short,
        metrics=metrics,
        headline=headline if headline in {metric.name for metric in metrics} else "",
        breakdowns=of.mapped.groups,
        labels=LABELS[: max(2, _most_choices(of))] if has_choices else (),
        unit="document" if of.mapped.document else "image",
        identity={
            "columns": of.mapped.identity(),
            **({"prompt": options.prompt} if options.prompt else {}),
            **({"systems": "each conversation's own"} if len(of.systems) > 1 and options.system is None else {}),
            **({"image_urls": options.image_urls} if options.image_urls != "refuse" else {}),
        },
        scoring={"score": headline, "answers": of.answer_form or ""},
        version="4",
    )


def _headline(of: Survey) -> str:
    if of.parts.get("choice"):
        return "choice"
    return "vqa" if of.references and set(of.references) == {TEN} else "contains"


def _system(of: Survey) -> str | Callable[[Question], str]:
    """The system message of all conversations, or the function that returns each conversation's own."""
    if len(of.systems) > 1:
        return lambda question: str(question.extra.get("system", ""))
    return next(iter(of.systems), "")


def _either(chosen: Metric) -> Metric:
    """The score by the choice or, without choices, by the chosen metric."""

    def of(answer: str, question: Question) -> float | None:
        return right(answer, question) if question.choices else chosen.of(answer, question)

    def read(reply: Reply, question: Question) -> Answer:
        return (choice_or_short if question.choices else whole_reply)(reply, question)

    says = f"choice, or {chosen.name} without choices"
    return Metric("score", of, says, read=read if chosen.read is whole_reply else None)


def _most_choices(of: Survey) -> int:
    return max(len(of.mapped.choices), len(of.mapped.fixed_choices), 4) if len(of.mapped.choices) != 1 else len(LABELS)


def _prompt(options: AskSettings, of: Survey) -> str | Callable[[Question], str]:
    """The template, or the function that fills in other columns of the row too."""
    template = at_places(options.prompt, of.mapped.image)
    if not template:
        if of.parts.get("choice") and len(of.parts) > 1 and options.choice_mode == "text":
            return lambda question: _fill_columns(WITH_CHOICES if question.choices else "{question}", question)
        return WITH_CHOICES if of.mapped.choices or of.mapped.fixed_choices else "{question}"
    placeholders = set(_COLUMN.findall(template))
    known = {"question", "choices", *of.columns}
    if unknown := placeholders - known:
        raise UsageError(
            f"{{{min(unknown)}}} in --prompt is not a column", hint=f"known are {', '.join(sorted(known))}"
        )
    if "question" in placeholders and placeholders <= {"question", "choices"}:
        return template
    return lambda question: _fill_columns(template, question)


def at_places(template: str, columns: Sequence[str]) -> str:
    """A template with marks for images: `{image}` is the next image, `{image 2}` the second, `{COLUMN}` a column's."""
    places = {name: f"<image {number}>" for number, name in enumerate(columns, 1)} if len(columns) > 1 else {}
    places |= dict.fromkeys(("image", *columns[: len(columns) == 1]), "<image>")
    marked_text = _COLUMN.sub(lambda match: places.get(match[1], match[0]), template)
    return numbered(_PLACE.sub(r"<image \1>", marked_text))


def _fill_columns(template: str, question: Question) -> str:
    values = {
        **question.extra["row"],
        "question": question.text,
        "choices": choices_text(question.choices) if question.choices else "",
    }

    def filled(match: re.Match[str]) -> str:
        value = values.get(match[1])
        return str(value) if isinstance(value, str | int | float) else match[0]

    return _COLUMN.sub(filled, template)


def _parts(options: AskSettings, of: Survey, source: Source) -> list[Part]:
    for line in of.reading():
        source.notify(line)
    assert options.data is not None  # as in the survey
    if options.split:
        hint = "name a split's own file, or hf://owner/name:SPLIT"
        raise DataError(f"your own data has no splits, and --split is {options.split!r}", hint=hint)
    left_out = {"faulty": tuple(fault.where for fault in of.faults)} if of.faults else {}
    asked = dict(of.parts)
    if options.choice_mode != "text" and asked.pop("open", 0):
        left_out["open"] = tuple(question.id for question in PartQuestions(settings=options, of=of, part="open"))
    paths = [table.path for table in of.tables if table.path.is_file()]
    return [
        Part(
            name=name if len(of.parts) > 1 else "",
            loaded=Loaded(
                questions=PartQuestions(settings=options, of=of, part=name),
                count=count if options.limit is None else min(count, options.limit),
                left_out=left_out,
                data_sha256=digest(paths) if paths else "",
            ),
            data_path=options.data,
            images_dir=options.images or options.data.parent,
        )
        for name, count in sorted(asked.items())
    ]


_HEAD = '''"""{name}: questions of {files}.

Written by `vqa-client ask {data} --to {file}`. Run it: vqa-client run {file} --data {given} -o results
"""

from typing import Any

from msgspec import Struct

from vqa_client.benchmark import Benchmark, {columns}Form, Picture, Place, Prompt, Question, numbered, tables
from vqa_client.scoring.readings import choice_or_short
from vqa_client.tasks.ask.benchmark import {metrics}
{values}

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
    """Write the file of a benchmark; `data` is the data in the user's words.

    Raises UsageError for a file that exists or isn't a Python file, for data without columns, and for data with two
    kinds of questions.
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
        file.write(_module_text(settings, of, path, data).encode())


def _module_text(settings: AskSettings, of: Survey, path: Path, data: str) -> str:
    mapping, declared = of.mapped, benchmark(settings)
    columns: dict[str, str] = {}
    fields: list[str] = []

    def field(name: str, kind: str, column: str, default: str = "") -> None:
        fields.append(f"    {name}: {kind}{default}\n")
        columns[name] = column

    if mapping.question:
        field("question", "str", repr(mapping.question))
    choices = ("Any", " = None") if len(mapping.choices) == 1 else ("dict[str, str]", " = {}")
    pictures = ("tuple[Picture, ...]", " = ()")
    for name, (kind, default), names in (("images", pictures, mapping.image), ("choices", choices, mapping.choices)):
        if names:
            field(name, kind, repr(names[0]) if len(names) == 1 else f"Columns{names!r}", default)
    for name in ("answer", "id", "document"):
        if column := getattr(mapping, name):
            field(name, "Any", repr(column), " = None")
    for number, name in enumerate(mapping.groups):
        field(f"group_{number}", "Any", repr(name), " = None")
    prompt = at_places(settings.prompt or "", mapping.image) or (
        WITH_CHOICES if of.parts.get("choice") else "{question}"
    )
    is_choice = bool(of.parts.get("choice"))
    files = [table.path.name for table in of.tables]
    start = os.path.commonprefix(files)  # noqa: RUF071 - of names, letter by letter
    body = _body(settings, of)
    used = [name for name in ("choices_of", "readings", "texts_of", "truth_of") if f"{name}(" in body]
    return _HEAD.format(
        name=path.stem,
        declared="BENCHMARK",
        files=", ".join(files[:3]),
        data=quote(data),
        given=f"{quote(data)} --images {quote(url_of(settings.images))}" if settings.images else quote(data),
        file=path.name,
        columns="Columns, " if any("Columns(" in column for column in columns.values()) else "",
        metrics="CHOICE" if is_choice else "OPEN",
        fields="".join(fields),
        body=body,
        values=f"from vqa_client.tasks.ask.values import {', '.join(used)}\n" if used else "",
        glob=files[0] if len(files) == 1 else f"{start}*{Path(files[0]).suffix}",
        mapping="{\n"
        + "".join(f"                {name!r}: {column},\n" for name, column in columns.items())
        + "            }",
        prompt=prompt,
        metric_list="(CHOICE,)" if is_choice else "OPEN",
        headline=declared.headline_metric.name,
        groups=mapping.groups,
        labels=f"\n    labels={declared.labels!r}," if declared.labels else "",
    )


def _body(settings: AskSettings, of: Survey) -> str:
    mapping = of.mapped
    lines = []
    if mapping.choices:
        separator = f", {settings.choices_separator!r}" if settings.choices_separator else ""
        lines.append(f"    choices = choices_of(row.choices{separator})")
    elif mapping.fixed_choices:
        lines.append(f"    choices = choices_of({list(mapping.fixed_choices)!r})")
    has_choices = bool(mapping.choices or mapping.fixed_choices)
    cell = "truth_of(row.answer)" if mapping.true_false else "row.answer"
    if has_choices:
        answer = f"(readings({cell}, choices)[{of.answer_form!r}],)"
        empty = ' if row.answer not in (None, "") else ()'
    else:
        separator = f", {settings.answers_separator!r}" if settings.answers_separator else ""
        answer, empty = f"tuple(texts_of({cell}{separator}))", ""
    default = 'f"{place.file}#{place.number}"'
    arguments = {
        "id": f"{default} if row.id is None else str(row.id)" if mapping.id else default,
        "text": "numbered(row.question)" if mapping.question else '""',
        "images": "row.images" if mapping.image else "",
        "choices": "{label: numbered(text) for label, text in choices.items()}" if has_choices else "",
        "references": (answer + empty) if mapping.answer else "",
        "groups": "{"
        + ", ".join(f"{name!r}: str(row.group_{number})" for number, name in enumerate(mapping.groups))
        + "}"
        if mapping.groups
        else "",
        "cluster": "str(row.document)" if mapping.document else 'next(iter(row.images), "")' if mapping.image else "",
    }
    lines.append("    return Question(")
    lines += [f"        {name}={value}," for name, value in arguments.items() if value]
    lines.append("    )\n")
    return "\n".join(lines)
