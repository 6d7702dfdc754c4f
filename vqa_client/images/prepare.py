"""Prepares images for sending: the unchanged file if possible, else encoded again, once, outside the event loop."""

import asyncio
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from threading import RLock

from vqa_client.cpus import usable_cpus
from vqa_client.data_url import BYTE_CACHE, LRUCache
from vqa_client.images.decide import (
    Decision,
    FileKey,
    ImageVerdict,
    Read,
    RefusedImage,
    decide,
    file_key,
    handed_over,
    read,
    read_and_decide,
    read_at_once,
)
from vqa_client.images.steps import Recipe
from vqa_client.tables.inside import split_name
from vqa_client.tables.pictures import is_address, is_object
from vqa_client.types import Image

LIMIT_BYTES = 1 << 30
FIRST_GUESS_BYTES = 8 << 20
"""The bytes of a noisy page of 1700 x 2200; the estimate for each image until the first one is made."""


class MemoryBudget:
    """Limits the memory of images that are made but not yet sent; a question waits until its images fit.

    A cache may keep `kept_bytes` of the limit permanently. A question that needs more than the rest of the limit is
    admitted alone, so that it doesn't wait for ever. For one event loop.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES, *, kept_bytes: int) -> None:
        self._limit = limit_bytes
        self._kept = kept_bytes
        self._held = 0
        self._largest = 0
        self._expected = 0
        self._counted: dict[int, weakref.ref[Image]] = {}
        self._lock = RLock()  # images are released in any thread, and by the garbage collector at any moment
        self._turn = asyncio.Lock()
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    @asynccontextmanager
    async def reserved(self, images: int) -> AsyncIterator[None]:
        """Wait until this many images of the largest size so far fit; call `count` for each image before this ends."""
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
        """Count each image once, until it is released."""
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


INLINE_BYTES = 4 << 20
"""A file of at most this size is read and hashed in the event loop (3 ms at most): a thread would cost more."""
BREATH_BYTES = 256 << 10
AT_ONCE_BYTES = 64 << 10
"""Files of a question of at most this size together are read without yielding to the event loop: with 128 workers and
small images, 125 workers would wait at each yield."""
CACHE_BYTES = 256 << 20
CELL_BYTES = 16 << 20
"""The most recently sent images inside files: neighbouring questions often ask about the same image."""
KNOWN_FILES = 2_048
MAX_THREADS = 16
"""A 12-megapixel image takes some 150 MB while it is decoded and encoded, so more threads would cost gigabytes."""

_Making = asyncio.Future[Decision]
Elsewhere = Callable[[str], Future[Decision]]
"""Decides on the file at a path, in other processes."""

MadeImages = LRUCache[tuple[str, FileKey], ImageVerdict]
"""Images that were encoded again, by variant and file."""


def made_images(limit_bytes: int = CACHE_BYTES) -> MadeImages:
    """Return a cache of encoded images, which drops the least recently used above `limit_bytes`."""
    return LRUCache(limit_bytes, _size)


def _size(made: ImageVerdict) -> int:
    return getattr(made, "size_bytes", 0)


class ImagePreparer:
    """Turns names into images that every server decodes to the same pixels, for one event loop.

    A file without oddities (see `ImageFacts`) and without an asked transform is sent unchanged. Any other is decoded,
    made upright, 8-bit, RGB or grey, opaque and small enough, and encoded: as PNG, or as `image_format`. A lossy
    `image_format` encodes every file, at `image_quality` in 1..100. What was encoded is kept in `made`, which several
    preparers may share, each for a `variant` of its own. With `elsewhere`, that decides on every file instead.
    Encoded images, images inside files and downloaded images stay in memory until they have been sent, within a
    `budget`. With `hands_over`, addresses go to the server unchanged.
    """

    def __init__(
        self,
        recipe: Recipe | None = None,
        *,
        made: MadeImages | None = None,
        elsewhere: Elsewhere | None = None,
        budget: MemoryBudget | None = None,
        variant: str = "",
        hands_over: bool = False,
    ) -> None:
        self._hands_over = hands_over
        self._recipe = recipe or Recipe()
        self._variant = variant
        self._known: LRUCache[FileKey, ImageVerdict] = LRUCache(KNOWN_FILES, lambda _: 1)
        self._made = made or made_images()
        self._cells: LRUCache[FileKey, ImageVerdict] = LRUCache(CELL_BYTES, _size)
        self._budget = budget or MemoryBudget(kept_bytes=CACHE_BYTES + CELL_BYTES)
        self._making: dict[FileKey, _Making] = {}
        self._turn = asyncio.Lock()
        self._since_breath = 0
        self._pool = ThreadPoolExecutor(min(MAX_THREADS, usable_cpus()), thread_name_prefix="images")
        self._fetching = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="fetching")
        self._elsewhere = elsewhere

    async def prepare(self, paths: Sequence[str]) -> tuple[Image, ...]:
        """Prepare the images of one question, decoding several at once.

        The new files of one question are read before those of the next, so that the first question can be sent early.
        Raises `QuestionFailed` "bad_image" for the first image that can't be sent.
        """
        if self._elsewhere is None and all(map(_is_file, paths)):
            return await self._prepare(paths)
        async with self._budget.reserved(len(paths)):
            images = await self._prepare(paths)
            self._budget.count(images)
            return images

    async def _prepare(self, paths: Sequence[str]) -> tuple[Image, ...]:
        keys = [file_key(path) for path in paths]
        started = [self._look_up(key) for key in keys]
        if None in started:
            is_small = sum([key[1] for key in keys if isinstance(key, tuple)]) <= AT_ONCE_BYTES
            async with nullcontext() if is_small else self._turn:
                files = zip(paths, keys, strict=True)
                started = [self._look_up(key) or await self._start(path, key) for path, key in files]
        return tuple([one if isinstance(one, Image) else await _image_of(one) for one in started if one is not None])

    def close(self) -> None:
        """Cancel queued work and end the threads; afterwards nothing can be decoded."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._fetching.shutdown(wait=False, cancel_futures=True)
        BYTE_CACHE.clear()

    async def _start(self, path: str, key: FileKey | RefusedImage) -> ImageVerdict | _Making:
        """Read and decide on a file; `key` identifies its state when the question was asked."""
        if isinstance(key, RefusedImage):
            return key
        if self._hands_over and is_address(path) and not is_object(path):
            return handed_over(path)
        if self._elsewhere is None and split_name(path)[1]:
            return await self._start_inside(path, key)
        if self._elsewhere is None and key[1] <= INLINE_BYTES and not is_address(path):
            actual, verdict = read_and_decide(path, self._recipe, decode=False)
            self._keep(actual, verdict)
            started = self._make_in_pool(path, key) if verdict is None else verdict  # it has to be decoded
            await self._yield_to_loop(key[1])  # other questions wait for the same decoding
            return started
        return self._make_in_pool(path, key)

    async def _start_inside(self, path: str, key: FileKey) -> ImageVerdict | _Making:
        """Read and decide on an image inside a file; the decoder gets the bytes, as the reader may have moved on."""
        file = read_at_once(path)
        if file is None:
            file = await asyncio.get_running_loop().run_in_executor(self._pool, read, path)
        if isinstance(file, RefusedImage):
            return file
        if len(file[1]) <= INLINE_BYTES:
            actual, verdict = decide(file, self._recipe, decode=False)
            self._keep(actual, verdict)
            await self._yield_to_loop(len(file[1]))
            if verdict is not None:
                return verdict
        return self._make_in_pool(path, key, file)

    async def _yield_to_loop(self, size_bytes: int) -> None:
        """Yield to the event loop at times: 128 workers that start with 20 pages each would block it for seconds."""
        self._since_breath += size_bytes
        if self._since_breath >= BREATH_BYTES:
            self._since_breath = 0
            await asyncio.sleep(0)

    def _look_up(self, key: FileKey | RefusedImage) -> ImageVerdict | _Making | None:
        if isinstance(key, RefusedImage):
            return key
        made = self._known.get(key) or self._made.get((self._variant, key)) or self._making.get(key)
        return made or self._cells.get(key)

    def _make_in_pool(self, path: str, key: FileKey, file: Read | None = None) -> _Making:
        making = self._making.get(key)
        if making is None:
            making = asyncio.wrap_future(self._submit(path, file))
            self._making[key] = making
            making.add_done_callback(partial(self._done, key))
        return making

    def _submit(self, path: str, file: Read | None) -> Future[Decision]:
        if self._elsewhere is not None:
            return self._elsewhere(path)
        if file is not None:
            return self._pool.submit(decide, file, self._recipe, decode=True)
        pool = self._fetching if is_address(path) else self._pool
        return pool.submit(read_and_decide, path, self._recipe, decode=True)

    def _done(self, key: FileKey, making: _Making) -> None:
        del self._making[key]
        if not making.cancelled() and making.exception() is None:
            self._keep(*making.result())

    def _keep(self, key: FileKey | None, verdict: ImageVerdict | None) -> None:
        if key is not None and verdict is not None:
            if isinstance(verdict, Image) and verdict.data is not None:
                if verdict.transforms:
                    self._made.put((self._variant, key), verdict)
                else:
                    self._cells.put(key, verdict)
            else:
                self._known.put(key, verdict)


def _is_file(path: str) -> bool:
    return not (split_name(path)[1] or is_address(path))


async def _image_of(started: RefusedImage | _Making) -> Image:
    # Shielded: cancelling one worker must not cancel the image for the others that wait for it.
    verdict = (await asyncio.shield(started))[1] if isinstance(started, asyncio.Future) else started
    if isinstance(verdict, Image):
        return verdict
    if isinstance(verdict, RefusedImage):
        raise verdict.error()
    raise AssertionError("a file was looked at with a decoder and not decided on")
