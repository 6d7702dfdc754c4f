"""A limit on the memory of images that were made for questions in flight; they are never on disk."""

import asyncio
import weakref
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from threading import RLock

from vqa_client.types import Image

LIMIT_BYTES = 1 << 30
FIRST_GUESS_BYTES = 8 << 20
"""What a page of 1700 x 2200 takes under noise; counted for each image until the first one is there."""


class MemoryBudget:
    """Delays making images until they fit; frees their share when they are released.

    `kept_bytes` of the limit may be taken permanently, by a cache. A question larger than all the rest is let in
    alone, so that none waits for ever. For one event loop.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES, *, kept_bytes: int) -> None:
        self._limit = limit_bytes
        self._kept = kept_bytes
        self._held = 0
        self._largest = 0
        self._expected = 0
        self._counted: dict[int, weakref.ref[Image]] = {}
        self._lock = RLock()  # images are let go in any thread, and by the garbage collector amid anything
        self._turn = asyncio.Lock()
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    @asynccontextmanager
    async def reserved(self, images: int) -> AsyncIterator[None]:
        """Wait for memory for as many of the largest image so far; `count` what was made before this ends."""
        if self._turn.locked() or not self._has_room(images):
            await self._wait(images)
        self._expected += images
        try:
            yield
        finally:
            self._expected -= images
            self._wake()

    async def _wait(self, images: int) -> None:
        async with self._turn:
            self._waiting = asyncio.get_running_loop(), asyncio.Event()
            while not self._has_room(images):
                await self._waiting[1].wait()
                self._waiting[1].clear()
            self._waiting = None

    def count(self, images: Iterable[Image]) -> None:
        """Count images until they are let go, each once."""
        for image in images:
            with self._lock:
                if id(image) not in self._counted:
                    self._counted[id(image)] = weakref.ref(image, partial(self._let_go, id(image), image.size_bytes))
                    self._held += image.size_bytes
                    self._largest = max(self._largest, image.size_bytes)

    def _has_room(self, images: int) -> bool:
        if self._expected == 0 and self._held <= self._kept:
            return True
        return self._held + (self._expected + images) * (self._largest or FIRST_GUESS_BYTES) <= self._limit

    def _let_go(self, number: int, size_bytes: int, _: object) -> None:
        with self._lock:
            del self._counted[number]
            self._held -= size_bytes
        self._wake()

    def _wake(self) -> None:
        if waiting := self._waiting:
            waiting[0].call_soon_threadsafe(waiting[1].set)
