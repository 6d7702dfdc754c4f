"""The memory of the server's process, if it reports it, and the number of our sockets with unsent bytes."""

import os
import re
import stat
from fcntl import ioctl
from http import HTTPStatus
from pathlib import Path
from termios import TIOCOUTQ
from typing import Any, Final

import httpx2

from vqa_client.client.allowance import number
from vqa_client.client.endpoint import Endpoint
from vqa_client.client.probe import json_object

DESCRIPTORS = Path("/proc/self/fd")


def unsent_sockets() -> int | None:
    """Count them, in some 2 us per descriptor; None on systems other than Linux.

    The system buffers megabytes: a request is sent only once the server's machine has acknowledged its last byte. Only
    Linux answers TIOCOUTQ for sockets (tcp(7)), and only Linux lists DESCRIPTORS.
    """
    try:
        return sum(_holds_bytes(int(name)) for name in os.listdir(DESCRIPTORS))
    except OSError:
        return None


def _holds_bytes(descriptor: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode) and any(ioctl(descriptor, TIOCOUTQ, bytes(4)))
    except OSError:  # closed meanwhile, or a kind of socket without such a queue
        return False


ASK_S = 1.0
_PATHS: Final = ("/metrics", "/health")
_RESIDENT = re.compile(
    r"^(?:process_resident_memory_bytes|\w+[:_]process_resident_memory_bytes)(?:\{[^}\n]*\})?[ \t]+([0-9.eE+]+)",
    re.MULTILINE,
)
_UNITS: Final = {
    "process_resident_memory_bytes": 1,
    "resident_memory_bytes": 1,
    "memory_bytes": 1,
    "rss_bytes": 1,
    "memory_rss_bytes": 1,
    "memory_mb": 1 << 20,
    "rss_mb": 1 << 20,
    "memory_gb": 1 << 30,
    "rss_gb": 1 << 30,
}
"""Fields of a JSON reply for the process's memory, and their unit in bytes."""


async def ask_memory_bytes(endpoint: Endpoint) -> int | None:
    """Ask the server once, for at most a second at each of two paths; None if it doesn't report it or is gone."""
    for path in _PATHS:
        try:
            response = await endpoint.at_root().get(path, timeout_s=ASK_S)
        except httpx2.TransportError:
            continue
        size_bytes = memory_bytes(response.content) if response.status_code == HTTPStatus.OK else None
        if size_bytes is not None:
            return size_bytes
    return None


def memory_bytes(body: bytes) -> int | None:
    """Read the reply of /metrics (Prometheus text or JSON) or /health (JSON); None if it doesn't contain the memory.

    Adds up several processes behind one address, such as vLLM's API servers. Ignores mlx-vlm's `peak_memory_gb`, which
    is the peak of its arrays and not the process's memory.
    """
    sizes = [number(text) for text in _RESIDENT.findall(body.decode("utf-8", "replace"))]
    known = [int(size) for size in sizes or [_reported_size(json_object(body))] if size]
    return sum(known) if known else None


def _reported_size(report: dict[str, Any]) -> float | None:
    """The size in bytes in the first known field of an object or of the objects in it; deeper ones are per request."""
    for part in (report, *(part for part in report.values() if isinstance(part, dict))):
        for name, unit in _UNITS.items():
            if name in part:
                size = number(part[name])
                return None if size is None else number(size * unit)
    return None
