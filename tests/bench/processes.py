"""Runs a client as a process and measures it with its children."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

BYTES_PER_MAXRSS = 1 if sys.platform == "darwin" else 1024
"""The unit of ru_maxrss on this system, from getrusage(2)."""
MB = 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What a process and the children it waited for have used; `peak_rss_bytes` is that of the largest of them.

    Linux carries the peak of the process that started it over into a new one, so `peak_rss_bytes` is never below the
    benchmark's own: it stays small and imports nothing large.
    """

    exit_code: int
    wall_s: float
    cpu_s: float
    peak_rss_bytes: int


def run(command: Sequence[str], *, environment: Mapping[str, str], log: Path, limit_s: float, folder: Path) -> Usage:
    """Run a command, with its output to `log`; after `limit_s` kill it and its children."""
    with log.open("wb") as output:
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return _account(process, started, limit_s)


def _account(process: subprocess.Popen[bytes], started: float, limit_s: float) -> Usage:
    alarm = threading.Timer(limit_s, os.killpg, (process.pid, 9))
    alarm.start()
    try:
        _, status, used = os.wait4(process.pid, 0)
    except BaseException:  # interrupted: leave nothing running
        os.killpg(process.pid, 9)
        raise
    finally:
        alarm.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return Usage(
        exit_code=process.returncode,
        wall_s=time.monotonic() - started,
        cpu_s=used.ru_utime + used.ru_stime,
        peak_rss_bytes=used.ru_maxrss * BYTES_PER_MAXRSS,
    )
