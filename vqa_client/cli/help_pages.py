"""Help pages: a command's usage, its options in a box for each group, and an example.

cyclopts knows the options. Its own pages assemble them twice more, look for each class's texts in the source, and are
laid out in rich's tables, which together takes three times as long.
"""

import math
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import is_dataclass
from itertools import zip_longest
from typing import NamedTuple, cast

from cyclopts import App, Argument, ArgumentCollection, Group
from cyclopts.group import sort_groups
from cyclopts.group_extractors import groups_from_app
from cyclopts.help import HelpEntry, NameRenderer, create_parameter_help_panel
from rich.box import ROUNDED
from rich.console import Console
from rich.segment import Segments
from rich.text import Text

from vqa_client.settings.validation import texts_below

_NAMES_SHARE = 0.35
"""The largest share of a page's width that names take."""
_LEAST_WIDTH = 20
"""Columns; a page is not narrower."""


class _Row(NamedTuple):
    """A row of a box: lines with its names, its text, and notes at the end of the text, each with its style."""

    names: Sequence[str]
    text: str
    notes: Sequence[tuple[str, str]] = ()
    is_required: bool = False


_Box = tuple[Group, list[_Row]]


def print_page(
    app: App, words: Sequence[str] = (), hidden: Collection[str] = (), console: Console | None = None
) -> None:
    """Print the help of an app's command, named by words, without the options of the settings in `hidden`."""
    page = _Page(console or Console())
    chain, apps, _ = app.parse_commands(words)
    command = apps[-1]
    boxes = list(_command_boxes(command, page.name_width))
    usage = ["Usage:", app.name[0], *chain, *(["COMMAND"] if boxes else [])]
    if command.default_command:
        with app.app_stack(apps):  # options depend on the commands above theirs
            arguments = command.assemble_argument_collection()
        options = [(argument, _entry_of(argument)) for argument in arguments.filter_by(show=True)]
        usage += _usage_of(options)
        texts: dict[str, str] = {}
        for argument in arguments:
            if isinstance(argument.hint, type) and is_dataclass(argument.hint):
                texts |= texts_below(argument.hint)
        shown = [pair for pair in options if pair[1].positional_label or pair[0].field_info.name not in hidden]
        boxes += _option_boxes(shown, texts, page.name_width)
    page.add_paragraph(f"{' '.join(usage)}\n", "bold")
    if command.help:
        page.add_paragraph(f"{command.help}\n")
    for group, rows in zip(*sort_groups([group for group, _ in boxes], [rows for _, rows in boxes]), strict=True):
        page.add_box(group, rows)
    if command.help_epilogue:
        page.add_paragraph(f"\n{command.help_epilogue}")
    page.show()


def _command_boxes(command: App, name_width: int) -> Iterator[_Box]:
    """The commands of a command in their groups, by name with flags last."""
    for group, commands in groups_from_app(command):
        shown = sorted((of.names[0].startswith("-"), of.names, of.app.help or "") for of in commands if of.app.show)
        rows = []
        for _, (name, *more), text in shown:
            label = f"{name} ({', '.join(more)})" if more else name
            rows.append(_Row(textwrap.wrap(label, name_width, subsequent_indent="  ", break_on_hyphens=False), text))
        if rows:
            yield group, rows


def _entry_of(argument: Argument) -> HelpEntry:
    """How cyclopts words an option."""
    of_one: ArgumentCollection = ArgumentCollection([argument])  # type: ignore[no-untyped-call]
    return create_parameter_help_panel(Group(), of_one, "plaintext").entries[0]


def _usage_of(options: Sequence[tuple[Argument, HelpEntry]]) -> Iterator[str]:
    """The options that a command needs, whether it has others, and its arguments."""
    named = [(argument, entry) for argument, entry in options if not entry.positional_label]
    needed = [f"{argument.name} {entry.metavar}" for argument, entry in named if argument.required]
    yield from needed
    if len(needed) < len(named):
        yield "[OPTIONS]"
    for argument, entry in options:
        if entry.positional_label:
            yield entry.positional_label if argument.required else "[ARGS]"


def _option_boxes(
    options: Sequence[tuple[Argument, HelpEntry]], texts: dict[str, str], name_width: int
) -> Collection[_Box]:
    """The options of a command in their groups."""
    render_names = NameRenderer(name_width)
    boxes: dict[str, _Box] = {}
    for argument, entry in options:
        notes = [(f"[choices: {', '.join(entry.choices)}]", "gray58")] if entry.choices else []
        notes += [(f"[env var: {', '.join(entry.env_var)}]", "gray58")] if entry.env_var else []
        notes += [(f"[default: {entry.default}]", "gray58")] if entry.default is not None else []
        notes += [("[required]", "red")] if entry.required else []
        text = argument.parameter.help or texts.get(argument.field_info.name, "")
        row = _Row(str(render_names(entry)).split("\n"), " ".join(text.split()), notes, entry.required)
        for group in cast(tuple[Group, ...], argument.parameter.group):
            boxes.setdefault(group.name, (group, []))[1].append(row)
    return boxes.values()


class _Page:
    """The lines of a page."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = max(console.width, _LEAST_WIDTH)
        self._box = ROUNDED.substitute(console.options)
        self.name_width = math.ceil(self._width * _NAMES_SHARE)
        self._lines: list[Text] = []

    def add_paragraph(self, text: str, style: str = "") -> None:
        """Add lines between words."""
        self._lines += Text(text, style).wrap(self._console, self._width)

    def add_box(self, group: Group, rows: Sequence[_Row]) -> None:
        """Add a box with the help of a group, and its options or commands."""
        box, inner = self._box, self._width - 4
        mark_width = 3 if any(row.is_required for row in rows) else 0
        names_width = max(len(line) for row in rows for line in row.names) + 2
        text_width = inner - mark_width - names_width
        lines = [*Text(group.help).wrap(self._console, inner), Text()] if group.help else []
        for row in rows:
            text = Text(row.text)
            for note, style in row.notes:
                text.append(" " if text else "").append(note, style)
            texts = text.wrap(self._console, text_width, overflow="fold")
            for mark, names, part in zip_longest("*" if row.is_required else "", row.names, texts, fillvalue=""):
                marked = ((mark.ljust(mark_width), "bold red"), (names.ljust(names_width), "cyan"))
                lines.append(Text.assemble(*marked, part))
        for line in lines:
            line.pad_right(inner - line.cell_len)
        self._lines += [
            Text(f"{box.top_left}{box.top} {group.name} ".ljust(inner + 3, box.top) + box.top_right),
            *(Text.assemble(f"{box.mid_left} ", line, f" {box.mid_right}") for line in lines),
            Text(box.bottom_left + box.bottom * (inner + 2) + box.bottom_right),
        ]

    def show(self) -> None:
        """Print the page."""
        page = Text("\n").join(self._lines)
        self._console.print(Segments(page.render(self._console, end="\n")))
