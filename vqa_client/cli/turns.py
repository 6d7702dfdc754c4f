"""`--shard next/N`: a worker that asks one free shard after the other, beside others that do the same anywhere."""

import asyncio
import dataclasses
import os
import platform
from collections.abc import Sequence
from functools import partial
from zlib import crc32

from vqa_client.cli.tally import Tally
from vqa_client.errors import Busy, UsageError
from vqa_client.evaluation import Interrupted, ModelsFailed, arun_several
from vqa_client.reports.report import Report
from vqa_client.runs.merge import is_finished, merge_settings
from vqa_client.runs.resume import RunPaths
from vqa_client.runs.waiting import in_daemon_thread, unless
from vqa_client.settings.corrupted import RobustnessRun
from vqa_client.settings.divided import Shard
from vqa_client.settings.run import RunSettings

POLL_S = 5.0
"""How often is looked whether another worker has left its shard, finished or not."""
Given = tuple[Sequence[RunSettings], RobustnessRun | None, Tally, asyncio.Event]


async def in_turns(
    settings: Sequence[RunSettings], corrupted: RobustnessRun | None, progress: Tally, stop: asyncio.Event
) -> list[Report]:
    """Ask shards until all are finished, wherever, and merge them.

    A shard is the worker's that has its log locked: the system gives the lock of a dead worker back, and the next one
    resumes what it left. Raises what `arun` does.
    """
    for option in ("fresh", "max_cost", "max_minutes"):
        if getattr(settings[0], option):
            raise UsageError(f"--{option} can't be combined with --shard next/N", hint="--shard K/N takes it")
    given, of = (settings, corrupted, progress, stop), settings[0].turns
    begin = crc32(f"{platform.node()} {os.getpid()}".encode())  # not all workers knock at the same shard first
    left = [Shard((begin + number) % of + 1, of) for number in range(of)]
    known: list[RunPaths] = []
    waits = False
    while left:
        left = [shard for shard in left if not await _asked(shard, given, known)]
        if left and not waits:
            progress.note(f"{len(left)} shards are with other workers: waiting for them, or for what they leave")
            waits = True
        if left:
            await _wait(stop)
    while True:
        try:
            merging = [partial(merge_settings, each, corrupted, partial=False, note=progress.note) for each in settings]
            return [report for merge in merging for report in await in_daemon_thread(merge)]
        except Busy:  # another worker is merging
            await _wait(stop)


async def _asked(shard: Shard, given: Given, known: list[RunPaths]) -> bool:
    """Whether a shard is finished, by whom ever, now or before; `known` are the runs, from the first one on."""
    settings, corrupted, progress, stop = given
    if known and all(is_finished(paths.shard(*shard)) for paths in known):
        return True
    parts = [dataclasses.replace(each, shard=str(shard)) for each in settings]
    try:
        reports = await arun_several(parts, corrupted=corrupted, progress=progress, stop=stop)
    except Busy:
        return False
    except ModelsFailed as failed:
        if any(not isinstance(error, Busy) for error in failed.errors.values()):
            raise
        return False
    known[:] = [RunPaths(report.log, report.log, report.log).whole for report in reports]
    return True


async def _wait(stop: asyncio.Event) -> None:
    if await unless(stop, asyncio.sleep(POLL_S, True)) is None:
        raise Interrupted([])
