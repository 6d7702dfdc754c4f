"""The app: how options are spelled, converted and shown in help; and errors of a command line in plain words."""

from collections.abc import Sequence
from difflib import get_close_matches
from types import NoneType
from typing import Annotated, Any, get_args

from cyclopts import (
    App,
    CoercionError,
    CycloptsError,
    Group,
    MissingArgumentError,
    Parameter,
    Token,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    convert,
)

from vqa_client.cli.commands import COMMANDS, GROUPS, RESULTS
from vqa_client.errors import UsageError
from vqa_client.version import __version__

OWN_HELP = ("run", "selftest", "score", "robustness run")
"""Commands that show a benchmark's own options."""


def _default_text(default: Any) -> str | None:
    """A default as help shows it; a switch that is off and an empty value say nothing."""
    if isinstance(default, bool) or default in (None, "", ()):
        return None
    return ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)


def _convert(kind: Any, tokens: Sequence[Token]) -> Any:
    """Convert the words of an option; cyclopts alone takes 2.5 for 2 where a whole number is wanted."""
    kinds = get_args(kind) or (kind,)
    for token in tokens if int in kinds and float not in kinds and str not in kinds else ():
        if "." in token.value:
            raise CoercionError(token=token, target_type=int if kinds[1:] in ((), (NoneType,)) else kind)
    return convert(kind, tokens)


class HelpFormatter:
    """Cyclopts' formatter, imported when a page is printed; an option's help is joined into one line."""

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        for entry in panel.entries:
            if text := getattr(entry.description, "primary_renderable", None):
                text.plain = " ".join(text.plain.split())
        _default_formatter()(console, options, panel)

    def __getattr__(self, name: str) -> Any:
        return getattr(_default_formatter(), name)


def _default_formatter() -> Any:
    from cyclopts.help import DefaultFormatter

    return DefaultFormatter()


CALL: dict[str, Any] = {
    "result_action": "return_value",
    "print_error": False,
    "exit_on_error": False,
    "error_console": object(),
}
"""How an App is called: it raises its errors and prints none, so nobody imports rich to make a console for them."""

SPELLED = Parameter(name_transform=lambda name: name, show_default=_default_text, converter=_convert)
"""Options are spelled as the settings are; hyphens are taken too."""


def example(words: str) -> str:
    """The last line of a command's help."""
    return f"Example: vqa-client {words}"


_GROUPS = {name: Group(name, sort_key=number) for number, name in enumerate(GROUPS)}
app = App(
    name="vqa-client",
    version=__version__,
    help_format="plaintext",
    help_formatter=HelpFormatter(),
    help="Ask vision-language models questions about images, and measure how good the answers are, with honest error "
    "bars.",
    default_parameter=SPELLED,
    suppress_keyboard_interrupt=False,  # it would end without a word
)
robustness = App(
    name="robustness",
    group=_GROUPS[RESULTS],
    help="Measure how corrupted images change a model's answers.",
    default_parameter=SPELLED,
)
for _group, _commands in GROUPS.items():
    for _name, _command in _commands.items():
        _parent, _, _word = _name.rpartition(" ")
        (robustness if _parent else app).command(
            f"vqa_client.cli.commands:{_name}",
            name=_word,
            group=None if _parent else _GROUPS[_group],
            help=_command.help,
            help_flags=[] if _name in OWN_HELP else ["--help", "-h"],
            help_epilogue=example(_command.example),
        )
app.command(robustness)
app.register_install_completion_command(add_to_startup=False, help="Install completion for this shell.")


OF_A_CONFIG = {
    "prompt_template": "prompt",
    "system_prompt": "system",
    "max_completion_tokens": "max_tokens",
    "corruption": "corruptions",
    "images_dir": "images",
    "output_dir": "output",
}
"""Keys of a config, or options of other programs, by the option that means the same."""
HELP_FLAGS = frozenset({"--help", "-h"})
Options = Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]
"""Options that the command reads by itself."""
_NO_SHOTS = "mc, niah, vqa2 and explain ask as published, without worked examples; `run` and `ask` take --shots"
HINTS = {  # by the option, or by command and option
    "shots": _NO_SHOTS,
    "shots_from": _NO_SHOTS,
    **dict.fromkeys(
        ("corruptions", "levels"), "`vqa-client robustness run --task NAME` takes --corruptions and --levels"
    ),
    "pages": "`vqa-client run` takes --pages, for benchmarks of documents",
    **dict.fromkeys(
        ("circular", "shuffle_choices", "choice_mode"), "`ask`, `mc` and benchmarks with choices, such as mmmu, take it"
    ),
    "judge model": "--judge names the model that judges",
    "map": "a field's column has its own option: --question COLUMN, --image COLUMN, --answer COLUMN",
}
_MOST_COMMANDS = 8
_TYPES = {
    "into int|Literal[auto]": "into a whole number or auto",
    "into int": "into a whole number",
    "into float": "into a number",
}


def usage_error(error: CycloptsError) -> UsageError:
    """An error of cyclopts as one line, with a hint where there is one."""
    if isinstance(error, MissingArgumentError) and error.keyword is not None:
        return UsageError(f"{error.keyword} needs a value", hint=example_of(error.command_chain or ()))
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        unknown = [token for token in error.unused_tokens or () if token.startswith("--")]
        more = f", and {unknown[0]} is not an option of this command" if unknown else ""
        name = error.argument.name
        positional = error.argument.index is not None and not error.argument.parameter.alias
        label = name.lstrip("-").upper() if positional else name
        return UsageError(f"{label} is missing{more}", hint=example_of(error.command_chain or ()))
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return UsageError(f"{error.unused_tokens[0]!r} is one argument too many", hint="--help lists the arguments")
    if isinstance(error, UnknownCommandError):
        return UsageError(_unknown_command(error))
    text = str(error).strip()
    if isinstance(error, UnknownOptionError):
        option = error.token.keyword or error.token.value
        name = option.lstrip("-").replace("-", "_")
        if name in OF_A_CONFIG:
            return UsageError(f"unknown option {option}", hint=f"the option is --{OF_A_CONFIG[name]}")
        if hint := HINTS.get(" ".join((*(error.command_chain or ()), name)), HINTS.get(name)):
            return UsageError(f"unknown option {option}", hint=hint)
        if "Did you mean" not in text:
            return UsageError(f"unknown option {option}", hint="--help lists all options")
    text = text.replace(', "".', ".")
    for technical, better in _TYPES.items():
        text = text.replace(technical, better)
    wants_auto = isinstance(error, CoercionError) and error.token is not None and error.token.value == "auto"
    return UsageError(text, hint="give a number; auto is for a command that starts a run" if wants_auto else "")


def _unknown_command(error: UnknownCommandError) -> str:
    """The same words as cyclopts', which imports every command to find them."""
    assert error.app
    assert error.unused_tokens
    word, flags = error.unused_tokens[0], (*error.app.help_flags, *error.app.version_flags)
    names = [name for name in error.app if name not in flags]
    nearest = get_close_matches(word, names, n=1)
    suggestion = f' Did you mean "{nearest[0]}"?' if nearest else ""
    commands = [name for name in names if not name.startswith("-")]
    end = ", ..." if len(commands) > _MOST_COMMANDS else "."
    return f'Unknown command "{word}".{suggestion} Available commands: {", ".join(commands[:_MOST_COMMANDS])}{end}'


def example_of(command: Sequence[str]) -> str:
    """A hint with an example of the command."""
    found = COMMANDS.get(" ".join(command))
    return f"for example: vqa-client {found.example}" if found else "--help lists all options"
