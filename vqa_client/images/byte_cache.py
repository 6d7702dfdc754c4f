"""Caches that forget what was used least recently; the text of files that were looked at and are sent next."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

LIMIT_BYTES = 16 << 20
"""Two documents of 20 pages. Neighbours ask about the same one, so each page is sent soon after it was looked at."""
LARGEST_BYTES = 1 << 20
"""Of a file: an upload holds on to what it sends, and 128 slow uploads of larger ones would contain gigabytes."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LRUCache(Generic[Key, Value]):
    """Keeps values until their weights add up to more than `limit`, then forgets the least recently used.

    A value heavier than the whole limit is not kept at all. For one thread.
    """

    def __init__(self, limit: int, weigh: Callable[[Value], int]) -> None:
        self._limit = limit
        self._weigh = weigh
        self._weight = 0
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key) -> Value | None:
        """Give the value and count it as used, or None."""
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


class ByteCache(threading.local):
    """Keeps the base64 text of files that was used last, by the SHA-256 of their bytes.

    Text that is no longer here is read from its file again: only time depends on it. Each thread, and so each event
    loop, has its own.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._texts: LRUCache[str, bytes] = LRUCache(limit_bytes, len)

    def keep(self, sha256: str, text: bytes) -> None:
        self._texts.put(sha256, text)

    def find(self, sha256: str) -> bytes | None:
        """Give the text, where it is still here."""
        return self._texts.get(sha256)

    def clear(self) -> None:
        self._texts.clear()


BYTE_CACHE = ByteCache()
"""Shared by those who look at files and those who send them."""
