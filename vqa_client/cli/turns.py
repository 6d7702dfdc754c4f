"""`--shard next/N`: a worker asks one free shard after the other, while other workers do the same elsewhere."""

import asyncio
import dataclasses
import fcntl
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Protocol
from zlib import crc32

from vqa_client.cli.progress import LiveCounts
from vqa_client.cli.streams import count
from vqa_client.errors import Busy, IdentityError, UsageError
from vqa_client.evaluation import Interrupted, ModelsFailed, arun_several
from vqa_client.reports.report import Report
from vqa_client.runner import until_stopped
from vqa_client.runs.merge import is_finished, merge_settings
from vqa_client.runs.resume import RunPaths
from vqa_client.runs.run_file import FRESH
from vqa_client.runs.stage import in_daemon_thread
from vqa_client.settings.divided import Shard
from vqa_client.settings.run import RunSettings, output_folder

POLL_S = 5.0
"""Seconds between two looks at the shards of other workers."""
_TAKES_LOCK = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
_WITHOUT_LOCKS = "--shard K/N for each worker and then `vqa-client merge`, or another --output"


class Shared(Protocol):
    """The shards of a run, which several workers share."""

    async def check(self) -> None:
        """Raise UsageError if two workers could ask the same shard, IdentityError for shards of another run."""

    async def asked(self, shard: Shard) -> bool:
        """Ask or resume a shard, unless another worker has it; True if it is finished."""

    async def gather(self) -> None:
        """Copy the finished shards to the folder where they are merged."""


async def in_turns(settings: Sequence[RunSettings], progress: LiveCounts, stop: asyncio.Event) -> list[Report]:
    """Ask shards until all are finished, by this or other workers, and merge them. Raises the errors of `arun`.

    Another worker resumes the shard of a dead one.
    """
    for option in ("fresh", "max_cost", "max_minutes"):
        if getattr(settings[0], option):
            raise UsageError(f"--{option} can't be combined with --shard next/N", hint="--shard K/N takes it")
    shards: Shared = InFolder(settings, progress, stop)
    if settings[0].share:
        from vqa_client.cli.store_turns import InStore  # needs the extra cloud

        shards = InStore(settings, progress, stop)
    await shards.check()
    of = settings[0].turns
    begin = crc32(f"{platform.node()} {os.getpid()}".encode())  # workers begin with different shards
    left = [Shard((begin + number) % of + 1, of) for number in range(of)]
    is_waiting = False
    while left:
        left = [shard for shard in left if not await shards.asked(shard)]
        if left and not is_waiting:
            progress.note(f"waiting for {count(len(left), 'shard')} of other workers")
            is_waiting = True
        if left:
            await _wait(stop)
    await shards.gather()
    while True:
        try:
            merging = [partial(merge_settings, each, partial=False, note=progress.note) for each in settings]
            return [report for merge in merging for report in await in_daemon_thread(merge)]
        except Busy:  # another worker is merging
            await _wait(stop)


class InFolder:
    """Shards in one --output: a worker has a shard while it locks its log; the system unlocks it if the worker dies."""

    def __init__(self, settings: Sequence[RunSettings], progress: LiveCounts, stop: asyncio.Event) -> None:
        self._settings, self._progress, self._stop = settings, progress, stop
        self._known: list[RunPaths] = []

    async def check(self) -> None:
        for each in self._settings:
            await in_daemon_thread(partial(check_locks, output_folder(each)))

    async def asked(self, shard: Shard) -> bool:
        if self._known and all(is_finished(paths.shard(*shard)) for paths in self._known):
            return True
        parts = [dataclasses.replace(each, shard=str(shard)) for each in self._settings]
        try:
            reports = await arun_several(parts, progress=self._progress, stop=self._stop)
        except Busy:
            return False
        except IdentityError as error:  # --fresh would move away the shards of other workers
            raise IdentityError(str(error), hint=error.hint.replace(FRESH, "")) from None
        except ModelsFailed as failed:
            if any(not isinstance(error, Busy) for error in failed.errors.values()):
                raise
            return False
        self._known = [RunPaths(report.log, report.log, report.log).whole for report in reports]
        return True

    async def gather(self) -> None:
        """The shards are already there."""


def check_locks(folder: Path) -> None:
    """Raise UsageError for a folder whose locks don't exclude other processes: two workers could ask the same shard."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=folder) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            words = [sys.executable, "-I", "-S", "-c", _TAKES_LOCK, file.name]
            is_refused = subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode
    except OSError as error:
        raise UsageError(f"{folder} has no locks: {error.strerror}", hint=_WITHOUT_LOCKS) from None
    if not is_refused:
        raise UsageError(f"the locks of {folder} don't exclude other processes", hint=_WITHOUT_LOCKS)


async def _wait(stop: asyncio.Event) -> None:
    if await until_stopped(stop, asyncio.sleep(POLL_S, True)) is None:
        raise Interrupted([])
