import json
import multiprocessing
import sys
from array import array
from multiprocessing import resource_tracker
from pathlib import Path

import pytest

from tests.tasks.documents import mc_record, write_list
from vqa_client.tables.data_file import DataFile, read_index
from vqa_client.tasks.longbench import context_length

SENTENCE = "The boats lay at the quay and nobody counted them. "
LENGTHS = {0: 500, 1: 900, 2: 1_800, 3: 6_000, 4: 20_000}
EXPECTED = {0: "<8k", 1: "8k-16k", 2: "16k-24k", 3: ">=64k", 4: ">=64k"}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "vqa-client"


@pytest.fixture
def file(tmp_path: Path) -> DataFile:
    records = [mc_record(str(index), context=SENTENCE * sentences) for index, sentences in LENGTHS.items()]
    return read_index(write_list(tmp_path / "data.json", records))


def sizes(*wanted: int) -> dict[int, int]:
    return {index: len(SENTENCE) * LENGTHS[index] + 2 for index in wanted or LENGTHS}


SHORT = {index: EXPECTED[index] for index in (1, 2)}
"""Where a long one shows no more."""


@pytest.mark.usefixtures("cache")
def test_buckets_are_the_same_counted_here_and_in_processes(file: DataFile, monkeypatch: pytest.MonkeyPatch) -> None:
    here = context_length.buckets(file, sizes())
    monkeypatch.setattr(context_length, "_PROCESS_BYTES", 1)
    monkeypatch.setattr(context_length, "_read", lambda cache: {})
    monkeypatch.setattr("vqa_client.tasks.longbench.context_length.usable_cpus", lambda: 2)
    monkeypatch.setattr(DataFile, "picked", None)  # here, and not in a process of its own
    assert context_length.buckets(file, sizes()) == here == EXPECTED


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("content", ["#!/bin/sh\nexit 1\n", None])
def test_processes_that_can_not_run_cost_time_only(
    tmp_path: Path, file: DataFile, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    python = tmp_path / "python"
    if content:
        python.write_text(content)
        python.chmod(0o755)
    monkeypatch.setattr(context_length, "_PROCESS_BYTES", 1)
    monkeypatch.setattr("vqa_client.tasks.longbench.context_length.usable_cpus", lambda: 2)
    resource_tracker.ensure_running()
    multiprocessing.set_executable(str(python))
    try:
        assert context_length.buckets(file, sizes(*SHORT)) == SHORT
    finally:
        multiprocessing.set_executable(sys.executable)


def test_a_second_run_counts_nothing(cache: Path, file: DataFile, monkeypatch: pytest.MonkeyPatch) -> None:
    context_length.buckets(file, sizes(*SHORT))
    assert [path.name for path in cache.iterdir()] == [f"context-lengths-{file.sha256}.json"]
    monkeypatch.setattr(context_length, "count", None)
    assert context_length.buckets(file, sizes(*SHORT)) == SHORT


def test_what_was_counted_before_is_kept_beside_what_is_new(cache: Path, file: DataFile) -> None:
    for wanted in ([0], [1, 3]):
        context_length.buckets(file, sizes(*wanted))
    (kept,) = cache.iterdir()
    assert json.loads(kept.read_bytes()) == {"0": "<8k", "1": "8k-16k", "3": ">=64k"}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"1": 3}', b'{"1": "huge", "2": "<9k"}', b"\xff"])
def test_a_damaged_cache_is_counted_again(cache: Path, file: DataFile, content: bytes) -> None:
    cache.mkdir(parents=True)
    (cache / f"context-lengths-{file.sha256}.json").write_bytes(content)
    assert context_length.buckets(file, sizes(*SHORT)) == SHORT


def test_a_cache_that_cannot_be_written_is_not_an_error(cache: Path, file: DataFile) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the folder should be")
    assert context_length.buckets(file, sizes(*SHORT)) == SHORT


def test_nothing_to_count_leaves_no_cache(cache: Path, file: DataFile) -> None:
    assert context_length.buckets(file, {}) == {}
    assert not cache.exists()


def test_a_context_that_is_not_text_has_an_unknown_length(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(b'[{"_id": "a", "context": "' + b"\xff" * 9_000 + b'"}]')
    file = read_index(path)
    assert context_length.count((file, array("Q", [0]))) == {0: "unknown"}
