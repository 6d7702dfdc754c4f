"""Every worker needs a connection and, while it uploads, an open file; systems allow few by default."""

import resource
from collections.abc import Callable

SPARE = 64
"""For the log, the reports, the libraries and the files of uploads at once."""


def affordable_workers(wanted: int, note: Callable[[str], None]) -> int:
    """Raise the process's soft limit of open files for so many workers, or say how many it is enough for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + SPARE
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    ceiling = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (ceiling, hard))
    affordable = max(1, ceiling - SPARE)
    if affordable < wanted:
        note(f"{affordable} workers instead of {wanted}: the system allows {hard} open files (ulimit -Hn)")
    return min(wanted, affordable)
