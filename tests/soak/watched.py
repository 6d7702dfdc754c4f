"""Watches a client's process: its memory and open files, a few times per second."""

import contextlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from statistics import median

EVERY_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One sample: resident memory in bytes and open descriptors."""

    rss_bytes: int
    descriptors: int


class Watch:
    """Samples a process until it or the block ends."""

    def __init__(self, pid: int) -> None:
        self.looks: list[Look] = []
        self._process = Path("/proc") / str(pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on_looking, name="watch")

    def __enter__(self) -> "Watch":
        if self._process.exists():
            self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def grown(self, name: str) -> tuple[float, float]:
        """The median of a figure over the second and over the last quarter of the samples."""
        values = [float(getattr(look, name)) for look in self.looks]
        quarter = max(1, len(values) // 4)
        return median(values[quarter : 2 * quarter] or [0.0]), median(values[-quarter:] or [0.0])

    def most(self, name: str) -> int:
        """The largest value of a figure."""
        return max((getattr(look, name) for look in self.looks), default=0)

    def _go_on_looking(self) -> None:
        with contextlib.suppress(OSError, StopIteration):  # it has ended
            while not self._over.wait(EVERY_S):
                status = (self._process / "status").read_text()
                rss = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
                self.looks.append(
                    Look(rss_bytes=int(rss.split()[1]) * 1024, descriptors=len(os.listdir(self._process / "fd")))
                )
