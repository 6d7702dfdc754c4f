"""How options are spelled, and what is wrong with a command line, as this program says it."""

from typing import Annotated, Any

from cyclopts import CycloptsError, MissingArgumentError, Parameter, UnknownOptionError

from vqa_client.errors import UsageError

OF_A_CONFIG = {"prompt_template": "prompt", "system_prompt": "system", "max_completion_tokens": "max_tokens"}
"""Keys of a config, or of other programs, by the option that means the same."""
HELP_FLAGS = frozenset({"--help", "-h"})
Options = Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]
"""Options that the command reads by itself."""
_NO_SHOTS = "mc, niah, vqa2 and explain ask as published, without worked examples; `run` and `ask` take --shots"


def _shown(default: Any) -> str | None:
    """A default as help shows it; a switch that is off and an empty value say nothing."""
    if isinstance(default, bool) or default in (None, "", ()):
        return None
    return ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)


SPELLED = Parameter(name_transform=lambda name: name, show_default=_shown)
"""Options are spelled as the settings are; hyphens are taken too."""


def usage_error(error: CycloptsError) -> UsageError:
    """One line, and the way out where there is one to tell."""
    if isinstance(error, MissingArgumentError) and error.keyword is None and error.argument is not None:
        unknown = [token for token in error.unused_tokens or () if token.startswith("--")]
        more = f", and {unknown[0]} is not an option of this command" if unknown else ""
        return UsageError(f"{error.argument.name} is missing{more}", hint="--help lists all options")
    text = str(error).strip()
    if isinstance(error, UnknownOptionError):
        option = error.token.keyword or error.token.value
        name = option.lstrip("-").replace("-", "_")
        if name in OF_A_CONFIG:
            return UsageError(f"unknown option {option}", hint=f"the option is --{OF_A_CONFIG[name]}")
        if name in ("shots", "shots_from"):
            return UsageError(f"unknown option {option}", hint=_NO_SHOTS)
    return UsageError(text.replace("into int|Literal[auto]", "into a whole number or auto"))
