"""`vqa-client run` and `selftest`; and commands made from a settings type."""

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Annotated, Any, TypeVar, cast

from cyclopts import App
from cyclopts import Parameter as CommandParameter

from vqa_client.cli.app import CALL, HELP_FLAGS, SPELLED, OptionWords, example
from vqa_client.cli.commands import COMMANDS, default_settings
from vqa_client.cli.streams import EXIT_FAILED_QUESTIONS, EXIT_OK, emit_lines
from vqa_client.errors import UsageError
from vqa_client.settings.declared import BenchmarkSettings, ChoiceSettings, PageSettings
from vqa_client.settings.run import RunSettings

_NO_NAME = "name one that `vqa-client list` shows, or the path of a file that declares one"
_SHOWN = 10
_UNTESTED = {field.name for kind in (ChoiceSettings, PageSettings) for field in fields(kind)} - {
    *("data", "images", "split", "yes", "limit")
}
"""Common settings that `selftest` doesn't use."""
Settings = TypeVar("Settings")
_Name = Annotated[str | None, CommandParameter(allow_leading_hyphen=True, help="A name that `list` shows, or FILE.py.")]


def run(name: _Name = None, /, *options: OptionWords) -> int:
    """Run a benchmark with its own options."""
    settings = _parse_settings("run", name, options)
    if settings is None:
        return EXIT_OK
    from vqa_client.cli.evaluate import evaluate

    return evaluate(settings)


def selftest(name: _Name = None, /, *options: OptionWords) -> int:
    """Score each question's ideal reply; prints the questions whose scores are not all 1, with exit code 1.

    It adds up the totals too, and names those in which no question counts, and groups that no question has.
    """
    settings = _parse_settings("selftest", name, options)
    if settings is None:
        return EXIT_OK
    from vqa_client.reports.names import count, first_and_more
    from vqa_client.runs.reopened import selftest as tested

    result = tested(settings)
    lines = [f"{fault.question_id}: {fault.reply!r}: {fault.reason}" for fault in result.faults[:_SHOWN]]
    if (more := len(result.faults) - _SHOWN) > 0:
        lines.append(f"and {more:,} more")
    if result.empty_totals:
        lines.append(f"totals in which no question counts: {first_and_more(result.empty_totals, _SHOWN)}")
    if result.empty_breakdowns:
        lines.append(f"breakdowns by groups that no question has: {first_and_more(result.empty_breakdowns, _SHOWN)}")
    asked = count(result.total)
    lines.append(f"{len(result.faults):,} of {asked} fail" if result.faults else f"{asked}: every score is 1")
    emit_lines(*lines)
    return EXIT_FAILED_QUESTIONS if result.faults else EXIT_OK


def settings_command(name: str, kind: type[Settings]) -> App:
    """Make a command that takes the options of a settings type and returns the settings."""
    default = default_settings(kind)
    command = App(
        name=name,
        help="",
        help_flags=[],
        version_flags=[],
        help_format="plaintext",
        default_parameter=SPELLED,
    )

    def take(settings: Any = default) -> Settings:
        return cast(Settings, settings)

    take.__annotations__["settings"] = Annotated[kind, CommandParameter(name="*")]
    command.default(take)
    return command


def parse_options(command: App, options: Sequence[str]) -> Any | None:
    """The settings that the options give; or print the help that they ask for, and return None."""
    if HELP_FLAGS.intersection(options):
        from vqa_client.cli.help_pages import print_page

        print_page(command)
        return None
    return command(list(options), **CALL)


def _parse_settings(command: str, name: str | None, options: Sequence[str]) -> RunSettings | None:
    """The benchmark's settings; or print the help that is asked for, and return None."""
    wants_help = bool(HELP_FLAGS.intersection(options)) or name in HELP_FLAGS
    kind: type[RunSettings] = BenchmarkSettings
    hidden: Collection[str] = ()
    title, words = COMMANDS[command].help, COMMANDS[command].example
    if name is None or name.startswith("-"):
        if not wants_help:
            raise UsageError(f"vqa-client {command} needs a benchmark", hint=_NO_NAME)
        name = "NAME|FILE.py"
    else:
        from vqa_client.tasks.listing import declared

        listed = declared().get(name)
        if wants_help or listed is None or listed.has_options:
            from vqa_client.tasks.registry import find, undeclared

            found = find(name)
            kind, words = found.settings, f"{command} {name} --data FOLDER"
            title = listed.title if listed else found.title or title
            hidden = undeclared(found) if listed else ()
    app = settings_command(f"vqa-client {command} {name}", kind)
    if wants_help:
        from vqa_client.cli.help_pages import print_page

        app.help, app.help_epilogue = title, example(words)
        print_page(app, hidden=_UNTESTED if command == "selftest" else hidden)
        return None
    return cast(RunSettings, app([*options], **CALL)).named(name)
