"""Local copies of objects: the folders that were used least recently make room for new ones."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from vqa_client.errors import UsageError
from vqa_client.files import alone_in, removed_unlocked
from vqa_client.version import cache_folder

VARIABLE, USUAL_GB, GIGABYTE = "VQA_CLIENT_CACHE_GB", "20", 1e9
_held: dict[Path, int] = {}
"""Folders that this process uses, with the descriptors whose shared locks keep them from being removed."""


def hold(name: str) -> Path:
    """The folder of this name, which no process removes before this one ends; raises OSError."""
    folder = cache_folder() / "objects" / name
    while folder not in _held:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(OSError):  # a file system without locks, where nothing is removed either
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        if folder.exists() and os.path.samestat(os.fstat(descriptor), folder.stat()):
            _held[folder] = descriptor
        else:  # another process removed it before it was locked
            os.close(descriptor)
    os.utime(folder)
    return folder


def make_room(size_bytes: float) -> None:
    """Remove folders that no process uses, the least recently used first, until so much more is within the bound."""
    root, over = cache_folder() / "objects", size_bytes - _most_bytes()
    with alone_in(root):
        sizes = {folder: _size(folder) for folder in root.iterdir()}
        over += sum(sizes.values())
        for folder in sorted(sizes, key=lambda path: path.stat().st_mtime):
            if over > 0 and removed_unlocked(folder):
                over -= sizes[folder]


def _size(folder: Path) -> int:
    size_bytes = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # a copy that has just got its name
            size_bytes += path.stat().st_size
    return size_bytes


def _most_bytes() -> float:
    given = os.environ.get(VARIABLE) or USUAL_GB
    try:
        if (most := float(given) * GIGABYTE) >= 0:
            return most
    except ValueError:
        pass
    raise UsageError(f"{VARIABLE} is {given!r}; it must be a number of at least 0", hint="gigabytes of local copies")
