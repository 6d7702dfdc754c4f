"""How many processors there are to use."""

import os

CPU_COUNT = "PYTHON_CPU_COUNT"
"""The variable by which Python 3.13 takes a number of processors, too."""


def usable_cpus() -> int:
    """How many processors this process may use, or as many as $PYTHON_CPU_COUNT says."""
    if (limit := os.environ.get(CPU_COUNT, "")).isdecimal() and int(limit):
        return int(limit)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
