"""The bytes of files that were read to be looked at and are about to be sent, so that they are not read twice."""

import threading

from vqa_client.images.recent import Recent

LIMIT_BYTES = 16 << 20
"""Two documents of 20 pages. Neighbours ask about the same one, so each page is sent soon after it was looked at."""
LARGEST_BYTES = 1 << 20
"""An upload holds on to what it sends: 128 slow uploads of larger files would contain gigabytes."""


class HeldFiles(threading.local):
    """Keeps the bytes that were used last, by their SHA-256.

    What is not here any more is read from its file again: nothing but time depends on it. Each thread, and so each
    event loop, has its own.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES, largest_bytes: int = LARGEST_BYTES) -> None:
        self._largest = largest_bytes
        self._files: Recent[str, bytes] = Recent(limit_bytes, len)

    def keep(self, sha256: str, data: bytes) -> None:
        """Keep a file's bytes, unless they are too many."""
        if len(data) <= self._largest:
            self._files.put(sha256, data)

    def find(self, sha256: str) -> bytes | None:
        """Give the bytes, where they are still here."""
        return self._files.get(sha256)

    def clear(self) -> None:
        self._files.clear()


HELD = HeldFiles()
"""Shared by those who look at files and those who send them."""
