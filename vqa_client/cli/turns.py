"""`--shard next/N`: a worker that asks one free shard after the other, beside others that do the same anywhere."""

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
"""How often is looked whether another worker has left its shard, finished or not."""
_TAKES_LOCK = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
_WITHOUT_LOCKS = "--shard K/N for each worker and then `vqa-client merge`, or another --output"


class Shared(Protocol):
    """The shards of a run that several workers ask, each of them once."""

    async def check(self) -> None:
        """Raise UsageError where two workers could ask the same shard, IdentityError where shards are another run's."""

    async def asked(self, shard: Shard) -> bool:
        """Ask a shard, from where it was left, unless another worker is at it; whether it is finished."""

    async def gather(self) -> None:
        """Bring the finished shards to where they are merged."""


async def in_turns(settings: Sequence[RunSettings], progress: LiveCounts, stop: asyncio.Event) -> list[Report]:
    """Ask shards until all are finished, wherever, and merge them; a dead worker's is resumed by another one.

    Raises what `arun` does.
    """
    for option in ("fresh", "max_cost", "max_minutes"):
        if getattr(settings[0], option):
            raise UsageError(f"--{option} can't be combined with --shard next/N", hint="--shard K/N takes it")
    shared: Shared = InFolder(settings, progress, stop)
    if settings[0].share:
        from vqa_client.cli.store_turns import InStore  # needs the extra cloud

        shared = InStore(settings, progress, stop)
    await shared.check()
    of = settings[0].turns
    begin = crc32(f"{platform.node()} {os.getpid()}".encode())  # not all workers knock at the same shard first
    left = [Shard((begin + number) % of + 1, of) for number in range(of)]
    waits = False
    while left:
        left = [shard for shard in left if not await shared.asked(shard)]
        if left and not waits:
            progress.note(f"{len(left)} shards are with other workers: waiting for them, or for what they leave")
            waits = True
        if left:
            await _wait(stop)
    await shared.gather()
    while True:
        try:
            merging = [partial(merge_settings, each, partial=False, note=progress.note) for each in settings]
            return [report for merge in merging for report in await in_daemon_thread(merge)]
        except Busy:  # another worker is merging
            await _wait(stop)


class InFolder:
    """Shards in one --output: a shard is the worker's that has locked its log; the system unlocks a dead worker's."""

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
        except IdentityError as error:  # --fresh would take the shards of other workers away
            raise IdentityError(str(error), hint=error.hint.replace(FRESH, "")) from None
        except ModelsFailed as failed:
            if any(not isinstance(error, Busy) for error in failed.errors.values()):
                raise
            return False
        self._known = [RunPaths(report.log, report.log, report.log).whole for report in reports]
        return True

    async def gather(self) -> None:
        """They are there."""


def check_locks(folder: Path) -> None:
    """Raise UsageError where another process gets a lock that is taken: two workers would ask the same shard there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=folder) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            words = [sys.executable, "-I", "-S", "-c", _TAKES_LOCK, file.name]
            is_refused = subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode
    except OSError as error:
        raise UsageError(f"{folder} has no locks: {error.strerror}", hint=_WITHOUT_LOCKS) from None
    if not is_refused:
        raise UsageError(f"the locks of {folder} keep no other process away", hint=_WITHOUT_LOCKS)


async def _wait(stop: asyncio.Event) -> None:
    if await until_stopped(stop, asyncio.sleep(POLL_S, True)) is None:
        raise Interrupted([])
