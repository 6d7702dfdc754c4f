"""Counts the contexts of some records of a data file; run as a process of its own: `python -m` this module.

One JSON job comes in on stdin, the buckets by record index go out on stdout. A process, not a pool: it needs no
guarded `__main__` in the program that uses this package, and no fork beside its threads.
"""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Sequence
from subprocess import DEVNULL, PIPE

import msgspec
from msgspec import Struct

from vqa_client.tasks.longbench.context_length import TokenCounter, bucket
from vqa_client.types import UNKNOWN


class Job(Struct, frozen=True, kw_only=True):
    """The records of `path` to count, as (index, first byte, end)."""

    path: str
    spans: tuple[tuple[int, int, int], ...]


class _Context(Struct):
    context: str


def count(job: Job) -> dict[int, str]:
    """Name the context-length bucket of each record of the job."""
    counter = TokenCounter()
    buckets = {}
    with open(job.path, "rb") as file:
        for index, start, end in job.spans:
            file.seek(start)
            buckets[index] = _bucket(file.read(end - start), counter)
    return buckets


def _bucket(record: bytes, counter: TokenCounter) -> str:
    try:
        return bucket(counter.count(msgspec.json.decode(record, type=_Context).context))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return UNKNOWN


def count_in_processes(jobs: Sequence[Job]) -> dict[int, str]:
    """Do each job in a process of its own; what a process could not do is done here."""
    try:
        results = _in_processes(jobs)
    except OSError:  # no process can be started: an embedded interpreter, or a limit
        results = [count(job) for job in jobs]
    return {index: name for result in results for index, name in result.items()}


def _in_processes(jobs: Sequence[Job]) -> list[dict[int, str]]:
    command = [sys.executable, "-m", __name__]
    workers: list[subprocess.Popen[bytes]] = []
    try:
        for job in jobs:
            workers.append(subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL))
            _send(workers[-1], job)
        return [_received(worker, job) for worker, job in zip(workers, jobs, strict=True)]
    finally:
        for worker in workers:
            worker.kill()
            with worker:
                pass


def _send(worker: "subprocess.Popen[bytes]", job: Job) -> None:
    assert worker.stdin
    with contextlib.suppress(BrokenPipeError):
        worker.stdin.write(msgspec.json.encode(job))
    with contextlib.suppress(BrokenPipeError):
        worker.stdin.close()


def _received(worker: "subprocess.Popen[bytes]", job: Job) -> dict[int, str]:
    assert worker.stdout
    try:
        return msgspec.json.decode(worker.stdout.read(), type=dict[int, str])
    except msgspec.DecodeError:
        stopped = worker.wait() in (-signal.SIGINT, -signal.SIGTERM)  # Ctrl-C reaches the whole group: so are we
        return {} if stopped else count(job)


def main() -> None:
    """Read a job from stdin, write its buckets to stdout."""
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    sys.stdout.buffer.write(msgspec.json.encode(count(job)))


if __name__ == "__main__":
    main()
