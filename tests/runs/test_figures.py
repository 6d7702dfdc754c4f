"""The figures of a start in the run file: latencies, and the states of its workers."""

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.runs.figures import Latencies, Pace, Quarters, SessionFigures
from vqa_client.types import Record


def told(*latencies_s: float) -> dict[str, float]:
    latencies = Latencies()
    for latency_s in latencies_s:
        latencies.add(latency_s)
    return latencies.quantiles()


def test_without_latencies_there_are_no_figures() -> None:
    assert told() == {}


@given(st.lists(st.floats(min_value=0.01, max_value=3_600), min_size=1, max_size=60))
def test_quantiles_are_those_of_the_sorted_latencies(latencies_s: list[float]) -> None:
    ordered, n = sorted(latencies_s), len(latencies_s)
    found = told(*latencies_s)
    assert found["median"] == pytest.approx(ordered[(n + 1) // 2 - 1], rel=0.003, abs=1e-4)
    assert found["p95"] == pytest.approx(ordered[-(-95 * n // 100) - 1], rel=0.003, abs=1e-4)
    assert found["max"] == round(ordered[-1], 4)


def test_a_hundred_times_as_many_latencies_take_no_more_memory() -> None:
    sizes = []
    for n in (1_000, 100_000):
        latencies = Latencies()
        for number in range(n):
            latencies.add(0.5 + number / n)
        sizes.append(sys.getsizeof(latencies._counts))
    assert sizes[0] == sizes[1]


def record(latency_s: float, **more: Any) -> Record:
    return Record(question_id="q", status="ok", latency_s=latency_s, **more)


def test_a_start_sums_what_its_questions_took() -> None:
    figures = SessionFigures()
    figures.add(record(2.0, attempts=3, request_bytes=100, prompt_tokens=10, completion_tokens=9, ttft_s=0.4))
    figures.add(record(1.0, attempts=1, request_bytes=50, completion_tokens=1, ttft_s=0.5))  # its end is its start
    figures.add(Record(question_id="q", status="timeout", attempts=1))
    described = figures.described(["temperature"], {"server": {"memory_bytes": 7}})
    assert described.pop("started").endswith("+00:00")
    assert described.pop("wall_s") >= 0
    assert described == {
        "questions": 3,
        "requests": 5,
        "timeouts": 1,
        "sent_bytes": 350,
        "prompt_tokens": 10,
        "completion_tokens": 10,
        "latency_s": {"median": pytest.approx(1.0, rel=0.003), "p95": 2.0, "max": 2.0},
        "ttft_s": {"median": pytest.approx(0.4, rel=0.003), "p95": pytest.approx(0.5, rel=0.003), "max": 0.5},
        "reply_tokens_per_s": {"median": 5.0, "p95": 5.0, "max": 5.0},
        "loop_stall_max_s": 0.0,
        "dialect": ["temperature"],
        "quarters": [],
        "server": {"memory_bytes": 7},
    }


@pytest.mark.parametrize("scale", [1.0, 8.0], ids=["two seconds", "more than the spans take"])
def test_the_quarters_of_a_start_have_the_means_of_their_records(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    monkeypatch.setattr("vqa_client.runs.figures.time", SimpleNamespace(monotonic=lambda: now_s))
    quarters = Quarters()
    ends = [(0.0, 1.0), (0.1, 4.0), (0.6, 3.0), (0.6, 0.0), (2.0, 2.0)]
    for at_s, latency_s in ends:
        now_s = scale * at_s
        quarters.add(record(latency_s, prompt_tokens=3, completion_tokens=5, request_bytes=7))
    sizes = {"prompt_tokens": 3.0, "completion_tokens": 5.0, "request_bytes": 7}
    one = {"replies": 1, "log_spread": 0.0, **sizes}
    assert quarters.described() == [
        {"replies": 2, "latency_s": 2.0, "log_spread": 0.6931, **sizes},
        {**one, "latency_s": 3.0},
        {"replies": 0},
        {**one, "latency_s": 2.0},
    ]
    now_s = 0.0
    short = Quarters()
    now_s = 0.5
    short.add(record(1.0))
    assert short.described() == []  # fewer spans than quarters
    now_s = 0.75
    short.add(record(1.0))
    assert [quarter["replies"] for quarter in short.described()] == [0, 0, 1, 1]
    now_s = 0.0
    even = Quarters()
    for second in range(40):  # the spans grow three times
        now_s = float(second)
        even.add(record(1.0))
    assert [quarter["replies"] for quarter in even.described()] == [10, 10, 10, 10]


WORKERS = {"idle": 12.0, "preparing": 2.0, "repeating": 1.0, "paused": 2.0, "sending": 1.0, "at_server": 2.0}


@pytest.mark.parametrize(
    ("left_s", "unsent", "on_break", "expected"),
    [
        (0.0, 1, False, WORKERS),
        (9.0, 1, False, WORKERS | {"preparing": 0.0, "paused": 4.0}),
        (0.0, None, False, WORKERS | {"sending": None, "at_server": 3.0}),
        (0.0, 99, False, WORKERS | {"sending": 3.0, "at_server": 0.0}),
        (9.0, 1, True, None),
    ],
    ids=["at work", "all servers paused", "no word of sockets", "sockets of others", "on a break"],
)
async def test_a_start_counts_its_workers_by_state(
    left_s: float, unsent: int | None, on_break: bool, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = iter([(10.0, 5.0, 1.0), *[(12.0, 6.0, 1.5)] * 100])
    for name, value in {
        "TICK_S": 0.0,
        "TICKS_PER_SAMPLE": 2,
        "unsent_sockets": lambda: unsent,
        "_clocks": lambda: next(clocks),
    }.items():
        monkeypatch.setattr(f"vqa_client.runs.figures.{name}", value)
    window = SimpleNamespace(waiting=1)
    alone = SimpleNamespace(outstanding=3, lost=False, pause=SimpleNamespace(left_s=left_s), window=window)
    gone = SimpleNamespace(
        outstanding=0, lost=True, pause=SimpleNamespace(left_s=1.0), window=SimpleNamespace(waiting=0)
    )
    routes = SimpleNamespace(all=(alone, gone), repeating=1, allowance=SimpleNamespace(waiting=1))
    pace, pulses, seen = Pace(), list[float](), asyncio.Event()

    def pulse(seconds: float) -> None:
        pulses.append(seconds)
        if len(pulses) == 3:
            seen.set()

    crew: Any = SimpleNamespace(on_break=on_break, useful=20, in_flight=8)
    watching = asyncio.create_task(pace.watch(routes, crew, pulse))  # type: ignore[arg-type]
    await seen.wait()
    watching.cancel()
    assert set(pulses) == {left_s}
    described = pace.described()
    if expected is None:
        assert described == {}
        return
    late_s = described["client"].pop("loop_late_s")
    assert 0 <= late_s <= pace.stall_s + 1e-5
    assert described == {
        "workers": {"most": 20, **expected},
        "client": {"watched_s": 2.0, "cpu": 0.5, "loop_cpu": 0.25},
    }
