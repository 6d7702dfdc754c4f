"""The image names of a folder, sorted and packed: 40 bytes a name, or 40 for all the numbered pages of a document."""

import heapq
import mmap
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec import Struct

_CHUNK_NAMES = 8192
_BLOCK_ENTRIES = 16
_RELEASE_BYTES = 64 << 10
_END, _TIMES = b"\0", b"/"
"""Neither can stand in a file name."""


class Row(Struct, frozen=True):
    """A name, and `count` - 1 that follow it, where only the number before the suffix grows, each time by one."""

    first: str
    count: int = 1

    def names(self) -> list[str]:
        if self.count == 1:
            return [self.first]
        head, number, suffix = self._parts()
        return [f"{head}{page:0{len(number)}}{suffix}" for page in range(int(number), int(number) + self.count)]

    def named(self, stem: str) -> str | None:
        """The one that is `stem` and a suffix, however many there are."""
        head, number, suffix = self._parts()
        if stem == head + number:
            return self.first
        own = stem.removeprefix(head)
        follows = len(own) == len(number) and own.isascii() and own.isdigit() and head + own == stem
        return stem + suffix if follows and 0 < int(own) - int(number) < self.count else None

    def _parts(self) -> tuple[str, str, str]:
        """What stands before the number, the number, and the suffix; without a number it is empty."""
        stem, dot, suffix = self.first.rpartition(".")
        head = stem.rstrip("0123456789")
        return head, stem[len(head) :], dot + suffix


class SortedNames:
    """Names that are found again by how they begin; one that is given twice is held twice."""

    def __init__(self, names: Iterable[str]) -> None:
        chunks = list(_chunks(names))
        self._count = 0
        self._firsts: list[bytes] = []
        self._starts = array("Q")
        self._packed = mmap.mmap(-1, 1 + sum(map(len, chunks)))
        self._packed.write(_END)
        for number, (first, count) in enumerate(_rows(heapq.merge(*map(_each, chunks)))):
            if number % _BLOCK_ENTRIES == 0:
                self._firsts.append(first)
                self._starts.append(self._packed.tell() - 1)
            self._packed.write(first + (_TIMES + b"%d" % count if count > 1 else b"") + _END)
            self._count += count
        self._starts.append(self._packed.tell() - 1)

    def __len__(self) -> int:
        return self._count

    def after(self, start: str) -> Iterator[Row]:
        """The rows whose first name goes on behind `start` with "-", "." or "_", in order."""
        wanted = _END + _encoded(start)
        at = self._find(wanted, b"-", 0)
        passed = False
        while at >= 0 and self._packed[at : at + len(wanted)] == wanted:
            end = self._packed.find(_END, at + 1)
            behind = self._packed[at + len(wanted)]
            if behind in b"-._":
                yield _row(self._packed[at + 1 : end])
            elif behind > ord("_"):
                return
            elif behind > ord(".") and not passed:  # up to "_" may lie the names of all other documents
                passed = True
                end = self._find(wanted, b"_", end)
            at = end

    def _find(self, wanted: bytes, behind: bytes, start: int) -> int:
        """Where a name begins as `wanted` does, from `start` or shortly before `behind` would stand; -1 for none."""
        block = self._block(wanted[1:] + behind)
        upto = self._starts[min(block + 2, len(self._starts) - 1)]  # the first may be that of the block behind
        return self._packed.find(wanted, max(self._starts[block], start), upto)

    def before(self, name: str) -> Row | None:
        """The last row whose first name is less than `name`."""
        wanted = _encoded(name)
        block = self._block(wanted)
        entries = self._packed[self._starts[block] + 1 : self._starts[min(block + 1, len(self._starts) - 1)]].split(
            _END
        )
        at = bisect_right(entries, wanted)
        return _row(entries[at - 1]) if at and entries[at - 1] else None

    def _block(self, wanted: bytes) -> int:
        return max(bisect_right(self._firsts, wanted) - 1, 0)


def _chunks(names: Iterable[str]) -> Iterator[mmap.mmap]:
    """Sort some thousand names at a time: a list of them all would be larger than anything that is kept.

    Mapped memory goes back to the system at once; what a thread frees of the heap stays with the process.
    """
    left = map(_encoded, names)
    while chunk := sorted(islice(left, _CHUNK_NAMES)):
        text = _END.join(chunk) + _END
        held = mmap.mmap(-1, len(text), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        held.write(text)
        yield held


def _each(chunk: mmap.mmap) -> Iterator[bytes]:
    start = read = 0
    while (end := chunk.find(_END, start)) >= 0:
        yield chunk[start:end]
        start = end + 1
        if start - read > _RELEASE_BYTES:
            read = start - start % mmap.PAGESIZE
            chunk.madvise(mmap.MADV_DONTNEED, 0, read)
    chunk.close()


def _rows(names: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    first, count, following = b"", 0, b""
    for name in names:
        if count and name == following:
            count += 1
        else:
            if count:
                yield first, count
            first, count = name, 1
        following = _following(name)
    if count:
        yield first, count


def _following(name: bytes) -> bytes:
    """The name with the next number in as many digits; none where it has no number or the next one is longer."""
    stem, _, suffix = name.rpartition(b".")
    head = stem.rstrip(b"0123456789")
    digits = len(stem) - len(head)
    after = b"%0*d" % (digits, int(stem[-digits:]) + 1) if digits else b""
    return b"%b%b.%b" % (head, after, suffix) if len(after) == digits > 0 else b""


def _row(entry: bytes) -> Row:
    first, _, count = entry.partition(_TIMES)
    return Row(_decoded(first), int(count or 1))


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")  # whatever a system or a data file calls a name


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogatepass")
