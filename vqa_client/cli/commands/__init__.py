"""The commands, each importing what it runs when it is called."""

from typing import Any

from cyclopts import Parameter

HELP_FLAGS = frozenset({"--help", "-h"})


def _shown(default: Any) -> str | None:
    """A default as help shows it; a switch that is off and an empty value say nothing."""
    if isinstance(default, bool) or default in (None, "", ()):
        return None
    return ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)


SPELLED = Parameter(name_transform=lambda name: name, show_default=_shown)
"""Options are spelled as the settings are; hyphens are taken too."""
