"""A server that becomes slower is distinguished from chance, larger questions and a cold start."""

import random
from typing import Any

import pytest

from tests.reports.paces import quarters, served, start
from vqa_client.reports.bottleneck import grown_latency, grown_memory
from vqa_client.reports.limiting import limits_of
from vqa_client.runs.figures import Quarters
from vqa_client.types import Record


def told(*latencies_s: float, wall_s: object = 60.0, **changes: Any) -> list[str]:
    return grown_latency({"wall_s": wall_s, "quarters": quarters(*latencies_s, **changes)})


def test_a_server_that_grows_slower_is_reported_with_a_way_out() -> None:
    session = start(at_server=31, quarters=quarters(0.5, 0.5, 1.0, 2.0))
    assert told(0.5, 0.5, 1.0, 2.0) == limits_of(session)[1:]
    assert "took 0.50 s in the second quarter of the run and 2.00 s in the last" in limits_of(session)[1]
    assert "restart it and run the same command again" in limits_of(session)[1]


@pytest.mark.parametrize(
    ("latencies_s", "changes"),
    [
        ((9.0, 0.5, 0.5, 0.5), {}),  # a cold start
        ((0.5, 0.5, 0.5, 0.5), {}),
        ((0.5, 0.5, 2.0, 1.0), {}),  # a busy moment that has passed
        ((0.5, 0.5, 0.55, 0.6), {}),  # a fifth
        ((0.5, 0.5, 1.0, 2.0), {"replies": 10}),  # too few
        ((0.5, 0.5, 1.0, 2.0), {"wall_s": 59.0}),  # too short
        ((0.5, 0.5, 1.0, 2.0), {"wall_s": "long"}),
        ((0.5, 0.5, 0.6, 0.7), {"replies": 25}),  # may be chance
        ((0.5, 0.0, 1.0, 2.0), {}),  # no latency is known
        ((0.5, 0.5, 1.0, 2.0), {"prompt_tokens": [100, 100, 200, 400]}),  # longer documents
        ((0.5, 0.5, 1.0, 2.0), {"completion_tokens": [10, 10, 20, 40]}),
        ((0.5, 0.5, 1.0, 2.0), {"request_bytes": [10, 10, 20, 40]}),
    ],
)
def test_latencies_with_another_reason_are_not_a_drift(latencies_s: tuple[float, ...], changes: dict[str, Any]) -> None:
    assert told(*latencies_s, **changes) == []


@pytest.mark.parametrize("given", [None, 3, [], [{"replies": "many"}], quarters(0.5, 1.0), [{"replies": 0}] * 4])
def test_a_start_without_quarters_has_no_drift(given: Any) -> None:
    assert grown_latency({"wall_s": 60.0, "quarters": given}) == []


@pytest.mark.parametrize("spread", [0.2, 0.8, 2.0])
def test_chance_is_not_a_drift(spread: float) -> None:
    chance = random.Random(1)
    for _ in range(300):
        means = (chance.lognormvariate(0, spread / 100**0.5) for _ in range(4))
        assert told(*means, log_spread=spread) == []


class Clock:
    """A clock that the test sets."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.mark.parametrize("growth", [1.0, 1.01])
def test_replies_that_each_take_a_hundredth_longer_are_a_drift(growth: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, found, latency_s = Clock(), Quarters(), 0.05
    monkeypatch.setattr("vqa_client.runs.figures.time", clock)
    found = Quarters()
    for number in range(300):
        latency_s *= growth
        clock.now_s += latency_s
        found.add(Record(question_id=str(number), status="ok", latency_s=latency_s, completion_tokens=5))
    assert len(found.described()) == 4
    assert sum(one["replies"] for one in found.described()) == 300
    assert bool(grown_latency({"wall_s": 60.0, "quarters": found.described()})) == (growth > 1)


def test_only_memory_that_grew_by_half_and_by_a_gigabyte_is_reported() -> None:
    grown = {"server_metrics": [served(1, memory_bytes=[2_100_000_000, 9_400_000_000])]}
    assert grown_memory(grown) == ["The process of http://one:8000/v1 grew from 2.1 to 9.4 GB during the run."]
    for pair in ([600_000_000, 1_500_000_000], [9_000_000_000, 10_500_000_000], [9, 1]):
        assert grown_memory({"server_metrics": [served(1, memory_bytes=pair)]}) == []
    assert grown_memory({"server_metrics": [served(1), 3]}) == grown_memory({"server_metrics": "x"}) == []
