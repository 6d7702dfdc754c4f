"""Keys numbered as they come, without being kept: a million of them take 20 MB instead of 200."""

from array import array
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

_TABLES = 256
_FIRST_SLOTS = 4
_TAG = 0xFFFF_FFFF


class CompactIndex(Generic[Key]):
    """Gives keys the numbers 0, 1, 2, ... in the order in which they are first seen; `expected` saves growing.

    `holds(number, key)` says, from wherever the caller has its keys, whether a number is that key's. Only 32 bits of a
    key's hash are kept here, and where these agree `holds` is asked, so that two keys are never taken for one. A key
    may have a mark, of 32 bits but 0: one that is looked for with the mark that it had last, and whose hash agrees in
    all 64 bits, is found without asking. The hashes are in open addressing, in many tables that grow one by one: no
    growth is long enough to hold up a loop.
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
        """The number of a key, -1 where it has none, and whether its mark is this one."""
        hashed = hash(key)
        table = self._tables[hashed >> 24 & _TABLES - 1]
        mark = mark and mark ^ (hashed >> 32 & _TAG)
        number = table[self._slot(table, hashed & _TAG, key, mark)] - 1
        return number, number >= 0 and self._marks[number] == mark != 0

    def number(self, key: Key, mark: int = 0) -> int:
        """The number of a key, which is the next one where it has none yet: `len` tells beforehand which that is."""
        hashed = hash(key)
        tag, which = hashed & _TAG, hashed >> 24 & _TABLES - 1
        table = self._tables[which]
        mark = mark and mark ^ (hashed >> 32 & _TAG)
        at = self._slot(table, tag, key)
        if number := table[at]:
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
        """Where in its table a key's number, and one, is, or the empty place where it would be."""
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
