"""Whether a process still runs, for tests that must leave no process behind."""

import subprocess
import time
from collections.abc import Iterable


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie doesn't."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


def gone(pids: Iterable[int], *, within_s: float = 120.0) -> bool:
    """Whether all the processes end in time."""
    waiting, deadline = set(pids), time.monotonic() + within_s
    while waiting and time.monotonic() < deadline:
        waiting = {pid for pid in waiting if alive(pid)}
        time.sleep(0.02)
    return not waiting


def children(pid: int) -> list[int]:
    """The running children of a process."""
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True).stdout
    rows = (line.split() for line in listing.splitlines())
    return [int(own) for own, parent, state in rows if int(parent) == pid and not state.startswith("Z")]
