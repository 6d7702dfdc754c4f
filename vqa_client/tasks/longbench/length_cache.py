"""The context-length buckets of a data file: from the cache, or counted and put there."""

import contextlib
import os
from array import array
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from vqa_client.errors import UNDECODABLE, OutputError
from vqa_client.files import replacing
from vqa_client.tables.data_file import DataFile
from vqa_client.tasks.longbench.context_length import BUCKETS, TokenCounter, bucket
from vqa_client.types import UNKNOWN
from vqa_client.version import cache_folder

_PROCESS_BYTES = 8 << 20
_MOST_PROCESSES = 8


def buckets(file: DataFile, context_bytes: Mapping[int, int]) -> dict[int, str]:
    """Name the bucket of each record in `context_bytes`, which maps its index to the size of its context as JSON."""
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

    processes = 1 if sum(context_bytes.values()) <= _PROCESS_BYTES else min(os.cpu_count() or 1, _MOST_PROCESSES)
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
    """Name the context-length bucket of some records of a file, by index."""
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
        found = msgspec.json.decode(cache.read_bytes(), type=dict[int, str])
    except (OSError, *UNDECODABLE):
        return {}
    return {index: name for index, name in found.items() if name in BUCKETS}


def _write(cache: Path, known: Mapping[int, str]) -> None:
    """Replace the cache in one step; a cache that can't be written costs time later and nothing now."""
    with contextlib.suppress(OutputError), replacing(cache) as file:
        file.write(msgspec.json.encode(dict(sorted(known.items()))))
