"""Reads each page once, in a worker process, and caches its text by the image's SHA-256."""

import asyncio
import hashlib
import multiprocessing
from collections import OrderedDict
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from reader import ocr

KEPT_PAGES = 4096
"""The number of cached texts, about 3 KB each."""


class Readings:
    """Reads pages in `workers` processes; `folder`, if given, stores the texts for later processes."""

    def __init__(self, *, workers: int, folder: Path | None = None, kept_pages: int = KEPT_PAGES) -> None:
        self.workers = workers
        self.asked = 0
        self.read = 0
        self._folder = folder
        self._kept_pages = kept_pages
        self._known: OrderedDict[str, asyncio.Task[str]] = OrderedDict()
        self._pool = self._new_pool()

    async def start(self) -> None:
        """Start the workers now, so that the first page doesn't wait for them; fails if Tesseract can't start."""
        if self._folder:
            self._folder.mkdir(parents=True, exist_ok=True)
        await asyncio.gather(*(asyncio.wrap_future(self._pool.submit(ocr.ready)) for _ in range(self.workers)))

    async def text(self, image: bytes) -> str:
        """The text of a page. Simultaneous requests for one page share one reading.

        Raises ocr.UnreadableImage.
        """
        self.asked += 1
        digest = hashlib.sha256(image).hexdigest()
        task = self._known.get(digest)
        if task is None:
            task = self._known[digest] = asyncio.create_task(self._read(digest, image))
            while len(self._known) > self._kept_pages:
                self._known.popitem(last=False)
        self._known.move_to_end(digest)
        try:
            return await asyncio.shield(task)  # other requests may still wait for it when this one has ended
        except Exception:
            self._known.pop(digest, None)
            raise

    async def close(self) -> None:
        """End the workers; pages that wait to be read are dropped."""
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)

    async def _read(self, digest: str, image: bytes) -> str:
        file = self._folder / f"{digest}.txt" if self._folder else None
        if file and file.is_file():
            return file.read_text(encoding="utf-8")
        text = await self._read_in_worker(image)
        self.read += 1
        if file:
            part = file.with_suffix(".part")
            part.write_text(text, encoding="utf-8")
            part.replace(file)
        return text

    async def _read_in_worker(self, image: bytes) -> str:
        pool = self._pool
        try:
            return await asyncio.wrap_future(pool.submit(ocr.read, image))
        except BrokenProcessPool:
            if self._pool is pool:  # a worker was killed, probably for lack of memory: the next page gets a new pool
                self._pool = self._new_pool()
            raise

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self.workers, multiprocessing.get_context("spawn"), ocr.start_worker)
