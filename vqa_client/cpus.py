"""The number of usable processors."""

import os

CPU_COUNT = "PYTHON_CPU_COUNT"
"""Python 3.13 uses this variable too."""


def usable_cpus() -> int:
    """The number of processors that this process may use, or $PYTHON_CPU_COUNT."""
    if (limit := os.environ.get(CPU_COUNT, "")).isdecimal() and int(limit):
        return int(limit)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
