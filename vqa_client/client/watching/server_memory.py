"""How much memory the server's process takes, where it tells, and how many of our sockets still have bytes unsent."""

import os
import re
import stat
import sys
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import httpx2
import msgspec

from vqa_client.client.endpoint import Endpoint
from vqa_client.errors import UNDECODABLE

DESCRIPTORS = Path("/proc/self/fd")

if sys.platform == "linux":
    from fcntl import ioctl
    from termios import TIOCOUTQ

    def unsent_sockets() -> int | None:
        """Count them, in some 2 us a descriptor; None where the system doesn't tell.

        A request is on its way until the server's machine has acknowledged its last byte: what a socket has taken is
        not sent yet, since the system holds megabytes itself. Linux alone answers TIOCOUTQ for sockets (tcp(7)).
        """
        try:
            return sum(_holds_bytes(int(name)) for name in os.listdir(DESCRIPTORS))
        except OSError:
            return None

    def _holds_bytes(descriptor: int) -> bool:
        try:
            return stat.S_ISSOCK(os.fstat(descriptor).st_mode) and any(ioctl(descriptor, TIOCOUTQ, bytes(4)))
        except OSError:  # closed meanwhile, or a kind of socket that has no such queue
            return False

else:

    def unsent_sockets() -> int | None:
        """None: only Linux tells."""
        return None


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
"""Fields of a JSON answer that mean the process's memory, and their unit in bytes."""


async def ask_memory_bytes(endpoint: Endpoint) -> int | None:
    """Ask the server once, about a second for each of two paths at most; None where it doesn't tell or is gone."""
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
    """Read the answer of /metrics (Prometheus text or JSON) or /health (JSON); None where it doesn't tell.

    Several processes behind one address, as with vLLM's API servers, are added up. mlx-vlm tells the peak of its
    arrays (`peak_memory_gb`, in 10^9 bytes), which is no process's memory: it is not taken for one.
    """
    text = body.decode("utf-8", "replace")
    sizes = [_number(value) for value in _RESIDENT.findall(text)]
    if not sizes:
        sizes = [_number(value, unit) for value, unit in _fields(_decoded_json(body))]
    known = [value for value in sizes if value is not None]
    return sum(known) if known else None


def _decoded_json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except UNDECODABLE:
        return None


def _fields(value: Any) -> Iterator[tuple[Any, int]]:
    """The first level of an object and that of the objects in it; deeper ones may be of single requests."""
    if isinstance(value, dict):
        for inner in (value, *(part for part in value.values() if isinstance(part, dict))):
            for name, unit in _UNITS.items():
                if name in inner:
                    yield inner[name], unit
                    return


def _number(value: Any, unit: int = 1) -> int | None:
    try:
        size = float(value) * unit
    except (TypeError, ValueError):
        return None
    return int(size) if 0 < size < float("inf") else None
