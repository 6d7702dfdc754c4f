"""A mapping that keeps what was used last, under a limit of weight."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Keeps values until their weights add up to more than `limit`, then forgets the least recently used.

    A value heavier than the whole limit is not kept at all. For one thread.
    """

    def __init__(self, limit: int, weigh: Callable[[Value], int]) -> None:
        self._limit = limit
        self._weigh = weigh
        self._held = 0
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
        self._held = 0

    def put(self, key: Key, value: Value) -> None:
        """Keep a value, in the place of an older one under the same key."""
        if key in self._values:
            self._held -= self._weigh(self._values.pop(key))
        self._values[key] = value
        self._held += self._weigh(value)
        while self._held > self._limit:
            self._held -= self._weigh(self._values.popitem(last=False)[1])
