"""Keys numbered as they come, without being kept: a million of them take 20 MB instead of 200."""

from array import array
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

_TABLES = 256
_FIRST_SLOTS = 4
_TAG = 0xFFFF_FFFF


class Numbering(Generic[Key]):
    """Gives keys the numbers 0, 1, 2, ... in the order in which they are first seen.

    `holds(number, key)` says, from wherever the caller has its keys, whether a number is that key's. Only 32 bits of a
    key's hash are kept here, and where these agree `holds` is asked, so that two keys are never taken for one. The
    hashes lie in open addressing, in many tables that grow one by one: no growth is long enough to hold up a loop.
    """

    def __init__(self, holds: Callable[[int, Key], bool]) -> None:
        self._holds = holds
        self._tags = array("I")
        self._tables = [array("I", bytes(4 * _FIRST_SLOTS)) for _ in range(_TABLES)]
        self._taken = array("I", bytes(4 * _TABLES))

    def __len__(self) -> int:
        return len(self._tags)

    def find(self, key: Key) -> int:
        """The number of a key, -1 where it has none."""
        return self._find(key, hash(key) & _TAG)

    def _find(self, key: Key, tag: int) -> int:
        table, tags = self._tables[tag >> 24], self._tags
        size = len(table)
        at = tag % size
        while after := table[at]:  # the number and one: 0 is an empty slot
            if tags[after - 1] == tag and self._holds(after - 1, key):
                return after - 1
            at += 1
            if at == size:
                at = 0
        return -1

    def number(self, key: Key) -> int:
        """The number of a key, which is the next one where it has none yet: `len` tells beforehand which that is."""
        tag = hash(key) & _TAG
        which = tag >> 24
        found = self._find(key, tag)
        if found >= 0:
            return found
        self._tags.append(tag)
        self._taken[which] += 1
        if self._taken[which] * 4 > len(self._tables[which]) * 3:
            self._tables[which] = self._grown(self._tables[which])
        _put(self._tables[which], tag, len(self._tags))
        return len(self._tags) - 1

    def _grown(self, table: "array[int]") -> "array[int]":
        grown = array("I", bytes(4 * (len(table) * 2)))
        for after in table:
            if after:
                _put(grown, self._tags[after - 1], after)
        return grown


def _put(table: "array[int]", tag: int, after: int) -> None:
    at = tag % len(table)
    while table[at]:
        at = (at + 1) % len(table)
    table[at] = after
