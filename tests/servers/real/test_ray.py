"""Shards on a real Ray cluster of two nodes: after kills, interruptions and resumes they equal the undivided run."""

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.script import Script
from tests.fakes.words import answer, delay, first_n, hold
from tests.faults.commands import ran, running, wait_until
from tests.faults.questions import Questions
from tests.faults.test_killed_runs import reply, whole_lines
from tests.servers.real.environments import missing
from tests.servers.real.ray_cluster import Ray, running_cluster

KEY = "sk-secret-of-the-test"
SHARDS = "6"
NUMBER = 240
PATIENCE_S = 300.0
"""Workers take some five seconds to start, a minute on a busy machine."""
WORKERS = 4
AT_ONCE, ARRIVED = 24, 8
"""Questions that a server answers before it holds all others, and those whose answers the driver waits for."""
ON_ITS_WAY = AT_ONCE - ARRIVED + 2 * WORKERS
"""The most answers of the lost worker that the driver may miss: logged since the last message, or in flight."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Ray]:
    """One cluster for all tests, which must run in their order."""
    if reason := missing("ray"):
        pytest.skip(reason)
    with running_cluster() as ray:
        yield ray


def held_after_some() -> Script:
    """Hold later questions until the server is released: no run ends before a busy machine sends its signal."""
    return first_n(AT_ONCE, answer(reply), then=(hold(), delay(0.1), answer(reply)))


def logged(of: Questions) -> int:
    return sum(len(whole_lines(path)) for path in of.output.glob(f"*.shard-*-of-{SHARDS}.records.jsonl"))


def test_a_worker_s_refusal_is_printed(cluster: Ray, tmp_path: Path) -> None:
    of = Questions(tmp_path, 2)
    arguments = of.arguments("http://127.0.0.1:9/v1", "--wait_for_server", "0")
    with running([*arguments, "--ray", cluster.address, "--shards", "2"], cluster.env) as command:
        done = command.finished(PATIENCE_S)
    assert (done.code, done.is_clean()) == (3, True), done.text
    assert "127.0.0.1:9" in done.err


def test_a_run_on_ray_survives_a_lost_node_and_an_interrupt(
    cluster: Ray, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, NUMBER)
    first, server = (fault_server(held_after_some(), keep_bodies=False) for _ in range(2))
    more = ["--max_workers", str(WORKERS), "--config", of.config()]
    more += ["--ray", cluster.address, "--shards", SHARDS, "--api_key", KEY]
    with running(of.arguments(first.base_url, *more), cluster.env) as command:
        assert wait_until(lambda: logged(of) >= 6 or command.process.poll() is not None, PATIENCE_S)
        sent_s = command.signal(signal.SIGTERM)
        assert command.said_within("stopping", sent_s, PATIENCE_S)
        first.release()
        stopped = command.finished(PATIENCE_S)
    assert (stopped.code, stopped.is_clean()) == (143, True), stopped.text
    assert of.report()["incomplete"]
    before = logged(of)
    assert before == len(first.chats) == len(of.report()["results"])

    with running(of.arguments(server.base_url, *more), cluster.env) as command:
        assert wait_until(lambda: logged(of) >= before + ARRIVED or command.process.poll() is not None, PATIENCE_S)
        cluster.kill_node()
        server.release()
        done = command.finished(PATIENCE_S)
    assert (done.code, done.is_clean()) == (0, True), done.text
    assert "is lost" in done.err
    assert "raylet" not in done.out, "the logs of lost nodes are no part of the report"
    assert f"mc clean: {NUMBER}/{NUMBER}" in done.err
    logs = [path for path in Path(cluster.env["RAY_TMPDIR"] or "").rglob("*") if path.is_file()]
    assert logs
    assert not [path for path in logs if KEY.encode() in path.read_bytes()]
    assert NUMBER <= before + len(server.chats) <= NUMBER + ON_ITS_WAY
    asked = Counter(whole_lines(of.log_path))
    assert asked == Counter(of.ids)
    report = of.report_path().read_bytes()
    of.output = of.root / "whole"
    assert ran(of.arguments(server.base_url, "--config", of.config())).code == 0
    assert of.report_path().read_bytes() == report
