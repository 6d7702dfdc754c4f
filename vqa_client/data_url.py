"""An image as the pieces of a `data:` URL, encoded while they are sent, and a cache of encoded files."""

import os
import threading
from binascii import b2a_base64
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from functools import cache
from typing import Generic, TypeVar

from vqa_client.errors import QuestionFailed
from vqa_client.types import Image

LIMIT_BYTES = 16 << 20
"""Two documents of 20 pages. Neighbouring questions share a document, so its pages are sent again soon."""
LARGEST_BYTES = 1 << 20
"""The largest file to cache: 128 slow uploads of larger ones would keep gigabytes in memory."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LRUCache(Generic[Key, Value]):
    """Keeps values until their weights add up to more than `limit`, then drops the least recently used ones.

    Drops a value heavier than the whole limit at once. For one thread.
    """

    def __init__(self, limit: int, weigh: Callable[[Value], int]) -> None:
        self._limit = limit
        self._weigh = weigh
        self._weight = 0
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        """The value, counted as used, or None."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def clear(self) -> None:
        self._values.clear()
        self._weight = 0

    def put(self, key: Key, value: Value) -> None:
        """Keep a value, replacing an older one under the same key."""
        if key in self._values:
            self._weight -= self._weigh(self._values.pop(key))
        self._values[key] = value
        self._weight += self._weigh(value)
        while self._weight > self._limit:
            self._weight -= self._weigh(self._values.popitem(last=False)[1])


class ByteCache(LRUCache[str, bytes], threading.local):
    """Keeps the base64 text of the files read last, by the SHA-256 of their bytes.

    A dropped text is made from its file again. Each thread, and so each event loop, has its own cache.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        super().__init__(limit_bytes, len)

    def get(self, key: str) -> bytes | None:
        """The text, or None. Use doesn't keep it: pages just sent would push out those that are sent next."""
        return self._values.get(key)


BYTE_CACHE = ByteCache()
"""Filled when files are prepared, used when they are sent."""


PIECE_BYTES = 393_216
"""524,288 characters of base64. Most pages are one piece: a document of 20 takes an eighth less CPU than in pieces of
96 KB. Larger pieces save nothing more, and each waiting upload keeps one. A multiple of 3 needs no padding."""


def encoded_size(size_bytes: int) -> int:
    """The characters of base64 for a number of bytes: four for each three bytes begun."""
    return (size_bytes + 2) // 3 * 4


def encoded_pieces(image: Image) -> Iterator[bytes]:
    """Yield an image's base64 text, from the cache, from memory or from its file.

    Raises `QuestionFailed` "bad_image" if the file is gone or its size is no longer `image.size_bytes`; before the
    first piece, unless the file changes later.
    """
    if image.data is None and (text := BYTE_CACHE.get(image.sha256)) is not None:
        piece_characters = PIECE_BYTES // 3 * 4
        for start in range(0, len(text), piece_characters):
            yield text[start : start + piece_characters]
        return
    pieces = _file_pieces(image) if image.data is None else _data_pieces(image, image.data)
    encode = _encoder()
    for piece in pieces:
        yield encode(piece)


def keep_encoded(image: Image, data: bytes) -> None:
    """Cache a file's text for the next questions, unless the file is large."""
    if len(data) <= LARGEST_BYTES:
        BYTE_CACHE.put(image.sha256, _encoder()(data))


def _data_pieces(image: Image, data: bytes) -> Iterator[memoryview]:
    if len(data) != image.size_bytes:
        raise changed(image)
    view = memoryview(data)
    return (view[start : start + PIECE_BYTES] for start in range(0, len(data), PIECE_BYTES))


def _file_pieces(image: Image) -> Iterator[bytes]:
    """Read each piece with bare system calls, and close the file before the piece is sent."""
    first: os.stat_result | None = None
    try:
        for start in range(0, image.size_bytes, PIECE_BYTES):
            piece, state = _read_piece(image, start, min(start + PIECE_BYTES, image.size_bytes))
            first = first or state
            if not os.path.samestat(state, first):
                raise changed(image)
            yield piece
    except OSError as error:
        raise QuestionFailed("bad_image", f"{image.path}: {error.strerror}", transient=True) from None


def _read_piece(image: Image, start: int, end: int) -> tuple[bytes, os.stat_result]:
    """The bytes from `start` to `end`, and the file's state."""
    descriptor = os.open(image.path, os.O_RDONLY)
    try:
        state = os.fstat(descriptor)
        if state.st_size != image.size_bytes:
            raise changed(image)
        piece = os.pread(descriptor, end - start, start)
        while len(piece) < end - start:
            more = os.pread(descriptor, end - start - len(piece), start + len(piece))
            if not more:
                raise changed(image)
            piece += more
        if end == image.size_bytes and os.pread(descriptor, 1, end):
            raise changed(image)
        return piece, state
    finally:
        os.close(descriptor)


@cache
def _encoder() -> Callable[[bytes | memoryview], bytes]:
    try:
        import pybase64
    except ImportError:
        return lambda data: b2a_base64(data, newline=False)
    return pybase64.b64encode


def changed(image: Image) -> QuestionFailed:
    """The failure of a question whose image file was written to while it was being sent."""
    return QuestionFailed(
        "bad_image",
        f"{image.path or image.name}: changed while it was being sent; it had {image.size_bytes} bytes",
        hint="run again once nothing writes to the image folder",
        transient=True,
    )
