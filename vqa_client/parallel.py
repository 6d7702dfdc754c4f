"""Runs jobs in several processes and gives the results in the order of the jobs."""

import contextlib
import itertools
import multiprocessing
import os
import pickle
import reprlib
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Generic, TypeVar, cast

from vqa_client.errors import VqaClientError

Job = TypeVar("Job")
Result = TypeVar("Result")

# Fork copies locks that other threads hold (a progress bar's, for one), and Python 3.12 warns of it; spawn is the
# same on Linux and macOS.
_SPAWN = multiprocessing.get_context("spawn")
_AHEAD = 4  # jobs per worker that may begin before the oldest one ends: a slow job doesn't stop the others
_FAREWELL_S = 2.0
_STARTING = threading.Lock()
"""Only one thread at a time may change this process's state to start another one."""


def in_processes(work: Callable[[Job], Result], jobs: Iterable[Job], *, workers: int) -> Generator[Result, None, None]:
    """Yield `work(job)` for every job, in order, from `workers` processes; one worker or one job needs no process.

    `work`, the jobs and the results must pickle. Jobs are taken a few ahead for each worker. An exception in a job ends
    everything and is raised in its turn. Closing the iterator, or Ctrl-C, ends the workers. Raises VqaClientError if
    the system kills a worker.
    """
    waiting = iter(jobs)
    first = list(itertools.islice(waiting, 2 if workers > 1 else 0))
    waiting = itertools.chain(first, waiting)
    if len(first) < 2:
        yield from map(work, waiting)
        return
    processes, ahead = Processes(work, workers), deque[Future[Result]]()
    try:
        for job in waiting:
            ahead.append(processes.submit(job))
            if len(ahead) == workers * _AHEAD:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        processes.close()


class ProcessLost(VqaClientError):
    """A worker process has ended, and `ending` says how; callers may describe the job better than by its repr."""

    def __init__(self, ending: str, job: object) -> None:
        super().__init__(
            f"a worker process {ending} at {reprlib.repr(job)}",
            hint="SIGKILL mostly means that memory ran out: use fewer of them. Otherwise look at that job",
        )
        self.ending = ending


class Processes(Generic[Job, Result]):
    """Does jobs in up to `workers` processes, which start when they are needed.

    A thread waits for each process, so that `submit` doesn't wait. `close` ends the processes at once.
    """

    def __init__(self, work: Callable[[Job], Result], workers: int) -> None:
        self._work = work
        self._threads = ThreadPoolExecutor(workers)
        self._workers: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._hiring = threading.Lock()
        self._closed = False

    def submit(self, job: Job) -> "Future[Result]":
        """Begin a job; its future raises what the job raises, or VqaClientError if the system kills its process."""
        return self._threads.submit(self._do, job)

    def _do(self, job: Job) -> Result:
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = self._start_worker()
        worker.give(job)
        succeeded, result = worker.take()
        self._idle.append(worker)
        if not succeeded:
            raise result
        return cast(Result, result)

    def _start_worker(self) -> "_Worker":
        with self._hiring:  # so that closing finds every process that was started
            if self._closed:
                raise CancelledError
            worker = _Worker(self._work)
            self._workers.append(worker)
            return worker

    def close(self) -> None:
        """Cancel all jobs and end the processes."""
        with self._hiring:
            self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        _end(self._workers)


class _Worker:
    """A process and its job; it has one job at a time, so that both sides never write at once."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.wire, theirs = _SPAWN.Pipe()
        self.process: SpawnProcess = _SPAWN.Process(target=_serve, args=(work, theirs), daemon=True)
        self.job: Any = None
        self._waiting = threading.Lock()  # a process can be waited for only once
        self._code: int | None = None
        with _STARTING, _terminal_signals_blocked(), _without_main_script():
            self.process.start()
        theirs.close()

    def give(self, job: Any) -> None:
        self.job = job
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # `take` raises the error
            self.wire.send(job)

    def take(self) -> tuple[bool, Any]:
        """(True, the job's result) or (False, its exception); raises ProcessLost if the process has ended."""
        try:
            outcome: tuple[bool, Any] = pickle.loads(self.wire.recv_bytes())
        except (EOFError, ConnectionResetError):
            raise self._lost_error() from None
        return outcome

    def _lost_error(self) -> VqaClientError:
        with self._waiting:
            if self._code is None:
                self.process.join(_FAREWELL_S)
            code = (self.process.exitcode if self._code is None else self._code) or 0
        ending = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return ProcessLost(ending, self.job)

    def end(self, until_s: float) -> None:
        """Wait until then for the process, which is ending; then kill it."""
        with self._waiting:
            self.process.join(max(0.0, until_s - time.monotonic()))
            self.process.kill()
            self.process.join()
            self._code = self.process.exitcode
            self.process.close()
        self.wire.close()


def _end(workers: Sequence[_Worker]) -> None:
    """Terminate the processes; each removes its unfinished file, or is killed if that takes too long."""
    for worker in workers:
        worker.process.terminate()
    until_s = time.monotonic() + _FAREWELL_S
    for worker in workers:
        worker.end(until_s)


@contextlib.contextmanager
def _terminal_signals_blocked() -> Iterator[None]:
    """Block signals of the terminal: a process that starts now never gets them, this one gets them afterwards."""
    resource_tracker.ensure_running()  # unblocks signals when it starts, so it must have started before
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _without_main_script() -> Iterator[None]:
    """Keep a process that starts now from importing this process's main script.

    No work is defined there. Importing it costs 0.1 s of CPU per worker, and runs a script again that has no
    `if __name__ == "__main__"`.
    """
    main = sys.modules["__main__"]
    spec, file = main.__spec__, main.__dict__.pop("__file__", None)
    main.__spec__ = None
    try:
        yield
    finally:
        main.__spec__ = spec
        if file is not None:
            main.__file__ = file


def _serve(work: Callable[[Any], Any], wire: Connection) -> None:
    signal.signal(signal.SIGTERM, _exit_with_cleanup)
    with contextlib.suppress(EOFError, ConnectionError):  # the parent has ended
        while True:
            wire.send_bytes(_outcome(work, wire.recv()))


def _exit_with_cleanup(_number: int, _frame: Any) -> None:
    """Exit with cleanup; if the signal arrives in an interpreter callback, which swallows SystemExit, exit at once."""
    sys.unraisablehook = lambda _: os._exit(0)
    sys.exit()


def _outcome(work: Callable[[Any], Any], job: Any) -> bytes:
    """(True, the job's result) or (False, its exception), pickled."""
    try:
        return pickle.dumps((True, work(job)))
    except Exception as error:
        trace = traceback.format_exc()
        error.add_note(f"In a worker process:\n{trace}")
        return pickle.dumps((False, error if _pickles(error) else RuntimeError(trace)))


def _pickles(error: Exception) -> bool:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # a library's exception that can't be made again from its arguments
        return False
    return True
