"""`--share ADDRESS`: workers without a common folder lease shards in an object store, which also keeps the records."""

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Self, TypeVar

from vqa_client.client.session import model_of, named_model, open_session
from vqa_client.errors import UNDECODABLE, DataError, IdentityError, OutputError, ServerUnusable, VqaClientError
from vqa_client.evaluation import Interrupted, arun_several
from vqa_client.files import private_folder, replacing
from vqa_client.progress import Progress
from vqa_client.runner import until_stopped
from vqa_client.runs.leases import EXPIRED_S, Lease, Leases
from vqa_client.runs.merge import check_same_run
from vqa_client.runs.run_file import RunFile
from vqa_client.runs.shards import PREFIX, Growing, with_output
from vqa_client.runs.stage import in_daemon_thread
from vqa_client.settings.divided import Shard
from vqa_client.settings.run import RunSettings, output_folder
from vqa_client.tables.objects import WAY_OUT

KEPT_S, RENEWED_S = 5.0, 20.0
"""Seconds between two uploads of new records, and between two renewals of the lease."""
RUN_ENDING = ".run.json"
_ANOTHER = "give another --share"
Result = TypeVar("Result")


class InStore:
    """Shards in a store: a worker asks each under a lease, in a private folder; `gather` copies all to --output."""

    def __init__(self, settings: Sequence[RunSettings], progress: Progress, stop: asyncio.Event) -> None:
        self._settings, self._progress, self._stop, self._of = settings, progress, stop, settings[0].turns
        self._leases = Leases(settings[0].share, self._of)

    async def check(self) -> None:
        await in_daemon_thread(self._leases.check)
        await self._check_same_run(asks_server=True)

    async def _check_same_run(self, *, asks_server: bool = False) -> None:
        """Raise IdentityError if the store has shards of another run.

        With `asks_server`, a model that only the server names is asked for there; finished shards need no server.
        """
        shard = await _stored(self._leases.begun)
        if shard is None:
            return
        done = await _stored(partial(self._leases.is_done, shard))
        kept: dict[int, dict[str, RunFile]] = {number: {} for number in range(len(self._settings))}
        for name, content in (await _stored(partial(self._leases.files, shard, RUN_ENDING))).items():
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

    async def asked(self, shard: Shard) -> bool:
        """As of Shared; a worker that loses its lease stops, and drops records that are not yet in the store."""
        leases = self._leases
        if await _stored(partial(leases.is_done, shard)):
            return True
        lease = await _stored(partial(leases.take, shard))
        if lease is None:
            return False
        async with _LeasedShard(leases, lease, self._stop) as hold:
            kept = await _stored(partial(leases.files, shard))
            with private_folder(PREFIX) as folder, Growing(folder, shard, kept) as files:
                parts = [
                    with_output(dataclasses.replace(each, shard=str(shard), share=""), folder / str(number))
                    for number, each in enumerate(self._settings)
                ]
                beside = output_folder(self._settings[0])
                beside.mkdir(parents=True, exist_ok=True)
                asking = arun_several(parts, progress=self._progress, stop=hold.stop, records=beside)
                try:
                    await hold.during(asking, files)
                except VqaClientError:
                    if not hold.lost:
                        raise
                    self._progress.note(f"shard {shard}: {hold.lost}")
                    return False
                await _stored(partial(leases.finish, lease, files.whole()))
        return True

    async def gather(self) -> None:
        await self._check_same_run()  # another run may have begun at the same time and finished all
        roots = [output_folder(each) for each in self._settings]
        for number in range(1, self._of + 1):
            files = await _stored(partial(self._leases.files, Shard(number, self._of)))
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


async def _stored(work: Callable[[], Result]) -> Result:
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
            await _stored(partial(self._leases.release, self._lease))

    async def during(self, asking: Awaitable[object], files: Growing) -> None:
        """Upload new records until `asking` has ended; raises its errors, and Interrupted if the lease is lost."""
        asked = asyncio.Event()
        keeping = asyncio.create_task(self._keep_regularly(files, asked))
        try:
            await asking
        finally:
            asked.set()
            await keeping
            if not self.lost:
                await _stored(partial(self._keep, files))
        if self.lost:
            raise Interrupted([])

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

    async def _keep_regularly(self, files: Growing, asked: asyncio.Event) -> None:
        """Upload new records every few seconds; those of a failed upload go with the next one."""
        while not self.lost and await until_stopped(asked, asyncio.sleep(KEPT_S, True)) is not None:
            with suppress(OSError):
                await in_daemon_thread(partial(self._keep, files))

    def _keep(self, files: Growing) -> None:
        while not self.lost:
            if not self._lines:
                self._run_files |= files.run_files()
                self._lines = files.lines()
            if not self._run_files and not self._lines:
                return
            self._leases.keep(self._lease, self._run_files, self._lines)
            self._run_files, self._lines = {}, {}
