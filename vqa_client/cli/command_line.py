"""What is wrong with a command line, as this program says it."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import CycloptsError, MissingArgumentError, Parameter, UnknownOptionError, UnusedCliTokensError

from vqa_client.cli.app import COMMANDS, ROBUSTNESS
from vqa_client.errors import UsageError

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
HINTS = {
    "shots": _NO_SHOTS,
    "shots_from": _NO_SHOTS,
    "pages": "`vqa-client run` takes --pages, for benchmarks of documents",
    "map": "a field's column has its own option: --question COLUMN, --image COLUMN, --answer COLUMN",
}
_TYPES = {
    "into int|Literal[auto]": "into a whole number or auto",
    "into int": "into a whole number",
    "into float": "into a number",
}


def usage_error(error: CycloptsError) -> UsageError:
    """One line, and the way out if there is one."""
    if isinstance(error, MissingArgumentError) and error.keyword is not None:
        return UsageError(f"{error.keyword} needs a value", hint=example_of(error.command_chain or ()))
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        unknown = [token for token in error.unused_tokens or () if token.startswith("--")]
        more = f", and {unknown[0]} is not an option of this command" if unknown else ""
        name = error.argument.name
        positional = error.argument.index is not None and not error.argument.parameter.alias
        shown = name.lstrip("-").upper() if positional else name
        return UsageError(f"{shown} is missing{more}", hint=example_of(error.command_chain or ()))
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return UsageError(f"{error.unused_tokens[0]!r} is one argument too many", hint="--help lists the arguments")
    text = str(error).strip()
    if isinstance(error, UnknownOptionError):
        option = error.token.keyword or error.token.value
        name = option.lstrip("-").replace("-", "_")
        if name in OF_A_CONFIG:
            return UsageError(f"unknown option {option}", hint=f"the option is --{OF_A_CONFIG[name]}")
        if name in HINTS:
            return UsageError(f"unknown option {option}", hint=HINTS[name])
        if "Did you mean" not in text:
            return UsageError(f"unknown option {option}", hint="--help lists all options")
    text = text.replace(', "".', ".")
    for said, better in _TYPES.items():
        text = text.replace(said, better)
    return UsageError(text)


def example_of(command: Sequence[str]) -> str:
    """How the command is called."""
    given = {name.replace("_", "-"): words for each in COMMANDS.values() for name, (_, _, words) in each.items()}
    given |= {f"robustness {name}": words for name, (_, words) in ROBUSTNESS.items()}
    words = given.get(" ".join(command))
    return f"for example: vqa-client {words}" if words else "--help lists all options"
