"""`--share ADDRESS`: workers without a common folder take shards by leases in an object store, which keeps records."""

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from vqa_client.errors import UNDECODABLE, DataError, IdentityError, OutputError, VqaClientError
from vqa_client.evaluation import Interrupted, arun_several
from vqa_client.files import private_folder, replacing
from vqa_client.runs.leases import EXPIRED_S, Lease, Leases
from vqa_client.runs.merge import check_same_run
from vqa_client.runs.run_file import RunFile
from vqa_client.runs.shard_files import PREFIX, Growing, with_output
from vqa_client.runs.waiting import in_daemon_thread, unless
from vqa_client.settings.divided import Shard
from vqa_client.settings.run import output_folder
from vqa_client.tables.objects import WAY_OUT

if TYPE_CHECKING:
    from vqa_client.cli.turns import Run

KEPT_S, RENEWED_S = 5.0, 20.0
"""How often new records are kept in the store, and the lease is renewed."""
RUN_ENDING = ".run.json"
_ANOTHER = "give another --share"
Result = TypeVar("Result")


class InStore:
    """Shards, each asked in a private folder by the worker that has its lease; `gather` brings them to --output."""

    def __init__(self, run: "Run") -> None:
        self._run, self._of = run, run.settings[0].turns
        self._leases = Leases(run.settings[0].share, self._of)

    async def check(self) -> None:
        """As of Shared."""
        await in_daemon_thread(self._leases.check)
        await self._check_same_run()

    async def _check_same_run(self) -> None:
        """Raise IdentityError where the store has shards of another run."""
        shard = await _stored(self._leases.begun)
        if shard is None:
            return
        done = await _stored(partial(self._leases.is_done, shard))
        kept: dict[int, dict[str, RunFile]] = {number: {} for number in range(len(self._run.settings))}
        for name, content in (await _stored(partial(self._leases.files, shard, RUN_ENDING))).items():
            root, _, path = name.partition("/")
            try:
                kept.setdefault(int(root), {})[path] = RunFile.parsed(content)
            except UNDECODABLE as error:
                raise DataError(f"{path} of shard {shard} is not a run file: {error}", hint=_ANOTHER) from None
        if len(kept) > len(self._run.settings):
            raise IdentityError("the shards there are of a command with more benchmarks", hint=_ANOTHER)
        for number, settings in enumerate(self._run.settings):
            same = partial(check_same_run, settings, self._run.corrupted, shard, kept[number], done=done)
            await in_daemon_thread(same)

    async def asked(self, shard: Shard) -> bool:
        """As of Shared; a worker that loses its lease stops asking, and what it has not kept is dropped."""
        leases, run = self._leases, self._run
        if await _stored(partial(leases.is_done, shard)):
            return True
        lease = await _stored(partial(leases.take, shard))
        if lease is None:
            return False
        kept = await _stored(partial(leases.files, shard))
        with private_folder(PREFIX) as folder, Growing(folder, shard, kept) as files:
            held = _Held(leases, lease, files, run.stop)
            parts = [
                with_output(dataclasses.replace(each, shard=str(shard), share=""), folder / str(number))
                for number, each in enumerate(run.settings)
            ]
            asking = arun_several(parts, corrupted=run.corrupted, progress=run.progress, stop=held.stop)
            try:
                await held.during(asking)
            except VqaClientError:
                if held.lost:
                    run.progress.note(f"shard {shard}: another worker has its lease now")
                    return False
                await _stored(partial(leases.release, lease))
                raise
            await _stored(partial(leases.finish, lease, files.whole()))
            await _stored(partial(leases.release, lease))
        return True

    async def gather(self) -> None:
        """As of Shared."""
        await self._check_same_run()  # they may all be of another run that began at the same time
        roots = [output_folder(each) for each in self._run.settings]
        for number in range(1, self._of + 1):
            files = await _stored(partial(self._leases.files, Shard(number, self._of)))
            for name, content in files.items():
                root, _, path = name.partition("/")
                with replacing(roots[int(root)] / path) as file:
                    file.write(content)


async def _stored(work: Callable[[], Result]) -> Result:
    try:
        return await in_daemon_thread(work)
    except OSError as error:
        raise OutputError(f"{error.filename}: {error.strerror}", hint=WAY_OUT) from None


class _Held:
    """A lease while its shard is asked: it is renewed, and new records are kept.

    `stop` ends the asking: where all is to stop, or where the lease is `lost` to another worker.
    """

    def __init__(self, leases: Leases, lease: Lease, files: Growing, stop: asyncio.Event) -> None:
        self._leases, self._lease, self._files, self._stop_all = leases, lease, files, stop
        self._run_files: dict[str, bytes] = {}
        self._lines: dict[str, bytes] = {}
        self._over = asyncio.Event()
        self.stop, self.lost = asyncio.Event(), False

    async def during(self, asking: Awaitable[object]) -> None:
        """Hold the lease until `asking` has ended, and keep its records; raises what it does, Interrupted if lost."""
        holding, stopping = asyncio.create_task(self._hold()), asyncio.create_task(self._passed_on())
        try:
            await asking
        finally:
            stopping.cancel()
            self._over.set()
            await holding
            if not self.lost:
                await _stored(self._keep)
        if self.lost:
            raise Interrupted([])

    async def _passed_on(self) -> None:
        await self._stop_all.wait()
        self.stop.set()

    async def _hold(self) -> None:
        """Until the shard is over; what the store can't take now is kept with what comes next."""
        renewed_s = time.monotonic()
        while not self.lost and await unless(self._over, asyncio.sleep(KEPT_S, True)) is not None:
            begun_s = time.monotonic()
            with suppress(OSError):
                if begun_s - renewed_s >= RENEWED_S:
                    self.lost = not await in_daemon_thread(partial(self._leases.renew, self._lease))
                    renewed_s = begun_s
                if not self.lost:
                    await in_daemon_thread(self._keep)
            self.lost |= time.monotonic() - renewed_s > EXPIRED_S - RENEWED_S
        if self.lost:
            self.stop.set()

    def _keep(self) -> None:
        while True:
            if not self._lines:
                self._run_files |= self._files.run_files()
                self._lines = self._files.lines()
            if not self._run_files and not self._lines:
                return
            self._leases.keep(self._lease, self._run_files, self._lines)
            self._run_files, self._lines = {}, {}
