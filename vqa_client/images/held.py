"""The bytes of files that were read to be looked at and are about to be sent, so that they are not read twice."""

import threading

from msgspec import Struct

LIMIT_BYTES = 16 << 20
"""Some documents of 20 pages: those whose questions are being sent just now."""


class _Held(Struct):
    data: bytes
    sends: int = 0


class HeldFiles(threading.local):
    """Keeps what was read until every question that has it is sent, under a limit; the oldest give way.

    What is not here any more is read from its file again: nothing but time depends on it. Each thread, and so each
    event loop, has its own.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._left = limit_bytes
        self._held: dict[str, _Held] = {}

    def keep(self, sha256: str, data: bytes) -> None:
        """Keep a file's bytes by their digest."""
        if sha256 not in self._held:
            self._held[sha256] = _Held(data)
            self._left -= len(data)
        while self._left < 0:
            self._drop(next(iter(self._held)))

    def expect(self, sha256: str) -> None:
        """Count a sending to come."""
        held = self._held.get(sha256)
        if held is not None:
            held.sends += 1

    def find(self, sha256: str) -> bytes | None:
        """Give the bytes of this digest, where they are still here."""
        held = self._held.get(sha256)
        return None if held is None else held.data

    def sent(self, sha256: str) -> None:
        """Count a sending as done; after the last one the bytes go."""
        held = self._held.get(sha256)
        if held is not None:
            held.sends -= 1
            if held.sends <= 0:
                self._drop(sha256)

    def clear(self) -> None:
        """Let go of everything."""
        for sha256 in list(self._held):
            self._drop(sha256)

    def _drop(self, sha256: str) -> None:
        self._left += len(self._held.pop(sha256).data)


HELD = HeldFiles()
"""Shared by those who look at files and those who send them."""
