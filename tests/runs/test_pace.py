"""The states of a run's workers and its CPU time, sampled during the run."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import (
    at_path,
    beyond_in_flight,
    body_of,
    delay,
    error,
    first_n,
    hang,
    in_turn,
    oracle,
    reset,
    retry_after,
    slow_reading,
)
from tests.faults.questions import Notes
from tests.runs.sample import Sample
from vqa_client.evaluation import arun


class Heard(Notes):
    """Keeps the notes of a run and the states of its servers."""

    def __init__(self) -> None:
        super().__init__()
        self.served: list[str] = []

    def serving(self, text: str) -> None:
        self.served.append(text)


def figures(sample: Sample) -> dict[str, Any]:
    run = json.loads((sample.output / "clean_mc_eval.run.json").read_text())
    session: dict[str, Any] = run["sessions"][-1]
    return session


def vllm_text(running: float, waiting: float, **counters: float) -> bytes:
    """vLLM's form, with a brace in a label's value."""
    gauges = {"num_requests_running": running, "num_requests_waiting": waiting, "kv_cache_usage_perc": 0.5}
    values = gauges | {f"{name}_total": value for name, value in counters.items()}
    return "".join(f'vllm:{name}{{engine="0",model_name="a}} b"}} {value}\n' for name, value in values.items()).encode()


CACHES = {"prefix_cache_queries": 1000, "prefix_cache_hits": 900, "mm_cache_queries": 50, "mm_cache_hits": 0}
EARLIER, LATER = (
    CACHES | {"generation_tokens": 100},
    CACHES
    | {
        "prefix_cache_queries": 1200,
        "prefix_cache_hits": 950,
        "mm_cache_queries": 60,
        "mm_cache_hits": 8,
        "generation_tokens": 160,
    },
)


async def test_a_run_at_a_server_with_a_queue_says_so(fault_server: StartsServers, tmp_path: Path) -> None:
    sample, heard = Sample(tmp_path, 45), Heard()
    metrics = in_turn(body_of(vllm_text(0, 0, **EARLIER)), *([body_of(vllm_text(2, 6, **LATER))] * 9))
    server = fault_server(at_path("/metrics", metrics, (delay(0.45), oracle(sample.replies()))))
    await arun(sample.settings(server.base_url), progress=heard)
    told = figures(sample)
    (found,) = told["server_metrics"]
    assert found["prefix_hit_rate"] == 0.25  # of what was asked during the run, not since the server's start
    assert found["mm_hit_rate"] == 0.8
    assert found["generation_tokens_s"] == pytest.approx(60 / found["watched_s"], abs=0.01)
    assert (found["running"], found["waiting"], found["kv_use_max"]) == (2, 6, 0.5)
    assert heard.served[-1] == "2 running · 6 waiting · prefix cache 25 % · image cache 80 % · KV 50 %"
    assert told["workers"]["most"] == 8
    assert told["workers"]["at_server"] > 4  # of 8; a busy machine makes the client slower, too
    assert told["limited_by"] == "GPU queue"
    (said,) = heard.about("bottleneck")
    assert said.startswith("mc clean: bottleneck: GPU queue (the server ran 2.0 requests and had 6.0 waiting")


async def test_a_server_that_pauses_all_workers_is_limited_by_its_rate(
    fault_server: StartsServers, tmp_path: Path
) -> None:
    sample = Sample(tmp_path, 16)
    server = fault_server(first_n(8, retry_after(429, "3"), then=oracle(sample.replies())))
    await arun(sample.settings(server.base_url))
    told = figures(sample)
    assert told["limited_by"] == "rate limit"
    assert told["workers"]["paused"] > 4


async def test_a_server_that_takes_few_requests_at_once_is_limited_by_its_rate(
    fault_server: StartsServers, tmp_path: Path
) -> None:
    sample = Sample(tmp_path, 16)
    server = fault_server(beyond_in_flight(2, error(429), (delay(0.3), oracle(sample.replies()))))
    await arun(sample.settings(server.base_url))
    told = figures(sample)
    assert told["limited_by"] == "rate limit"
    assert told["workers"]["paused"] > 3
    assert told["workers"]["preparing"] < 1


async def test_the_workers_in_all_states_add_up_to_all_workers(fault_server: StartsServers, tmp_path: Path) -> None:
    sample = Sample(tmp_path, 20)
    server = fault_server((delay(0.5), oracle(sample.replies())))
    await arun(sample.settings(server.base_url))
    workers = figures(sample)["workers"]
    states = [value for name, value in workers.items() if name != "most" and value is not None]
    assert sum(states) == pytest.approx(workers["most"], abs=0.01)
    client = figures(sample)["client"]
    assert 0 <= client["loop_cpu"] <= client["cpu"] + 0.05


async def test_without_metrics_none_are_requested_during_the_run(fault_server: StartsServers, tmp_path: Path) -> None:
    sample, heard = Sample(tmp_path, 8), Heard()
    server = fault_server(oracle(sample.replies()))
    await arun(sample.settings(server.base_url, metrics=False), progress=heard)
    assert "server_metrics" not in figures(sample)
    assert heard.served == []
    routes = [received.route for received in server.requests]
    assert routes.index("/metrics") > max(at for at, route in enumerate(routes) if route.endswith("/completions"))


@pytest.mark.parametrize(
    "reply", [error(404), error(401), error(501), body_of(b"<html>"), body_of(b"vllm:x 1\n" * 500_000)]
)
async def test_a_server_without_metrics_is_asked_once(
    reply: Any, fault_server: StartsServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.client.watching.FIRST_S", 0.05)
    sample, heard = Sample(tmp_path, 24), Heard()
    server = fault_server(at_path("/metrics", reply, (delay(0.1), oracle(sample.replies()))))
    (report,) = await arun(sample.settings(server.base_url), progress=heard)
    assert report.failed == 0
    asked = [received for received in server.requests if received.route == "/metrics"]
    assert len(asked) == 2  # once for its figures, and at the end for its memory
    assert "metrics" not in " ".join(heard.said)


async def test_a_failure_is_noted_once_without_the_key_and_changes_no_answer(
    fault_server: StartsServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.client.watching.FIRST_S", 0.05)
    sample, heard = Sample(tmp_path, 40), Heard()
    metrics = in_turn(body_of(vllm_text(1, 0)), *([reset()] * 9))
    server = fault_server(at_path("/metrics", metrics, (delay(0.1), oracle(sample.replies()))))
    (report,) = await arun(sample.settings(server.base_url, api_key="sk-very-secret"), progress=heard)
    assert (report.failed, report.summary.overall.accuracy) == (0, 1.0)
    said = heard.about("/metrics")
    assert len(said) == 1
    assert "the run continues without" in said[0]
    assert "very-secret" not in " ".join(heard.said)


async def test_metrics_that_never_come_delay_nothing(fault_server: StartsServers, tmp_path: Path) -> None:
    sample = Sample(tmp_path, 16)
    server = fault_server(at_path("/metrics", hang(), oracle(sample.replies())))
    async with asyncio.timeout(60):
        (report,) = await arun(sample.settings(server.base_url))
    assert report.failed == 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems don't tell what is still on its way")
async def test_large_images_on_a_slow_connection_are_limited_by_the_upload(
    fault_server: StartsServers, tmp_path: Path
) -> None:
    sample = Sample(tmp_path, 2)
    for path in (tmp_path / "pages").rglob("*.png"):
        path.write_bytes(path.read_bytes() + bytes(7_000_000))  # bytes after the end of a picture are sent, too
    server = fault_server(slow_reading(3_500_000, oracle(sample.replies())), receive_buffer_bytes=65_536)
    await arun(sample.settings(server.base_url, max_workers=2))
    assert figures(sample)["limited_by"] == "upload"
