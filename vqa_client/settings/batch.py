"""Whether a run goes through a server's batch API, and how large its batches are."""

from dataclasses import dataclass, fields
from typing import Annotated, Final, Literal

from cyclopts import Group, Parameter

from vqa_client.errors import UsageError
from vqa_client.settings.budget import BudgetSettings

BATCH = Group("Batch", sort_key=6)
MEGABYTE = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchSettings(BudgetSettings):
    """What every benchmark command takes to ask by batches."""

    batch: Annotated[
        bool,
        Parameter(
            group=BATCH,
            negative="",
            help="Ask by the server's batch API, at its batch price: upload, wait (up to 24 h), read. Ctrl-C stops "
            "waiting, not the batches; the same command collects them (needs the extra openai).",
        ),
    ] = False
    batch_mb: Annotated[float, Parameter(group=BATCH, help="Most megabytes of one batch's file.")] = 90.0
    batch_lines: Annotated[int, Parameter(group=BATCH, help="Most questions of one batch.")] = 50_000
    batch_step: Annotated[
        Literal["all", "write", "read", "status", "cancel"],
        Parameter(group=BATCH, show=False),  # `vqa-client batch STEP` gives it
    ] = "all"

    @property
    def batch_bytes(self) -> int:
        """Most bytes of one batch's file."""
        return int(self.batch_mb * MEGABYTE)


ONLINE: Final = ("max_workers", "breaker_after", "image_uuid", "rpm", "tpm")
"""Options that mean nothing to a batch."""


def check_batch(settings: BatchSettings, others: dict[str, bool]) -> None:
    """Raise UsageError for options that batches can't have, and for `others` of them that are given."""
    usual = {field.name: field.default for field in fields(settings)}
    others = {
        "--processes": settings.processes != "1",
        "--shard next/N": bool(settings.turns),
        "--ray": bool(settings.ray),
        "--max_cost": settings.max_cost is not None,
        **{f"--{name}": getattr(settings, name) != usual[name] for name in ONLINE},
        **others,
    }
    if settings.batch and (given := [name for name, wanted in others.items() if wanted]):
        raise UsageError(f"{given[0]} can't be combined with --batch", hint="--dry_run --batch shows what batches cost")
