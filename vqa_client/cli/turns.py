"""`--shard next/N`: a worker asks one free shard after the other, while other workers do the same elsewhere.

With `--share ADDRESS` the workers have no common folder: an object store has their leases and records.
"""

import asyncio
import dataclasses
import fcntl
import os
import platform
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Self, TypeVar
from zlib import crc32

from vqa_client.cli.progress import LiveCounts
from vqa_client.client.session import model_of, named_model, open_session
from vqa_client.errors import (
    UNDECODABLE,
    Busy,
    DataError,
    IdentityError,
    OutputError,
    ServerUnusable,
    UsageError,
    VqaClientError,
)
from vqa_client.evaluation import Interrupted, ModelsFailed, arun_several
from vqa_client.files import private_folder, replacing
from vqa_client.records import is_settled
from vqa_client.reports.log_reader import LOG_ENDING, LogReader
from vqa_client.reports.names import count
from vqa_client.reports.report import Report
from vqa_client.runner import until_stopped
from vqa_client.runs.leases import EXPIRED_S, Lease, Leases
from vqa_client.runs.merge import check_same_run, merge_settings
from vqa_client.runs.resume import RunPaths
from vqa_client.runs.run_file import FRESH, RunFile
from vqa_client.runs.shards import PREFIX, Growing, with_output, write_file
from vqa_client.runs.stage import CtlOrders, in_daemon_thread
from vqa_client.settings.divided import Shard
from vqa_client.settings.run import RunSettings, output_folder
from vqa_client.tables.objects import WAY_OUT

POLL_S = 5.0
"""Seconds between two looks at the shards of other workers."""
_TAKES_LOCK = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
_WITHOUT_LOCKS = "--shard K/N for each worker and then `vqa-client merge`, or another --output"
KEPT_S, RENEWED_S = 5.0, 20.0
"""Seconds between two uploads of new records, and between two renewals of the lease."""
RUN_ENDING = ".run.json"
_ANOTHER = "give another --share"
Result = TypeVar("Result")


async def in_turns(settings: Sequence[RunSettings], progress: LiveCounts, stop: asyncio.Event) -> list[Report]:
    """Ask shards until all are finished, by this or other workers, and merge them. Raises the errors of `arun`.

    Another worker resumes the shard of a dead one.
    """
    for option in ("fresh", "max_cost", "max_minutes"):
        if getattr(settings[0], option):
            raise UsageError(f"--{option} can't be combined with --shard next/N", hint="--shard K/N takes it")
    shards = (InStore if settings[0].share else InFolder)(settings, progress, stop)
    await shards.check()
    of = settings[0].turns
    begin = crc32(f"{platform.node()} {os.getpid()}".encode())  # workers begin with different shards
    left = [Shard((begin + number) % of + 1, of) for number in range(of)]
    is_waiting = False
    while left:
        left = [shard for shard in left if not await shards.ask_shard(shard)]
        if left and not is_waiting:
            progress.note(f"waiting for {count(len(left), 'shard')} of other workers")
            is_waiting = True
        if left:
            await _wait(stop)
    await shards.gather()
    while True:
        try:
            merging = [partial(merge_settings, run, partial=False, note=progress.note) for run in settings]
            return [report for merge in merging for report in await in_daemon_thread(merge)]
        except Busy:  # another worker is merging
            await _wait(stop)


async def _wait(stop: asyncio.Event) -> None:
    if await until_stopped(stop, asyncio.sleep(POLL_S, True)) is None:
        raise Interrupted


class InFolder:
    """Shards in one --output: a worker has a shard while it locks its log; the system unlocks it if the worker dies."""

    def __init__(self, settings: Sequence[RunSettings], progress: LiveCounts, stop: asyncio.Event) -> None:
        self._settings, self._progress, self._stop = settings, progress, stop
        self._ctl = CtlOrders()
        self._known: list[tuple[RunPaths, RunFile]] = []
        self._began_s = 0.0

    async def check(self) -> None:
        """Raise UsageError if two workers could ask the same shard, IdentityError for shards of another run."""
        for run in self._settings:
            self._began_s = await in_daemon_thread(partial(check_locks, output_folder(run)))

    async def ask_shard(self, shard: Shard) -> bool:
        """Ask or resume a shard, unless another worker has it; True if it is finished."""
        if self._known and all(self._is_finished(run.shard(*shard), like) for run, like in self._known):
            return True
        parts = [dataclasses.replace(run, shard=str(shard)) for run in self._settings]
        try:
            reports = await arun_several(parts, progress=self._progress, stop=self._stop, ctl=self._ctl)
        except Busy:
            return False
        except IdentityError as error:  # --fresh would move away the shards of other workers
            raise IdentityError(str(error), hint=error.hint.replace(FRESH, "")) from None
        except ModelsFailed as failed:
            if any(not isinstance(error, Busy) for error in failed.errors.values()):
                raise
            return False
        runs = [RunPaths.of_log(report.log) for report in reports]
        self._known = [(paths.whole, file) for paths in runs if (file := RunFile.read(paths.run))]
        return True

    def _is_finished(self, paths: RunPaths, like: RunFile) -> bool:
        """Whether a shard of the same run as `like` has all its records.

        A shard of an earlier start may be of another --limit, or have failed questions that are asked again.
        """
        file = RunFile.read(paths.run)
        if file is None or not paths.log.exists() or len(log := LogReader(paths.log)) < file.described["expected"]:
            return False
        again = self._settings[0].asked_again
        return paths.run.stat().st_mtime >= self._began_s or (
            _chosen(file) == _chosen(like) and all(is_settled(record, again) for record in log)
        )

    async def gather(self) -> None:
        """Copy the finished shards to the folder where they are merged, if they are elsewhere."""


def _chosen(file: RunFile) -> tuple[object, object]:
    """What decides which questions are in a shard."""
    return file.described["data_sha256"], file.described["settings"] | {"shard": ""}


def check_locks(folder: Path) -> float:
    """The time by the clock of the folder's file system, in seconds since the epoch.

    Raises UsageError if its locks don't exclude other processes: two workers could ask the same shard.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=folder) as file:
            now_s = os.stat(file.name).st_mtime
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            words = [sys.executable, "-I", "-S", "-c", _TAKES_LOCK, file.name]
            is_refused = subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode
    except OSError as error:
        raise UsageError(f"{folder} has no locks: {error.strerror}", hint=_WITHOUT_LOCKS) from None
    if not is_refused:
        raise UsageError(f"the locks of {folder} don't exclude other processes", hint=_WITHOUT_LOCKS)
    return now_s


class InStore(InFolder):
    """Shards in a store: a worker asks each under a lease, in a private folder; `gather` copies all to --output."""

    def __init__(self, settings: Sequence[RunSettings], progress: LiveCounts, stop: asyncio.Event) -> None:
        super().__init__(settings, progress, stop)
        self._of = settings[0].turns
        self._leases = Leases(settings[0].share, self._of)
        self._tags: dict[int, str] = {}

    async def check(self) -> None:
        await in_daemon_thread(self._leases.check)
        await self._check_same_run(asks_server=True)
        for number in range(1, self._of + 1):
            self._tags[number] = await _call_store(partial(self._leases.finished, Shard(number, self._of)))

    async def _check_same_run(self, *, asks_server: bool = False) -> None:
        """Raise IdentityError if the store has shards of another run.

        With `asks_server`, a model that only the server names is asked for there; finished shards need no server.
        """
        shard = await _call_store(self._leases.begun)
        if shard is None:
            return
        done = bool(await _call_store(partial(self._leases.finished, shard)))
        kept: dict[int, dict[str, RunFile]] = {number: {} for number in range(len(self._settings))}
        for name, content in (await _call_store(partial(self._leases.files, shard, RUN_ENDING))).items():
            root, _, path = name.partition("/")
            try:
                kept.setdefault(int(root), {})[path] = RunFile.parsed(content)
            except UNDECODABLE as error:
                raise DataError(f"{path} of shard {shard} is not a run file: {error}", hint=_ANOTHER) from None
        if len(kept) > len(self._settings):
            raise IdentityError("the shards there are of a command with more benchmarks", hint=_ANOTHER)
        for number, settings in enumerate(self._settings):
            served = await _served_model(settings) if asks_server else ""
            same = partial(check_same_run, settings, shard, kept[number], done=done, served=served)
            await in_daemon_thread(same)

    async def ask_shard(self, shard: Shard) -> bool:
        """As of InFolder; a worker that loses its lease stops, and drops records that are not yet in the store."""
        leases = self._leases
        tag = await _call_store(partial(leases.finished, shard))
        is_new = tag != self._tags[shard.number]
        if tag and (is_new or await _call_store(partial(self._is_settled, shard))):
            return True
        lease = await _call_store(partial(leases.take, shard))
        if lease is None:
            return False
        async with _LeasedShard(leases, lease, self._stop) as hold:
            kept = await _call_store(partial(leases.files, shard))
            with private_folder(PREFIX) as folder, Growing(folder, shard, kept) as files:
                parts = [
                    with_output(dataclasses.replace(run, shard=str(shard), share=""), folder / str(number))
                    for number, run in enumerate(self._settings)
                ]
                self._ctl.folder = output_folder(self._settings[0])
                self._ctl.folder.mkdir(parents=True, exist_ok=True)
                asking = arun_several(parts, progress=self._progress, stop=hold.stop, ctl=self._ctl)
                try:
                    await hold.during(asking, files)
                except VqaClientError:
                    if not hold.lost:
                        raise
                    self._progress.note(f"shard {shard}: {hold.lost}")
                    return False
                await _call_store(partial(leases.finish, lease, files.whole()))
        return True

    def _is_settled(self, shard: Shard) -> bool:
        """Whether no question of a shard that an earlier command finished is asked again."""
        again = self._settings[0].asked_again
        with private_folder(PREFIX) as folder:
            for name, content in self._leases.files(shard, LOG_ENDING).items():
                write_file(folder / name, content)
            logs = map(LogReader, folder.rglob(f"*{LOG_ENDING}"))
            return all(is_settled(record, again) for log in logs for record in log)

    async def gather(self) -> None:
        await self._check_same_run()  # another run may have begun at the same time and finished all
        roots = [output_folder(run) for run in self._settings]
        for number in range(1, self._of + 1):
            files = await _call_store(partial(self._leases.files, Shard(number, self._of)))
            for name, content in files.items():
                root, _, path = name.partition("/")
                with replacing(roots[int(root)] / path) as file:
                    file.write(content)


async def _served_model(settings: RunSettings) -> str:
    """The model that the server serves, if no setting names one; "" if the server can't be reached at once."""
    if all(named_model(settings, model_of(settings, config)) for config in settings.configs):
        return ""
    brief = dataclasses.replace(settings, wait_for_server=0.0)
    try:
        async with open_session(brief, None, note=lambda _: None) as session:
            return session.model.model_name
    except ServerUnusable:
        return ""


async def _call_store(work: Callable[[], Result]) -> Result:
    try:
        return await in_daemon_thread(work)
    except OSError as error:
        raise OutputError(f"{error.filename}: {error.strerror}", hint=WAY_OUT) from None


class _LeasedShard:
    """A lease that is renewed until the end of the block; meanwhile new records go to the store.

    `stop` is set when the command should stop or the lease is lost; `lost` says why.
    """

    def __init__(self, leases: Leases, lease: Lease, stop: asyncio.Event) -> None:
        self._leases, self._lease, self._stop_all = leases, lease, stop
        self._run_files: dict[str, bytes] = {}
        self._lines: dict[str, bytes] = {}
        self._over = asyncio.Event()
        self.stop, self.lost = asyncio.Event(), ""

    async def __aenter__(self) -> Self:
        self._renewing, self._stopping = asyncio.create_task(self._renew()), asyncio.create_task(self._pass_stop_on())
        return self

    async def __aexit__(self, *error: object) -> None:
        self._stopping.cancel()
        self._over.set()
        await self._renewing
        if not self.lost:
            await _call_store(partial(self._leases.release, self._lease))

    async def during(self, asking: Awaitable[object], files: Growing) -> None:
        """Upload new records until `asking` has ended; raises its errors, and Interrupted if the lease is lost."""
        asked = asyncio.Event()
        keeping = asyncio.create_task(self._upload_regularly(files, asked))
        try:
            await asking
        finally:
            asked.set()
            await keeping
            if not self.lost:
                await _call_store(partial(self._upload, files))
        if self.lost:
            raise Interrupted

    async def _pass_stop_on(self) -> None:
        await self._stop_all.wait()
        self.stop.set()

    async def _renew(self) -> None:
        """Renew the lease until it is given back or lost."""
        renewed_s, pause_s = time.monotonic(), RENEWED_S
        while not self.lost and await until_stopped(self._over, asyncio.sleep(pause_s, True)) is not None:
            begun_s = time.monotonic()
            try:
                if not await in_daemon_thread(partial(self._leases.renew, self._lease)):
                    self.lost = "another worker has its lease now"
                renewed_s, pause_s = begun_s, RENEWED_S
            except OSError as error:
                pause_s = min(KEPT_S, RENEWED_S)
                if time.monotonic() - renewed_s > EXPIRED_S - RENEWED_S:
                    self.lost = f"its lease could not be renewed for too long: {error.filename}: {error.strerror}"
        if self.lost:
            self.stop.set()

    async def _upload_regularly(self, files: Growing, asked: asyncio.Event) -> None:
        """Upload new records every few seconds; those of a failed upload go with the next one."""
        while not self.lost and await until_stopped(asked, asyncio.sleep(KEPT_S, True)) is not None:
            with suppress(OSError):
                await in_daemon_thread(partial(self._upload, files))

    def _upload(self, files: Growing) -> None:
        while not self.lost:
            if not self._lines:
                self._run_files |= files.run_files()
                self._lines = files.lines()
            if not self._run_files and not self._lines:
                return
            self._leases.keep(self._lease, self._run_files, self._lines)
            self._run_files, self._lines = {}, {}
