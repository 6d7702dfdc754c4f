"""A small disk that the soak can fill and free again."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOM_BYTES = 64 * 1024


class SmallDisk:
    """A folder on its own disk; if `mounted` is false, it is a plain folder that never fills."""

    def __init__(self, folder: Path, *, mounted: bool) -> None:
        self.folder = folder
        self.mounted = mounted
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Fill the disk except for a few dozen records."""
        free = shutil.disk_usage(self.folder).free
        with self._ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, free - ROOM_BYTES))

    def free(self) -> None:
        """Free the disk."""
        self._ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[SmallDisk]:
    """Mount a file system in memory there, if this user may."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(folder)]
    mounted = bool(shutil.which("mount")) and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield SmallDisk(folder, mounted=mounted)
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
