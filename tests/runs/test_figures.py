"""What the run file says of a start's latencies, however many there were."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.runs.figures import Latencies


def told(*latencies_s: float) -> dict[str, float]:
    latencies = Latencies()
    for latency_s in latencies_s:
        latencies.add(latency_s)
    return latencies.quantiles()


def test_no_latency_gives_no_figures() -> None:
    assert told() == {}


@given(st.lists(st.floats(min_value=0.01, max_value=3_600), min_size=1, max_size=60))
def test_quantiles_are_those_of_the_sorted_latencies(latencies_s: list[float]) -> None:
    ordered, n = sorted(latencies_s), len(latencies_s)
    found = told(*latencies_s)
    assert found["median"] == pytest.approx(ordered[(n + 1) // 2 - 1], rel=0.003, abs=1e-4)
    assert found["p95"] == pytest.approx(ordered[-(-95 * n // 100) - 1], rel=0.003, abs=1e-4)
    assert found["max"] == round(ordered[-1], 4)


def test_a_hundred_times_as_many_latencies_take_no_more_room() -> None:
    sizes = []
    for n in (1_000, 100_000):
        latencies = Latencies()
        for number in range(n):
            latencies.add(0.5 + number / n)
        sizes.append(sys.getsizeof(latencies._counts))
    assert sizes[0] == sizes[1]
