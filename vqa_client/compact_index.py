"""Numbers keys without keeping them: a million keys take 20 MB instead of 200."""

from array import array
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

_TABLES = 256
"""A table for each value of a tag's upper eight bits."""
_FIRST_SLOTS = 4
_TAG = 0xFFFF_FFFF


class CompactIndex(Generic[Key]):
    """Gives keys the numbers 0, 1, 2, ... in the order in which they come; about `expected` keys are expected.

    Only 32 bits of a key's hash are kept. If they agree, the caller's `holds(number, key)` decides whether the number
    is that key's, so that two keys are never confused. A key may have a mark of 32 bits, not 0: a key with the mark
    that it had last, and whose hash agrees in all 64 bits, is found without calling `holds`. The hash tables use open
    addressing. There are many, and each grows by itself, so that growing never blocks the event loop for long.
    """

    def __init__(self, holds: Callable[[int, Key], bool], expected: int = 0) -> None:
        self._holds = holds
        self._tags = array("I")
        self._marks = array("I")
        slots = max(_FIRST_SLOTS, 3 * expected // (2 * _TABLES))
        self._tables = [array("I", bytes(4 * slots)) for _ in range(_TABLES)]
        self._taken = array("I", bytes(4 * _TABLES))

    def __len__(self) -> int:
        return len(self._tags)

    def find(self, key: Key, mark: int = 0) -> tuple[int, bool]:
        """The number of a key, or -1, and whether its mark is this one."""
        hashed = hash(key)
        tag = hashed & _TAG
        table = self._tables[tag >> 24]
        mark = mark and mark ^ (hashed >> 32 & _TAG)
        number = table[tag % len(table)] - 1
        if mark and number >= 0 and self._tags[number] == tag and self._marks[number] == mark:  # in its first slot
            return number, True
        number = table[self._slot(table, tag, key, mark)] - 1
        return number, number >= 0 and self._marks[number] == mark != 0

    def number(self, key: Key, mark: int = 0) -> int:
        """The number of a key; a new key gets the next number, which is `len` before the call."""
        hashed = hash(key)
        tag = hashed & _TAG
        table = self._tables[which := tag >> 24]
        mark = mark and mark ^ (hashed >> 32 & _TAG)
        at = tag % len(table)
        if table[at] and (number := table[at := self._slot(table, tag, key)]):
            self._marks[number - 1] = mark
            return number - 1
        self._tags.append(tag)
        self._marks.append(mark)
        table[at] = number = len(self._tags)
        self._taken[which] += 1
        if self._taken[which] * 4 > len(table) * 3:
            self._tables[which] = self._grown(table)
        return number - 1

    def _slot(self, table: "array[int]", tag: int, key: Key, mark: int = 0) -> int:
        """The slot of a key, whose value is its number plus one, or the empty slot where it belongs."""
        tags, size = self._tags, len(table)
        at = tag % size
        while (after := table[at]) and not (
            tags[after - 1] == tag and (self._marks[after - 1] == mark != 0 or self._holds(after - 1, key))
        ):
            at += 1
            if at == size:
                at = 0
        return at

    def _grown(self, table: "array[int]") -> "array[int]":
        size = 2 * len(table)
        grown = array("I", bytes(4 * size))
        for after in filter(None, table):
            at = self._tags[after - 1] % size
            while grown[at]:
                at = (at + 1) % size
            grown[at] = after
        return grown
