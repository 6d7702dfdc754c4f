"""`--processes`: the same command in several processes, each with a shard; one display and one report for all."""

import asyncio
import fcntl
import os
import re
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import msgspec

from vqa_client.cli.progress import PROGRESS_FD, LiveCounts
from vqa_client.cli.signals import STOPPING
from vqa_client.cli.streams import EXIT_SERVER, EXIT_USAGE, SIGNALS
from vqa_client.cpus import CPU_COUNT, usable_cpus
from vqa_client.errors import Busy, ServerUnusable, UsageError, VqaClientError
from vqa_client.evaluation import Interrupted, ModelsFailed
from vqa_client.files import check_output, open_locked
from vqa_client.reports.report import Report
from vqa_client.runs.control import LOCK
from vqa_client.runs.merge import merge_settings
from vqa_client.runs.stage import in_daemon_thread
from vqa_client.settings.divided import Shard
from vqa_client.settings.run import RunSettings, output_folder
from vqa_client.types import Note

SHARED = ("rpm", "tpm", "max_cost")
"""Settings that are divided equally among the processes."""
STOPPED = frozenset(128 + number for number in SIGNALS)
LOCK_TRIES, LOCK_PAUSE_S = 10, 0.05
"""A shard tries several times: another one that ends has the lock for itself until it has removed the file."""
STARTS = 2
"""How often a process is started in all if a signal kills it."""


async def in_processes(settings: Sequence[RunSettings], progress: LiveCounts, stop: asyncio.Event) -> list[Report]:
    """Run this program's command line in processes until all have ended, then merge their shards.

    Setting `stop` lets them finish running requests and raises Interrupted. Raises the UsageError of a process, and
    ModelsFailed if a process did not complete its shard.
    """
    count, workers = settings[0].process_count, settings[0].max_workers
    shards = [Shard(number, count) for number in range(1, count + 1)]
    display = ShardsDisplay(progress, shards)
    options = {name: getattr(settings[0], name) / count for name in SHARED if getattr(settings[0], name) is not None}
    shares = [{"shard": shard, "max_workers": worker_share(workers, shard), **options} for shard in shards]
    with locked_runs(settings):
        ended = await asyncio.gather(
            *(_run_shard(shard, share, display, stop) for shard, share in zip(shards, shares, strict=True))
        )
    errors = {f"shard {shard}": error for shard, error in zip(shards, ended, strict=True) if error is not None}
    for error in errors.values():
        if isinstance(error, UsageError):
            raise error
    return await merge_shards(settings, errors, display.note, stop)


@contextmanager
def locked_runs(settings: Sequence[RunSettings], *, shared: bool = False) -> Iterator[None]:
    """Lock runs for a command that asks all of their shards, or `shared` for one that asks some of them.

    Raises Busy where another command asks one of the runs, OutputError where --output takes no file.
    """
    with ExitStack() as stack:
        for lock_file in dict.fromkeys(map(_lock_file, settings)):  # a run named twice is refused later
            stack.enter_context(_lock_run(lock_file, shared=shared))
        yield


def _lock_file(settings: RunSettings) -> Path:
    """The file that is locked for a run; the same questions in another form, such as --blind, are another run."""
    common = {field.name for field in fields(RunSettings)}
    own = [getattr(settings, field.name) for field in fields(settings) if field.name not in common]
    form = settings.variations, settings.corrupted is not None
    return output_folder(settings) / LOCK.replace("*", f"{crc32(repr((own, form)).encode()):08x}")


@contextmanager
def _lock_run(lock_file: Path, *, shared: bool) -> Iterator[None]:
    """Lock a run; the last command removes the file, and a folder that was made for it and stays empty."""
    folder = lock_file.parent
    check_output(folder)
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    tries = LOCK_TRIES if shared else 1
    while True:
        try:
            descriptor = open_locked(lock_file, shared=shared)
            break
        except Busy as error:
            tries -= 1
            if not tries:
                raise Busy(f"another command is asking this run in {folder}", hint=error.hint) from None
            time.sleep(LOCK_PAUSE_S)
    try:
        yield
    finally:
        with suppress(BlockingIOError):  # another command has a shard
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock_file.unlink(missing_ok=True)
        os.close(descriptor)
        with suppress(OSError):  # not empty
            for place in made:
                place.rmdir()


async def merge_shards(
    settings: Sequence[RunSettings], errors: Mapping[str, VqaClientError], note: Note, stop: asyncio.Event
) -> list[Report]:
    """Merge the shards; raises Interrupted or ModelsFailed for the `errors` of those that failed."""
    merging = [partial(merge_settings, run, partial=True, note=note) for run in settings]
    reports = [report for merge in merging for report in await in_daemon_thread(merge)]
    failed = {name: error for name, error in errors.items() if not isinstance(error, Interrupted)}
    if stop.is_set() or (errors and not failed):
        raise Interrupted(reports)
    if failed and (not reports or any(report.incomplete for report in reports)):
        raise ModelsFailed(failed, reports)
    return reports


def worker_share(workers: int | Literal["auto"], shard: Shard) -> int | str:
    """How many of all workers the process of a shard gets."""
    return workers if workers == "auto" else max(1, workers // shard.of + (shard.number <= workers % shard.of))


async def _run_shard(
    shard: Shard, options: Mapping[str, object], display: "ShardsDisplay", stop: asyncio.Event
) -> VqaClientError | None:
    """Run the process of a shard to its end, twice if a signal kills it; returns its error, if any."""
    for start in range(1, STARTS + 1):
        code, stderr = await _run_process(shard, options, display, stop)
        if code >= 0 or stop.is_set():
            break
        name = signal.Signals(-code).name
        display.note(f"shard {shard}: {name} killed its process{'; it is started again' if start < STARTS else ''}")
        stderr = f"error: killed by {name}, {STARTS} times\nhint: run the same command again to resume"
    display.end_shard(shard)
    if stop.is_set():
        return None
    if code == EXIT_USAGE:
        stop.set()  # the command ends with this error
        return _read_error(stderr, UsageError)
    if code < 0 or code == EXIT_SERVER:
        return _read_error(stderr, ServerUnusable)
    if code in STOPPED:
        return Interrupted()
    if stderr.strip():
        display.note(stderr.strip())
    return None if code in (0, 1) else ServerUnusable(f"its process ended with exit code {code}")


def without_options(words: Sequence[str], options: Collection[str]) -> list[str]:
    """A command line without these options and their values."""
    kept: list[str] = []
    previous = ""
    for word in words:
        option, equals, _ = word.replace("_", "-").partition("=")
        if previous not in options and option not in options:
            kept.append(word)
        previous = "" if equals else option
    return kept


def _read_error(stderr: str, kind: Callable[..., VqaClientError]) -> VqaClientError:
    parts = re.split("^(error|hint): ", stderr, flags=re.MULTILINE)
    messages = list(zip(parts[1::2], parts[2::2], strict=True))
    errors = [text.rstrip() for word, text in messages if word == "error"]
    hints = [text.partition("\n")[0] for word, text in messages if word == "hint"]
    return kind("\n".join(errors) or stderr.strip() or "its process ended early", hint="; ".join(hints))


async def _run_process(
    shard: Shard, options: Mapping[str, object], display: "ShardsDisplay", stop: asyncio.Event
) -> tuple[int, str]:
    """Run one process; returns its exit code and standard error. Cancelling this kills the process."""
    reading, writing = os.pipe()
    words = without_options(sys.argv[1:], ("--processes", *(f"--{name.replace('_', '-')}" for name in options)))
    for name, value in options.items():
        words += [f"--{name}", str(value)]
    cpus = str(max(1, usable_cpus() // shard.of))
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "vqa_client", *words),
            env={**os.environ, PROGRESS_FD: str(writing), CPU_COUNT: cpus},
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=PIPE,
            pass_fds=(writing,),
            start_new_session=True,  # Ctrl-C reaches the parent, which stops this one
        )
    finally:
        os.close(writing)
    assert process.stderr is not None
    stopping = asyncio.create_task(_stop_process(process, stop))
    try:
        _, stderr, code = await asyncio.gather(
            _read_progress(reading, shard, display), process.stderr.read(), process.wait()
        )
    finally:
        stopping.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()
    return code, stderr.decode("utf-8", "replace")


async def _stop_process(process: Process, stop: asyncio.Event) -> None:
    await stop.wait()
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)


async def _read_progress(reading: int, shard: Shard, display: "ShardsDisplay") -> None:
    """Read the progress messages of a process until it ends."""
    lines = asyncio.StreamReader()
    with os.fdopen(reading, "rb") as pipe:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), pipe
        )
        try:
            while line := await lines.readline():
                display.take(shard, msgspec.json.decode(line))
        finally:
            transport.close()


class ShardsDisplay:
    """Shows the notes and numbers of all shards as those of one run."""

    def __init__(self, progress: LiveCounts, shards: Sequence[Shard]) -> None:
        self._progress, self._running = progress, set(shards)
        self._notes = {STOPPING}  # the parent prints it
        self._runs: dict[str, dict[Shard, dict[str, Any]]] = {}
        self._since_s: dict[str, float] = {}
        self._current = ""
        self._ended: set[str] = set()

    def note(self, text: str) -> None:
        """Print a line, once if several processes send it."""
        if text not in self._notes:
            self._notes.add(text)
            self._progress.note(text)

    def take(self, shard: Shard, message: dict[str, Any]) -> None:
        """Take a message: a note, or the numbers of one shard in a run."""
        if "note" in message:
            self.note(message["note"])
        else:
            title = message["title"].replace(f" · shard {shard}", "")
            parts = self._runs.setdefault(title, {})
            parts[shard] = message
            asks = any(part["in_flight"] or part["done"] > part["earlier"] for part in parts.values())
            if not asks or title not in self._since_s:  # it may end before an earlier run, which is shown until then
                self._since_s[title] = time.monotonic()
            self._show()

    def end_shard(self, shard: Shard) -> None:
        """Leave a shard that has ended out of what is waited for."""
        self._running.discard(shard)
        self._show()

    def _show(self) -> None:
        """Show the first run that a process is still asking; processes ask the runs in the same order."""
        for title, parts in self._runs.items():
            if title in self._ended:
                continue
            if title != self._current:
                self._current = title
                self._progress.begin(title, 0)
            self._progress.sum_of(list(parts.values()), self._since_s[title])
            if not all(shard in parts and parts[shard]["ended"] for shard in self._running):
                return
            self._progress.end()
            self._ended.add(title)
