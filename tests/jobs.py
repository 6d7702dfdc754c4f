"""The work of the processes in the tests of `parallel`; each process imports this, so it imports no test library."""

import os
import signal
import time
from pathlib import Path

from vqa_client.errors import DataError, QuestionFailed


def slow_first(job: int) -> tuple[int, int]:
    time.sleep(0.3 if job == 0 else 0)
    return job, os.getpid()


def squared(job: int) -> int:
    return job * job


def fail_at(bad: int, job: int) -> int:
    if job == bad:
        raise DataError(f"job {job} is bad", hint="mend it")
    return job


def fail_oddly(job: int) -> int:
    raise QuestionFailed("timeout", f"job {job} took too long")


def unpicklable(job: int) -> object:
    return lambda: job


def fail_early(job: int) -> int:
    time.sleep(0.2 if job == 1 else 0)
    if job:
        raise DataError(f"job {job} is bad")
    return job


def die(job: int) -> int:
    if job == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return job


def leave(job: int) -> int:
    os._exit(7)


def note_and_wait(folder: Path, job: int) -> int:
    (folder / str(os.getpid())).touch()
    time.sleep(300)
    return job


def len_of(job: bytes) -> bytes:
    return job


def sleep_for(job: float) -> float:
    time.sleep(job)
    return job


def tidies(folder: Path, job: int) -> int:
    try:
        (folder / f"begun {job}").touch()
        time.sleep(300)
    finally:
        time.sleep(0.3)
        (folder / f"tidied {job}").touch()
    return job


def stubborn(folder: Path, job: int) -> int:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (folder / f"begun {job}").touch()
    time.sleep(300)
    return job
