"""Limits on a run's pace and cost, and the settings of batches."""

import re
import shlex
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final, Literal

from cyclopts import Group, Parameter

from vqa_client.errors import UsageError
from vqa_client.settings.divided import DividedSettings
from vqa_client.settings.validation import ABOVE_0, AtLeast, Switch

LIMITS = Parameter(group=Group("Limits", sort_key=6))
BATCH = Parameter(group=Group("Batch", sort_key=6))
MEGABYTE = 1_000_000
UPLOAD_MB, COMMAND_MB = 90.0, 2000.0
"""Megabytes per file: proxies refuse larger uploads, and a command loads its model for each file."""
_KEY_IN_COMMAND = re.compile(
    r"""((?:-[\w-]*(?:keys?|token|secrets?|passw(?:or)?d)\s+(?!-)|(?:keys?|token|secrets?|passw(?:or)?d)["']?\s*[=:]\s*"""
    r"""|\bbearer\s+))(?:\\*"[^"]*"|\\*'[^']*'|[^\s"']+)""",
    re.IGNORECASE,
)
"""A key and what comes before it, as in `--api-key sk-1`, `HF_TOKEN=hf_1` or `"api_key": "sk-1"`."""


def without_keys(command: str) -> str:
    """A command line with "..." for its keys, tokens, secrets and passwords."""
    return _KEY_IN_COMMAND.sub(r"\1...", command)


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchSettings(DividedSettings):
    """Limits on pace, cost and time, and settings of batches, for every benchmark command."""

    rpm: Annotated[float | None, ABOVE_0, LIMITS] = None
    """At most N requests per minute. Default: as a server's x-ratelimit headers say, else no limit."""
    tpm: Annotated[float | None, ABOVE_0, LIMITS] = None
    """At most N tokens per minute, prompts and replies: estimated before, settled by what the server counts. Default:
    as --rpm."""
    max_cost: Annotated[float | None, ABOVE_0, LIMITS] = None
    """Stop asking once this start has spent N dollars, by the config's prices; the same command resumes."""
    max_minutes: Annotated[float | None, ABOVE_0, LIMITS] = None
    """Stop in order after N minutes; the same command resumes."""
    batch: Annotated[Switch, BATCH] = False
    """Use the server's batch API, at its batch price: upload, wait (up to 24 h), read. Ctrl-C stops the waiting, not
    the batches; run the same command again to collect them (needs the extra openai)."""
    batch_command: Annotated[str, BATCH] = ""
    """Ask no server: write files of requests, run this command on each and read its results, e.g. 'vllm run-batch -i
    {input} -o {output} --model some-vlm'."""
    batch_mb: Annotated[float | None, AtLeast(0.001), BATCH] = None
    """Maximum size of one file in megabytes. Default: 90; 2000 for --batch_command."""
    batch_lines: Annotated[int, AtLeast(1), BATCH] = 50_000
    """Maximum number of questions in one batch."""
    batch_window: Annotated[str, BATCH] = "24h"
    """Time the server may take for a batch, such as 24h or 7d, where it offers more."""
    batch_parallel: Annotated[int, AtLeast(1), BATCH] = 8
    """Maximum number of batches open at once."""
    batch_rounds: Annotated[int, AtLeast(1), BATCH] = 3
    """How often to send a question whose batch expired or failed."""
    poll: Annotated[float, ABOVE_0, BATCH] = 30.0
    """Seconds between status requests, growing to 300 while no batch ends."""
    no_wait: Annotated[Switch, BATCH] = False
    """Read the batches that have ended, submit what is possible, and exit; the same command resumes."""
    batch_step: Annotated[
        Literal["all", "write", "read", "status", "cancel"],
        BATCH,
        Parameter(show=False),  # `vqa-client batch STEP` gives it
    ] = "all"

    @property
    def by_batches(self) -> bool:
        """Whether questions are asked in files of requests."""
        return self.batch or bool(self.batch_command)

    @property
    def serverless(self) -> str:
        """What answers instead of a server; empty if a server does."""
        return "batch read" if self.batch_step == "read" else "--batch_command" if self.batch_command else ""

    @property
    def batch_bytes(self) -> int:
        """Maximum bytes of one batch's file."""
        most_mb = self.batch_mb or (COMMAND_MB if self.batch_command else UPLOAD_MB)
        return int(most_mb * MEGABYTE)

    @property
    def batch_hours(self) -> int:
        """Hours that a batch may take; raises UsageError."""
        match = re.fullmatch(r"([1-9][0-9]{0,3})([hd])", self.batch_window)
        if match is None:
            raise UsageError(
                f"--batch_window is {self.batch_window!r}; it must be from 1 to 9999 hours or days",
                hint="such as 24h or 7d",
            )
        return int(match[1]) * (24 if match[2] == "d" else 1)


_ONE_COMMAND, _PACE = "leave it out: one command sends all batches", "leave it out: the batch service sets the pace"
_CLASHES: Final = {
    "processes": _ONE_COMMAND,
    "turns": _ONE_COMMAND,
    "ray": _ONE_COMMAND,
    "max_cost": "--dry_run shows the files, and what they cost",
    "max_workers": "leave it out: --batch_parallel says how many batches are open at once",
    "breaker_after": "leave it out: --batch_rounds says how often a question is sent",
    "image_uuid": "leave it out: a batch contains every image",
    "rpm": _PACE,
    "tpm": _PACE,
    "endpoint": "name the one that gets the batches",
    "stream": "leave it out: results come whole",
}
"""Settings that batches can't have, and what to do instead."""
_WORDED: Final = {"turns": "--shard next/N", "endpoint": "several of --endpoint"}


def check_batch(settings: BatchSettings) -> None:
    """Raise UsageError for options of batches that can't be, and for others that batches can't have."""
    if settings.no_wait and not settings.batch:
        raise UsageError("--no_wait needs batches", hint="add --batch")
    if settings.batch_command:
        _check_command(settings)
    if settings.batch_hours and settings.by_batches:
        unset: dict[str, Any] = {field.name: field.default for field in fields(settings)} | {"turns": 0}
        for name, way_out in _CLASHES.items():
            value = getattr(settings, name)
            if value != unset[name] and not (name == "endpoint" and len(value) < 2):
                option = "--batch" if settings.batch else "--batch_command"
                raise UsageError(f"{_WORDED.get(name, f'--{name}')} can't be combined with {option}", hint=way_out)


def _check_command(settings: BatchSettings) -> None:
    if settings.batch:
        raise UsageError(
            "--batch and --batch_command can't be combined", hint="--batch asks a server, --batch_command a program"
        )
    try:
        words = shlex.split(settings.batch_command)
    except ValueError as error:
        command = without_keys(settings.batch_command)
        raise UsageError(f"--batch_command is {command!r}: {error}", hint="quote it as for sh") from None
    if lacking := [name for name in ("{input}", "{output}") if not any(name in word for word in words)]:
        raise UsageError(
            f"--batch_command has no {' and no '.join(lacking)}",
            hint="'vllm run-batch -i {input} -o {output} --model some-vlm'",
        )
