"""The app: how options are spelled, converted and shown in help; and command line errors in plain words."""

from collections.abc import Sequence
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from cyclopts import (
    App,
    Argument,
    CoercionError,
    CycloptsError,
    Group,
    MissingArgumentError,
    Parameter,
    RepeatArgumentError,
    Token,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    convert,
)

from vqa_client.cli.commands import COMMANDS, GROUPS, RESULTS
from vqa_client.errors import UsageError, did_you_mean
from vqa_client.version import __version__

OWN_HELP = ("run", "selftest", "score", "robustness run")
"""Commands that show a benchmark's own options."""


def _default_text(default: Any) -> str | None:
    """A default as help shows it; None for a switch and for an empty value."""
    if isinstance(default, bool) or default in (None, "", ()):
        return None
    return ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)


def _convert_option(kind: Any, tokens: Sequence[Token]) -> Any:
    """Convert the words of an option; without this check, cyclopts would read 2.5 as the whole number 2."""
    kinds = get_args(kind) or (kind,)
    for token in tokens if int in kinds and float not in kinds and str not in kinds else ():
        if "." in token.value:
            raise CoercionError(token=token, target_type=int if kinds[1:] in ((), (NoneType,)) else kind)
    return convert(kind, tokens)


CALL: dict[str, Any] = {
    "result_action": "return_value",
    "print_error": False,
    "exit_on_error": False,
    "error_console": object(),
}
"""How an App is called: it raises errors and doesn't print them, so that rich is not imported for a console."""

SPELLED = Parameter(name_transform=lambda name: name, show_default=_default_text, converter=_convert_option)
"""Options are spelled like the settings; hyphens are accepted too."""


def example(words: str) -> str:
    """The last line of a command's help."""
    return f"Example: vqa-client {words}"


_GROUPS = {name: Group(name, sort_key=number) for number, name in enumerate(GROUPS)}
app = App(
    name="vqa-client",
    version=__version__,
    help_format="plaintext",
    help="Ask vision-language models questions about images, and measure how good the answers are, with honest error "
    "bars.",
    default_parameter=SPELLED,
    suppress_keyboard_interrupt=False,  # it would end without a message
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
app.command("vqa_client.cli.completion:install", name="--install-completion", help="Install completion for this shell.")


HELP_FLAGS = frozenset({"--help", "-h"})


def print_help(arguments: Sequence[str]) -> bool:
    """Print the page that a help flag asks for; False if there is none, or if the command itself prints its help.

    cyclopts would read the options of the command first.
    """
    words = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if HELP_FLAGS.isdisjoint(words):
        return False
    words = [word for word in words if word not in HELP_FLAGS.union(app.version_flags)]
    chain, apps, more = app.parse_commands(words)
    is_unknown = apps[-1].default_command is None and more and not more[0].startswith("-")
    if is_unknown or not apps[-1].help_flags:
        return False
    from vqa_client.cli.help_pages import print_page

    print_page(app, chain, COMMANDS[" ".join(chain)].hidden if " ".join(chain) in COMMANDS else ())
    return True


OptionWords = Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]
"""Options that the command itself reads."""
_NO_SHOTS = "mc, niah, vqa2 and explain ask as published, without worked examples; `run` and `ask` take --shots"
HINTS = {  # by an option, a config's key or another program's option, with or without its command before it
    "prompt_template": "the option is --prompt",
    "system_prompt": "the option is --system",
    "max_completion_tokens": "the option is --max_tokens",
    "corruption": "the option is --corruptions",
    "images_dir": "the option is --images",
    "output_dir": "the option is --output",
    "shots": _NO_SHOTS,
    "shots_from": _NO_SHOTS,
    **dict.fromkeys(
        ("corruptions", "levels"), "`vqa-client robustness run --task NAME` takes --corruptions and --levels"
    ),
    "pages": "benchmarks of long documents, such as `run mp-docvqa`, take --pages",
    **dict.fromkeys(
        ("circular", "shuffle_choices", "choice_mode"), "`ask`, `mc` and benchmarks with choices, such as mmmu, take it"
    ),
    "judge model": "--judge names the model that judges",
    "map": "a field's column has its own option: --question COLUMN, --image COLUMN, --answer COLUMN",
}
_MOST_COMMANDS = 8
_SIMILAR = 0.75
"""difflib's least ratio for a guess: --htlm and --html have 0.83, --split and --limit 0.71."""
_KINDS = {int: "a whole number", float: "a number", bool: "true or false"}


def usage_error(error: CycloptsError) -> UsageError:
    """An error of cyclopts in one line, with a hint where one is known."""
    match error:
        case MissingArgumentError(keyword=str(option), command_chain=command):
            return UsageError(f"{option} needs a value", hint=example_of(command or ()))
        case MissingArgumentError(argument=Argument() as argument, command_chain=command):
            unknown = [token for token in error.unused_tokens or () if token.startswith("--")]
            more = f", and {unknown[0]} is not an option of this command" if unknown else ""
            return UsageError(f"{_argument_name(argument)} is missing{more}", hint=example_of(command or ()))
        case UnusedCliTokensError(unused_tokens=[word, *_]):
            return UsageError(f"{word!r} is one argument too many", hint="--help lists the arguments")
        case UnknownCommandError():
            return _unknown_command(error)
        case UnknownOptionError():
            return _unknown_option(error)
        case CoercionError(token=Token() as token, argument=argument, target_type=kind) if error.msg is None:
            option = token.keyword or (_argument_name(argument) if argument else "an argument")
            near = did_you_mean(token.value, get_args(kind) if get_origin(kind) is Literal else (), cutoff=_SIMILAR)
            return UsageError(f"{option} is {token.value!r}; it must be {_type_words(kind)}", hint=near)
        case RepeatArgumentError(token=token):
            return UsageError(f"{token.keyword} is given twice")
        case _:
            return UsageError(str(error).strip())


def _argument_name(argument: Argument) -> str:
    """The name of an option, or of an argument before the options, as help shows it."""
    is_positional = argument.index is not None and not argument.parameter.alias
    return argument.name.lstrip("-").upper() if is_positional else argument.name


def _type_words(kind: Any) -> str:
    """What a value must be, from its type."""
    if get_origin(kind) is Literal:
        words = [str(word) for word in get_args(kind) if word != ""]
        return words[0] if len(words) == 1 else f"one of {', '.join(words)}"
    kinds = [member for member in get_args(kind) or (kind,) if member is not NoneType]
    return _KINDS.get(kind) or " or ".join(_KINDS.get(member) or _type_words(member) for member in kinds)


def _unknown_option(error: UnknownOptionError) -> UsageError:
    option = error.token.keyword or error.token.value
    name = option.lstrip("-").replace("-", "_")
    hint = HINTS.get(" ".join((*(error.command_chain or ()), name))) or HINTS.get(name)
    known = (spelling for argument in error.argument_collection if argument.parse for spelling in argument.names)
    return UsageError(
        f"unknown option {option}",
        hint=hint or did_you_mean(option, known, cutoff=_SIMILAR) or "--help lists all options",
    )


def _unknown_command(error: UnknownCommandError) -> UsageError:
    """Word the error here: for its own message, cyclopts would import every command."""
    assert error.app
    assert error.unused_tokens
    word, flags = error.unused_tokens[0], (*error.app.help_flags, *error.app.version_flags)
    names = [name for name in error.app if name not in flags]
    commands = [name for name in names if not name.startswith("-")]
    shown = f"{', '.join(commands[:_MOST_COMMANDS])}{', ...' if len(commands) > _MOST_COMMANDS else ''}"
    return UsageError(
        f"unknown command {word!r}", hint=did_you_mean(word, error.app, cutoff=_SIMILAR) or f"the commands are {shown}"
    )


def example_of(command: Sequence[str]) -> str:
    """A hint with an example of the command."""
    known = COMMANDS.get(" ".join(command))
    return f"for example: vqa-client {known.example}" if known else "--help lists all options"
