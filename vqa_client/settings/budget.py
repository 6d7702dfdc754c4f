"""How fast a run may ask, and what it may cost."""

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Group, Parameter

from vqa_client.settings.divided import DividedSettings
from vqa_client.settings.validation import ABOVE_0

LIMITS = Group("Limits", sort_key=6)


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetSettings(DividedSettings):
    """What every benchmark command takes to keep to a hosted server's limits and to people's."""

    rpm: Annotated[
        float | None,
        ABOVE_0,
        Parameter(
            group=LIMITS,
            help="At most N requests per minute. Default: as a server's x-ratelimit headers say, else no limit.",
        ),
    ] = None
    tpm: Annotated[
        float | None,
        ABOVE_0,
        Parameter(
            group=LIMITS,
            help="At most N tokens per minute, prompts and replies: estimated before, settled by what the server "
            "counts. Default: as --rpm.",
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        ABOVE_0,
        Parameter(
            group=LIMITS,
            help="Stop asking once this start has spent N dollars, by the config's prices; the same command resumes.",
        ),
    ] = None
    max_minutes: Annotated[
        float | None, ABOVE_0, Parameter(group=LIMITS, help="Stop in order after N minutes; the same command resumes.")
    ] = None
