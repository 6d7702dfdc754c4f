"""The machine that the client runs on; what serves the model is known only where the server tells."""

import os
import platform
import resource
import sys
from typing import Any

_GIB = 1 << 30


def machine() -> dict[str, Any]:
    """The published framework's keys; a client has no torch and no accelerator, so these are null."""
    return {
        "device": platform.platform(terse=True) + f" {platform.machine()}",
        "memory": _installed(),
        "mps_available": None,
        "torch_version": None,
        "python_version": sys.version.replace("\n", " "),
    }


def memory_of_client() -> dict[str, int | None]:
    """Bytes of this process in memory, now (null where the system doesn't say) and at most so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "client_rss_bytes": _resident(),
        "client_peak_rss_bytes": peak if sys.platform == "darwin" else peak * 1024,
    }


def _installed() -> str | None:
    try:
        return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / _GIB:.0f}GB"
    except (ValueError, OSError):
        return None


def _resident() -> int | None:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None
