"""How a run is divided among processes, and which part this process has."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from cyclopts import Group, Parameter

from vqa_client.cpus import usable_cpus
from vqa_client.errors import UsageError
from vqa_client.settings.validation import AtLeast, Switch

DIVIDED = Parameter(group=Group("Several processes or machines", sort_key=6))
AUTO, NEXT = "auto", "next"
MOST_PROCESSES = 1000
"""Each is a Python process, so a larger number is a typing error."""
MOST_PARTS = 100_000
"""Each part has its own files, and a worker looks at all of them."""
_SHARD = re.compile(r"([0-9]{1,9})/([0-9]{1,9})( [(].*[)])?")
"""K/N; run files of earlier versions also say where both come from."""
_COUNTED = {
    "JOB_COMPLETION_INDEX": "",
    "SLURM_PROCID": "SLURM_NTASKS",
    "AWS_BATCH_JOB_ARRAY_INDEX": "AWS_BATCH_JOB_ARRAY_SIZE",
    "RANK": "WORLD_SIZE",
}
"""Variables that number the processes of a job from 0, each with the variable of their count."""


class Shard(NamedTuple):
    """One of `of` parts of a run; `number` counts from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True, kw_only=True, slots=True)
class DividedSettings:
    """Settings of every benchmark command to be one of several processes, or to start them."""

    processes: Annotated[str, DIVIDED] = "1"
    """Ask in N processes of this machine, each with a part of the questions and of --max_workers; auto: one per
    processor."""
    shard: Annotated[str, DIVIDED] = ""
    """K/N: ask only the Kth of N parts, for `vqa-client merge`; auto: both from a SLURM array; auto/N: K from an
    indexed Kubernetes job; next/N: take one free part after the other, together with other processes that have this
    --output, then merge."""
    share: Annotated[str, DIVIDED] = ""
    """Where workers of --shard next/N without a common folder keep leases and records: s3://bucket/prefix, gs:// or
    az:// (needs the extra cloud). Each ends with the merged report in its --output."""
    ray: Annotated[str, DIVIDED] = ""
    """Ask in --shards parts on a Ray cluster: auto: the one that this machine is part of; local: one started here; or
    HOST:PORT."""
    shards: Annotated[int | None, AtLeast(1, most=MOST_PARTS), DIVIDED] = None
    """Number of parts for --ray; about eight per processor of the cluster are good."""
    ray_cpus: Annotated[int, AtLeast(1), DIVIDED] = 1
    """CPUs that each worker of --ray reserves and uses, for corruptions and page rendering."""
    ok_with_failures: Annotated[Switch, DIVIDED] = False
    """Exit with 0 even if questions failed: schedulers treat 1 as a crash."""

    @property
    def part(self) -> Shard | None:
        """The part that is asked; None for all."""
        match = _SHARD.fullmatch(self.shard)
        return Shard(int(match[1]), int(match[2])) if match else None

    @property
    def turns(self) -> int:
        """The number of parts with --shard next/N, which asks one free part after the other; else 0."""
        word, _, of = self.shard.partition("/")
        return int(of) if word == NEXT else 0

    @property
    def process_count(self) -> int:
        return usable_cpus() if self.processes == AUTO else int(self.processes)


def check_divided(settings: DividedSettings) -> None:
    """Replace an `auto` shard by its numbers; raises UsageError for values that can't be."""
    number = int(settings.processes) if settings.processes.isdecimal() and len(settings.processes) < 10 else 0
    if settings.processes != AUTO and not 1 <= number <= MOST_PROCESSES:
        raise UsageError(f"--processes is {settings.processes!r}; it must be from 1 to {MOST_PROCESSES}, or auto")
    if settings.ray or settings.shards is not None or settings.ray_cpus != 1:
        _check_ray(settings)
    if settings.share and not settings.turns:
        raise UsageError("--share needs --shard next/N", hint="--shard next/64")
    if settings.share and not re.match(r"(s3|gs|az)://.", settings.share):
        raise UsageError(
            f"--share {settings.share!r} is not an object store", hint="s3://bucket/prefix; a folder is an --output"
        )
    if not settings.shard:
        return
    if settings.processes != "1":
        raise UsageError("--processes and --shard can't be combined", hint="--max_workers is for each shard")
    word, _, of = settings.shard.partition("/")
    if word == NEXT:
        if not (of.isdecimal() and len(of) < 10 and 1 <= int(of) <= MOST_PARTS):
            raise UsageError(
                f"--shard is {settings.shard!r}", hint=f"next/N, such as next/64; N is at most {MOST_PARTS:,}"
            )
        return
    object.__setattr__(settings, "shard", read_shard(settings.shard, os.environ))


def _check_ray(settings: DividedSettings) -> None:
    if not settings.ray:
        option = "--ray_cpus" if settings.shards is None else "--shards"
        raise UsageError(f"{option} needs --ray", hint="--shard next/N divides among workers with one --output")
    if settings.processes != "1" or settings.shard:
        other = "--shard" if settings.shard else "--processes"
        raise UsageError(f"--ray and {other} can't be combined", hint="Ray starts a worker for each processor")
    if settings.shards is None:
        raise UsageError("--ray needs --shards", hint="--shards 64; about eight per processor of the cluster")
    if settings.ray.startswith("ray://"):
        raise UsageError(
            f"--ray {settings.ray} is a client's address", hint="run the command on a node of the cluster: --ray auto"
        )


def read_shard(text: str, environment: Mapping[str, str]) -> str:
    """K/N of the part that K/N, auto or auto/N names, and the scheduler's variables if they name it.

    Raises UsageError.
    """
    word, _, of = text.partition("/")
    if word == AUTO:
        shard, origin = _from_scheduler(int(of) if of.isdecimal() else 0, environment)
    elif match := _SHARD.fullmatch(text):
        shard, origin = Shard(int(match[1]), int(match[2])), ""
    else:
        raise UsageError(
            f"--shard is {text!r}", hint="K/N such as 3/64, of nine digits at most; auto, auto/N or next/N"
        )
    if word == AUTO and not shard.of:
        raise UsageError(f"--shard auto: nothing says of how many{origin}", hint="auto/N")
    if not 1 <= shard.number <= shard.of:
        raise UsageError(f"--shard {text} is part {shard.number} of {shard.of}{origin}", hint="K goes from 1 to N")
    return str(shard)


def _from_scheduler(of: int, environment: Mapping[str, str]) -> tuple[Shard, str]:
    """The part that a scheduler's variables name, and these variables; `of` is 0 if it isn't given."""
    if "SLURM_ARRAY_TASK_ID" in environment:
        number = _number_in("SLURM_ARRAY_TASK_ID", environment)
        if of:
            return Shard(number, of), " (SLURM_ARRAY_TASK_ID; with auto/N an array begins at 1)"
        least, most, step, count = (
            _number_in(f"SLURM_ARRAY_TASK_{name}", environment, default)
            for name, default in (("MIN", 1), ("MAX", 0), ("STEP", 1), ("COUNT", 0))
        )
        of = (most - least) // (step or 1) + 1 if most else count
        if count and of != count:
            raise UsageError(
                f"--shard auto: the array from {least} to {most} has {count} task{'s' * (count != 1)}",
                hint="auto/N, with all N parts",
            )
        return Shard((number - least) // (step or 1) + 1, of), f" (SLURM_ARRAY_TASK_ID {number})"
    for name, counter in _COUNTED.items():
        if name in environment:
            number = _number_in(name, environment)
            of = of or (_number_in(counter, environment) if counter in environment else 0)
            return Shard(number + 1, of), f" ({name} {number})"
    raise UsageError(
        "--shard auto: no variable of a scheduler is set", hint=f"SLURM_ARRAY_TASK_ID, {', '.join(_COUNTED)}; or K/N"
    )


def _number_in(name: str, environment: Mapping[str, str], default: int | None = None) -> int:
    text = environment.get(name, "" if default is None else str(default))
    if not text.isdecimal():
        raise UsageError(f"--shard auto: {name} is {text!r}, not a number", hint="--shard K/N")
    return int(text)
