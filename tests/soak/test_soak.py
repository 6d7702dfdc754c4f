"""A short soak, and what it is made of."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.received import Received
from tests.soak import benchmark
from tests.soak.clock import Clock
from tests.soak.disk import small_disk
from tests.soak.kept import kept_in
from tests.soak.mixture import AROUND, INSTEAD, Mixture
from tests.soak.soak import Plan, soak
from tests.soak.watched import Look, Watch

SHORT = Plan(minutes=0.25, questions=1_000, workers=128, seed=11)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_nothing_is_lost_asked_twice_or_reported_differently_when_everything_fails(tmp_path: Path) -> None:
    outcome = soak(SHORT, tmp_path)
    assert outcome.wrong == []
    assert outcome.figures["records"].endswith("for 1000 questions")


def test_a_clock_jumps_only_in_the_child(tmp_path: Path) -> None:
    clock = Clock(tmp_path)
    if clock.reason:
        pytest.skip(clock.reason)
    clock.jump(-86_400)
    code = "import time, datetime; print(time.time(), time.monotonic(), datetime.datetime.now().timestamp())"
    told = subprocess.run([sys.executable, "-c", code], env=clock.variables, capture_output=True, text=True, check=True)
    wall_s, monotonic_s, date_s = map(float, told.stdout.split())
    assert abs(wall_s + 86_400 - time.time()) < 30
    assert abs(date_s - wall_s) < 5
    assert 0 <= time.monotonic() - monotonic_s < 30


def test_a_full_disk_takes_a_few_more_bytes_and_a_freed_one_many(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4_000_000) as disk:
        if not disk.mounted:
            pytest.skip("this user may not mount a small file system")
        disk.fill()
        with pytest.raises(OSError, match="space"):
            (disk.folder / "x").write_bytes(bytes(1_000_000))
        disk.free()
        (disk.folder / "x").write_bytes(bytes(1_000_000))


def test_every_fault_is_drawn_and_refusals_always_come_through() -> None:
    mixture = Mixture(seed=3, workers=1)
    mixture.last(0, 1)
    for number in range(20_000):
        asked = Received(
            number=1, connection=1, turn=1, kind="vllm", method="POST", path="/", headers={}, started_s=0.0,
            prompt=f"[[q{number % 100}]]",
        )  # fmt: skip
        wait, play = mixture(asked)  # type: ignore[misc]
        assert wait
        if benchmark.is_refused(number % 100):
            assert play == benchmark.reply(number % 100)
    assert set(mixture.faults) == {*INSTEAD, *AROUND}


def test_half_a_line_is_not_a_record(tmp_path: Path) -> None:
    log = tmp_path / "x.records.jsonl"
    assert kept_in(log).done == set()
    log.write_bytes(
        b'{"question_id":"a","status":"timeout"}\n{"question_id":"a","status":"ok"}\n'
        b'{"question_id":"b","status":"timeout"}\n{"question_id":"c","sta'
    )
    kept = kept_in(log)
    assert (kept.done, kept.lines, kept.statuses["a"]) == ({"a"}, 3, ["timeout", "ok"])


def test_growth_is_seen_between_the_second_and_the_last_quarter() -> None:
    watch = Watch(0)
    watch.looks = [Look(rss_bytes=number, descriptors=9) for number in range(100)]
    assert watch.grown("rss_bytes") == (37, 87)
    assert watch.grown("descriptors") == (9, 9)


def test_the_benchmark_has_questions_that_always_fail(tmp_path: Path) -> None:
    _, pages = benchmark.write(tmp_path, 200)
    assert sum(map(benchmark.is_refused, range(200))) == 6
    sizes = {number: (pages / f"clean/images/q{number}_page_001.png").stat().st_size for number in (27, 77)}
    assert sizes[77] == sizes[27] // 2
