"""Every worker needs a connection; systems allow few open files by default."""

import os
import resource
from collections.abc import Callable

SPARE = 64
"""For the log, the reports, the libraries and the images being read, and some more."""
LEAST_SPARE = 16
"""For the same beside what is open already, where the system allows no more."""


def affordable_workers(wanted: int, note: Callable[[str], None]) -> int:
    """Raise the process's soft limit of open files for so many workers, or say how many it is enough for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + SPARE
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    ceiling = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (ceiling, hard))
    affordable = max(1, ceiling - LEAST_SPARE - len(os.listdir("/dev/fd")))
    if affordable < wanted:
        note(f"{affordable} workers instead of {wanted}: the system allows {hard} open files (ulimit -Hn)")
    return min(wanted, affordable)
