"""`--ray`: actors on the nodes of a Ray cluster ask the shards; the driver keeps their logs and merges them at the end.

Nodes need no common folder: the driver has every record that arrived, and another node resumes the shard of a lost one
from these. Only this module imports ray.
"""

import asyncio
import dataclasses
import logging
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

from vqa_client.cli.processes import ShardsDisplay, locked_runs, merge_shards, worker_share
from vqa_client.cli.progress import LiveCounts
from vqa_client.cli.ray_worker import STOPPED, Sent, Worker
from vqa_client.cli.streams import EXIT_OK, EXIT_USAGE
from vqa_client.cpus import usable_cpus
from vqa_client.errors import ServerUnusable, UsageError, VqaClientError
from vqa_client.evaluation import Interrupted, move_all_aside
from vqa_client.files import replacing
from vqa_client.records import locked
from vqa_client.reports.names import count
from vqa_client.reports.report import Report
from vqa_client.runs.plan import Plan
from vqa_client.runs.plans import plans_of
from vqa_client.runs.resume import RunPaths
from vqa_client.runs.stage import in_daemon_thread, minutes_at_most
from vqa_client.settings.divided import Shard
from vqa_client.settings.run import RunSettings, output_folder
from vqa_client.shipped import importing
from vqa_client.tables.hub import SCHEME
from vqa_client.tables.pictures import is_address
from vqa_client.version import __version__

LOSSES = 3
"""How often a shard may lose its worker, and how many workers in a row may fail to start."""
REACHED_S = 10.0
MOST_WAITING = 8
"""Messages of a worker that the driver may not have taken yet; with more, the worker waits."""


async def on_ray(settings: Sequence[RunSettings], progress: LiveCounts, stop: asyncio.Event) -> list[Report]:
    """Ask all shards on the cluster, and merge them.

    Setting `stop` lets the workers finish running requests and raises Interrupted. Raises the UsageError of a worker,
    Busy if another command asks the run, and ModelsFailed if a shard was not completed.
    """
    with locked_runs(settings):
        planning = asyncio.ensure_future(in_daemon_thread(partial(_make_plans, settings, progress)))
        try:
            async with _connection(settings[0]) as ray:
                driver = _Driver(ray, settings, progress, stop)
                plans = await planning
                with minutes_at_most(settings[0].max_minutes, stop, progress.note):
                    errors = await driver.ask_all(plans)
        finally:
            planning.cancel()
    return await merge_shards(settings, errors, progress.note, stop)


def _make_plans(settings: Sequence[RunSettings], progress: LiveCounts) -> list[list[Plan]]:
    plans = [[plan for _, plans in plans_of(run, progress.note) for plan in plans] for run in settings]
    if settings[0].fresh:
        move_all_aside([plan for run_plans in plans for plan in run_plans])
    return plans


@asynccontextmanager
async def _connection(settings: RunSettings) -> AsyncIterator[Any]:
    loop, on_sigterm = asyncio.get_running_loop(), signal.getsignal(signal.SIGTERM)
    # Linux ends a cluster's processes with the thread that started them, and ray prints the log of a lost node
    with ThreadPoolExecutor(1) as thread, redirect_stdout(sys.stderr):
        try:
            ray = await loop.run_in_executor(thread, _connect, settings)
        finally:
            signal.signal(signal.SIGTERM, on_sigterm)  # ray's own handler would end this process at once
        try:
            yield ray
        finally:
            await loop.run_in_executor(thread, ray.shutdown)


def _connect(settings: RunSettings) -> Any:
    """Connect to the cluster and return the module ray; takes seconds."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # as for --processes; a cluster started elsewhere keeps its own
    logging.getLogger("ray").setLevel(logging.ERROR)
    with importing("ray", "--ray needs ray"):
        import ray
    address, options = settings.ray, dict[str, Any](log_to_driver=False, logging_level="ERROR")
    if address == "local":
        cpus = min(usable_cpus(), (settings.shards or 1) * settings.ray_cpus)  # ray starts a process for each
        options |= {"include_dashboard": False, "num_cpus": cpus}
    host, colon, port = address.rpartition(":")
    try:
        if colon:  # ray would try for minutes
            socket.create_connection((host.strip("[]"), int(port)), REACHED_S).close()
        ray.init(address, **options)
    except Exception as error:  # ray's errors have no common class
        message, _, _ = str(error).partition("\n")
        raise ServerUnusable(
            f"the Ray cluster at {address} can't be reached: {message}",
            hint="`ray start` on this machine makes it a node; --ray local starts a cluster here",
        ) from None
    return ray


class _Driver:
    """Starts workers, gives free ones the next shard, and keeps the records that they send.

    Raises UsageError if no node has the processors for a worker.
    """

    def __init__(self, ray: Any, settings: Sequence[RunSettings], progress: LiveCounts, stop: asyncio.Event) -> None:
        self._of = of = settings[0].shards or 1
        self._shards = [Shard(number, of) for number in range(1, of + 1)]
        self._ray, self._note, self._stop = ray, progress.note, stop
        self._display = ShardsDisplay(progress, self._shards)
        self._roots = [output_folder(run) for run in settings]
        self._paths: list[list[RunPaths]] = []
        self._cpus = settings[0].ray_cpus
        self._nodes = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
        if self._cpus > max(1, *self._nodes):  # Ray would wait for such a node forever
            most = max(0, *self._nodes)
            raise UsageError(f"--ray_cpus is {self._cpus}; no node has more than {most}", hint="lower it")
        self._workers = max(1, min(of, sum(cpus // self._cpus for cpus in self._nodes)))
        share: dict[str, Any] = {"max_minutes": None, "fresh": False}
        share["max_workers"] = worker_share(settings[0].max_workers, Shard(self._workers, self._workers))
        for name, parts in (("rpm", self._workers), ("tpm", self._workers), ("max_cost", of)):
            if (limit := getattr(settings[0], name)) is not None:
                share[name] = limit / parts
        self._settings = [_absolute_settings(run, share) for run in settings]
        self._files = _named_files(settings)
        self._left: asyncio.Queue[Shard] = asyncio.Queue()
        for shard in self._shards:
            self._left.put_nowait(shard)
        self._all_ended = asyncio.Event()
        self._ended: dict[Shard, VqaClientError | None] = {}
        self._losses: Counter[Shard] = Counter()
        self._failed_starts = 0
        self._remote = ray.remote(Worker).options(
            num_cpus=self._cpus, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD", max_concurrency=2
        )
        self._actors: list[Any] = []
        self._unused = [self._create_actor() for _ in range(self._workers)]

    async def ask_all(self, plans: Sequence[Sequence[Plan]]) -> dict[str, VqaClientError]:
        """Ask all shards; returns the errors of those that were not completed, by name."""
        for plan in (plan for run_plans in plans for plan in run_plans):
            for shard, total in zip(self._shards, _estimate_sizes(plan.loaded.count, self._of), strict=True):
                self._display.take(shard, LiveCounts().numbers() | {"title": plan.title, "total": total})
        self._paths = [[plan.paths for plan in run_plans] for run_plans in plans]
        self._others = self._ray.put(self._other_divisions(self._of))
        workers = self._settings[0].max_workers
        there = f"{count(self._workers, 'worker')} on {count(len(self._nodes), 'node')}"
        self._note(f"ray: {there}, each with --max_workers {workers}")
        tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._all_ended.wait())]
        tasks += [asyncio.ensure_future(self._run_worker()) for _ in range(self._workers)]
        tasks.append(asyncio.ensure_future(self._pass_stop_on()))
        try:
            done, _ = await asyncio.wait(tasks[:-1], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for actor in self._actors:
                self._ray.kill(actor)
        return {f"shard {shard}": error for shard, error in sorted(self._ended.items()) if error is not None}

    async def _run_worker(self) -> None:
        """Give a worker one shard after the other; if it is lost, start another one."""
        actor, node = await self._start_worker()
        while True:
            shard = await self._left.get()
            try:
                error = await self._ask_shard(shard, actor, node)
            except self._ray.exceptions.RayTaskError:
                raise  # a bug
            except self._ray.exceptions.RayError as lost:
                self._put_back(shard, node, lost)
                actor, node = await self._start_worker()
                continue
            if isinstance(error, ServerUnusable):
                self._drop_waiting()  # the others would fail too
            self._end_shard(shard, error)

    def _create_actor(self) -> Any:
        self._actors.append(actor := self._remote.remote(self._cpus))
        return actor

    async def _start_worker(self) -> tuple[Any, str]:
        """Start a worker, of the same version; returns it and the name of its node."""
        while True:
            actor = self._unused.pop() if self._unused else self._create_actor()
            try:
                about = await actor.about.remote()
            except self._ray.exceptions.RayError as error:
                self._failed_starts += 1
                if self._failed_starts >= LOSSES:
                    message = str(error).strip().splitlines()[-1]
                    hint = "vqa-client and ray must be installed on every node, in the same versions"
                    raise ServerUnusable(f"no worker starts on the Ray cluster: {message}", hint=hint) from None
                continue
            self._failed_starts = 0
            if about["vqa_client"] != __version__:
                raise UsageError(
                    f"node {about['node']} has vqa-client {about['vqa_client']}, this one {__version__}",
                    hint=f"{sys.executable} -m pip install vqa-client=={__version__}, on every node",
                )
            if self._stop.is_set():
                actor.stop.remote()
            return actor, about["node"]

    async def _ask_shard(self, shard: Shard, actor: Any, node: str) -> VqaClientError | None:
        settings = [dataclasses.replace(whole, shard=str(shard)) for whole in self._settings]
        run = actor.run.options(num_returns="streaming", _generator_backpressure_num_objects=MOST_WAITING)
        with self._locked_files(shard) as kept:
            async for message in run.remote(settings, self._files, kept, self._others):
                sent: Sent = await message
                await in_daemon_thread(partial(self._keep, sent))
                for update in sent.display:
                    self._display.take(shard, update)
                if sent.code is not None:
                    break
        if sent.code == EXIT_OK:
            return None
        if sent.code == STOPPED:
            return Interrupted()
        if sent.code == EXIT_USAGE:
            raise UsageError(f"on {node}: {sent.message}", hint=sent.hint)
        return ServerUnusable(sent.message, hint=sent.hint)

    def _put_back(self, shard: Shard, node: str, error: Exception) -> None:
        """Put the shard of a lost worker back, unless it has lost too many."""
        self._losses[shard] += 1
        kind = type(error).__name__
        if self._stop.is_set():
            self._end_shard(shard, Interrupted())
        elif self._losses[shard] < LOSSES:
            self._note(f"shard {shard}: its worker on {node} is lost ({kind}); another resumes it")
            self._left.put_nowait(shard)
        else:
            self._end_shard(
                shard, ServerUnusable(f"lost {LOSSES} workers ({kind})", hint="the same command resumes it")
            )

    def _end_shard(self, shard: Shard, error: VqaClientError | None) -> None:
        self._ended[shard] = error
        self._display.end_shard(shard)
        if len(self._ended) == self._of:
            self._all_ended.set()

    def _drop_waiting(self) -> None:
        while not self._left.empty():
            self._end_shard(self._left.get_nowait(), Interrupted())

    async def _pass_stop_on(self) -> None:
        await self._stop.wait()
        self._drop_waiting()
        for actor in self._actors:
            actor.stop.remote()

    @contextmanager
    def _locked_files(self, shard: Shard) -> Iterator[dict[str, bytes]]:
        """Lock the logs of a shard and give the worker the contents of its files, by name."""
        files: dict[str, bytes] = {}
        with ExitStack() as locks:
            for number, root, paths in self._shard_paths(shard):
                paths.log.parent.mkdir(parents=True, exist_ok=True)
                paths.log.touch()
                locks.enter_context(locked(paths.log))
                files |= _file_contents(number, root, paths)
            try:
                yield files
            finally:
                for _, _, paths in self._shard_paths(shard):
                    if not paths.log.stat().st_size:
                        paths.log.unlink()

    def _shard_paths(self, shard: Shard) -> Iterator[tuple[int, Path, RunPaths]]:
        for number, root in enumerate(self._roots):
            for paths in {paths.log: paths for paths in self._paths[number]}.values():  # plans may share a log
                yield number, root, paths.shard(*shard)

    def _other_divisions(self, of: int) -> dict[str, bytes]:
        """The files of the same runs under other divisions: workers take over their answers."""
        return {
            name: content
            for number, root, paths in self._shard_paths(Shard(1, of))
            for other in paths.otherwise_divided()
            for name, content in _file_contents(number, root, other).items()
        }

    def _keep(self, sent: Sent) -> None:
        """Write what has arrived: first the run file, which identifies the log's run."""
        for name, content in sent.files.items():
            with replacing(self._path_of(name)) as file:
                file.write(content)
        for name, lines in sent.lines.items():
            with self._path_of(name).open("ab+") as log:
                if end := log.tell():
                    log.seek(end - 1)
                    if log.read(1) != b"\n":  # a killed driver's last line
                        lines = b"\n" + lines
                log.write(lines)
                log.flush()
                os.fsync(log.fileno())

    def _path_of(self, name: str) -> Path:
        number, _, path = name.partition("/")
        return self._roots[int(number)] / path


def _estimate_sizes(count: int, of: int) -> list[int]:
    """About how many questions each shard has, until its worker sends the number."""
    return [count * (number + 1) // of - count * number // of for number in range(of)]


def _file_contents(number: int, root: Path, paths: RunPaths) -> dict[str, bytes]:
    there = [path for path in (paths.log, paths.run) if path.exists() and path.stat().st_size]
    return {f"{number}/{path.relative_to(root)}": path.read_bytes() for path in there}


def _named_files(settings: Sequence[RunSettings]) -> Mapping[str, bytes]:
    """The configs and benchmarks that are files on this machine, by name."""
    names = {name for run in settings for name in (*run.configs, run.benchmark) if name}
    return {name: path.read_bytes() for name in sorted(names) if (path := Path(name).expanduser()).is_file()}


def _absolute_settings(settings: RunSettings, share: Mapping[str, Any]) -> RunSettings:
    """The settings for a worker in another folder: with absolute paths."""
    paths = {
        field.name: Path.absolute(value)
        for field in dataclasses.fields(settings)
        if isinstance(value := getattr(settings, field.name), Path)
        and not (str(value).startswith(SCHEME) or is_address(value))
    }
    return dataclasses.replace(settings, **{**paths, **share, "ray": "", "shards": None, "ray_cpus": 1})
