"""Shards on a real Ray cluster of two nodes: killed, interrupted and continued, they are the undivided run."""

import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.words import answer, delay
from tests.faults.commands import ROOT, Variables, environment, ran, running, wait_until
from tests.faults.questions import Questions
from tests.faults.test_killed_runs import reply, whole_lines
from tests.servers.real.environments import folder, missing

KEY = "sk-secret-of-the-test"
SHARDS = "6"
PATIENCE_S = 300.0
"""Workers start in some five seconds, on a busy machine in a minute."""
ON_ITS_WAY = 15
"""Answers of the lost worker that the driver doesn't have: in flight, or logged since the last message."""


class Ray(NamedTuple):
    """A cluster that runs."""

    address: str
    process: "subprocess.Popen[str]"
    env: Variables

    def kill_node(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "killed\n"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Ray]:
    """Two nodes of one processor each, for all tests in their order; Ray's own folder ends with them."""
    if reason := missing("ray"):
        pytest.skip(reason)
    installed = next(folder("ray").glob("lib/python*/site-packages"))
    with tempfile.TemporaryDirectory(prefix="ray") as place:
        env = {"PYTHONPATH": f"{ROOT}:{installed}", "RAY_TMPDIR": place, "RAY_USAGE_STATS_ENABLED": "0"}
        env |= {"RAY_raylet_start_wait_time_s": "120", "RAY_worker_niceness": "0"}  # the machine may be busy
        with (Path(place) / "said").open("w") as said:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.servers.real.ray_cluster"],
                cwd=ROOT,
                env=environment(env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )
        with process:
            assert process.stdout is not None
            try:
                address = process.stdout.readline().strip()
                assert address, Path(place, "said").read_text()
                yield Ray(address, process, env)
            finally:
                process.communicate(timeout=60)


def logged(of: Questions) -> int:
    return sum(len(whole_lines(path)) for path in of.output.glob(f"*.shard-*-of-{SHARDS}.records.jsonl"))


def test_what_a_worker_refuses_is_said(cluster: Ray, tmp_path: Path) -> None:
    of = Questions(tmp_path, 2)
    arguments = of.arguments("http://127.0.0.1:9/v1", "--wait_for_server", "0")
    with running([*arguments, "--ray", cluster.address, "--shards", "2"], cluster.env) as command:
        done = command.finished(PATIENCE_S)
    assert (done.code, done.is_clean()) == (3, True), done.text
    assert "127.0.0.1:9" in done.err


def test_a_run_on_ray_survives_a_lost_node_and_an_interrupt(
    cluster: Ray, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 60)
    server = fault_server((delay(0.1), answer(reply)), keep_bodies=False)
    arguments = of.arguments(server.base_url, "--max_workers", "4", "--config", of.config())
    on_ray = [*arguments, "--ray", cluster.address, "--shards", SHARDS, "--api_key", KEY]
    with running(on_ray, cluster.env) as command:
        assert wait_until(lambda: logged(of) >= 6 or command.process.poll() is not None, PATIENCE_S)
        command.signal(signal.SIGTERM)
        stopped = command.finished(PATIENCE_S)
    assert (stopped.code, stopped.is_clean()) == (143, True), stopped.text
    assert of.report()["incomplete"]
    before = logged(of)
    assert before == len(server.chats) == len(of.report()["results"])

    with running(on_ray, cluster.env) as command:
        assert wait_until(lambda: logged(of) >= before + 8 or command.process.poll() is not None, PATIENCE_S)
        cluster.kill_node()
        done = command.finished(PATIENCE_S)
    assert (done.code, done.is_clean()) == (0, True), done.text
    assert "is lost" in done.err
    assert "mc clean: 60/60" in done.err
    logs = [path for path in Path(cluster.env["RAY_TMPDIR"] or "").rglob("*") if path.is_file()]
    assert logs
    assert not [path for path in logs if KEY.encode() in path.read_bytes()]
    assert 60 <= len(server.chats) <= 60 + ON_ITS_WAY
    asked = Counter(whole_lines(of.log_path))
    assert asked == Counter(of.ids)
    report = of.report_path().read_bytes()
    of.output = of.root / "whole"
    assert ran(of.arguments(server.base_url, "--config", of.config())).code == 0
    assert of.report_path().read_bytes() == report
