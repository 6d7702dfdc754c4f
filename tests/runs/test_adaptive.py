"""`--max_workers auto`: the search as a pure function, and a run at a server with a limit of requests at once."""

import asyncio
import math
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import answer, beyond_in_flight, delay, error
from tests.faults.questions import Notes, Questions
from vqa_client.evaluation import arun
from vqa_client.runner import Crew
from vqa_client.runs.adaptive import MOST, MOST_UNCHANGED, Adaptive, Measurement, Search, next_search
from vqa_client.types import Record

KNOWN = (16, 160.0)
"""Sixteen workers had 160 answers per second: 0.1 s each."""


@pytest.mark.parametrize(
    ("now", "seen", "size", "why"),
    [
        (Search(size=16), Measurement(latency_s=0.1), 32, ""),
        (Search(size=32, below=KNOWN), Measurement(latency_s=0.1), 64, ""),
        (Search(size=32, below=KNOWN), Measurement(latency_s=0.15), 64, ""),  # a third more answers a second
        (Search(size=32, below=KNOWN), Measurement(latency_s=0.2), 16, "latency"),
        (Search(size=18, below=KNOWN), Measurement(latency_s=0.2), 36, ""),  # too close to compare
        (Search(size=32, below=KNOWN), Measurement(latency_s=0.1, refused=True), 16, "refused"),
        (Search(size=1), Measurement(refused=True), 1, "refused"),
        (Search(size=28, too_many=32, why="refused"), Measurement(latency_s=0.1, room=24), 24, "refused"),
        (Search(size=16, too_many=32, why="refused"), Measurement(latency_s=0.1), 24, "refused"),
        (Search(size=24, too_many=25, why="refused"), Measurement(latency_s=0.1), 24, "refused"),
        (
            Search(size=24, too_many=25, why="refused", unchanged=MOST_UNCHANGED),
            Measurement(latency_s=0.1),
            24,
            "refused",
        ),
        (Search(size=64), Measurement(latency_s=0.1, running=40, waiting=24), 40, "queue"),
        (Search(size=64), Measurement(latency_s=0.1, running=4, waiting=60), 32, "queue"),
        (Search(size=64), Measurement(latency_s=0.1, running=60, waiting=4), 128, ""),  # that few keep it busy
        (Search(size=MOST), Measurement(latency_s=0.1), 1_024, "most"),
        (Search(size=600), Measurement(latency_s=0.1), 1_024, "most"),
        (Search(size=16), Measurement(), 16, ""),  # nothing was answered
    ],
)
def test_workers_double_until_they_are_too_many(now: Search, seen: Measurement, size: int, why: str) -> None:
    found = next_search(now, seen, MOST)
    assert (found.size, found.why) == (size, why)


@pytest.mark.parametrize("takes", [1, 3, 24, 100, 700])
def test_the_search_comes_close_to_the_limit_of_a_server_that_refuses_more(takes: int) -> None:
    sizes, search = [], Search(size=16)
    for _ in range(60):
        search = next_search(search, Measurement(latency_s=0.1, refused=search.size > takes), MOST)
        sizes.append(search.size)
    usual = median(sizes[15:])
    assert 0.8 * takes <= usual <= takes
    assert all(later <= 2 * size for size, later in pairwise(sizes))
    assert max(sizes[40:]) > usual  # more are tried again


@pytest.mark.parametrize("takes", [20, 48, 300])
def test_the_search_stops_when_a_server_only_queues_more_requests(takes: int) -> None:
    search = Search(size=16)
    for _ in range(25):
        search = next_search(search, Measurement(latency_s=0.1 * max(1.0, search.size / takes)), MOST)
    assert (takes <= search.size <= 2 * takes, search.why) == (True, "latency")


async def test_only_answers_to_questions_that_began_with_the_present_number_of_workers_are_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vqa_client.runs.adaptive.TICK_S", 0.0)
    crew = Crew(2)
    crew.in_flight = 2
    route = SimpleNamespace(lost=False, window=SimpleNamespace(size=math.inf, refusals=0))

    async def queue(since_s: float) -> tuple[float, float]:
        return 30.0, 2.0

    adaptive = Adaptive(crew, cast(Any, SimpleNamespace(all=[route])), queue, active=True)
    watch = asyncio.create_task(adaptive.watch())
    await asyncio.sleep(0)
    for n in range(1, 11):  # two began before, and eight are enough
        adaptive.finished(Record(question_id="q", status="ok", latency_s=0.1))
        for _ in range(4):
            await asyncio.sleep(0)
        assert crew.size == (4 if n == 10 else 2)
    route.window.refusals = 1
    for _ in range(4):
        await asyncio.sleep(0)
    watch.cancel()
    assert adaptive.described() == {"auto_workers": {"last": 2, "most": 4, "why": "refused"}}


async def test_a_run_finds_how_many_workers_a_server_can_use_and_notes_it(
    tmp_path: Path, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.runs.adaptive.TICK_S", 0.01)
    of, takes = Questions(tmp_path, 140), 20
    server = fault_server(beyond_in_flight(takes, error(429), then=(delay(0.08), answer("B"))))
    await arun(of.settings(server.base_url, max_workers="auto", metrics=False), progress=(notes := Notes()))
    assert all(record["status"] == "ok" for record in of.records())
    found = of.run_file()["sessions"][0]["auto_workers"]
    assert (found["why"], found["most"]) == ("refused", 32)
    assert takes / 2 <= found["last"] <= takes + 4
    [said] = notes.about("--max_workers auto")
    assert f"{found['last']} workers at the end, 32 at most: the server refused some of more" in said
    assert len(server.chats) < 180  # refusals cost few requests
    assert of.run_file()["described"]["settings"]["max_workers"] == "auto"
