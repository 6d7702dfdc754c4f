"""A Ray cluster of a head and two nodes with one processor each; each line on standard input kills a node."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.faults.commands import ROOT, Variables, environment
from tests.servers.real.environments import folder

QUICK = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 1000, "health_check_failure_threshold": 5}


class Ray(NamedTuple):
    """A running cluster, and the environment variables for commands that use it."""

    address: str
    process: "subprocess.Popen[str]"
    env: Variables

    def kill_node(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "killed\n"


@contextmanager
def running_cluster() -> Iterator[Ray]:
    """Run the cluster in its own process, in Ray's environment, with a temporary folder for Ray's files."""
    installed = next(folder("ray").glob("lib/python*/site-packages"))
    with tempfile.TemporaryDirectory(prefix="ray") as place:
        env = {"PYTHONPATH": f"{ROOT}:{installed}", "RAY_TMPDIR": place, "RAY_USAGE_STATS_ENABLED": "0"}
        env |= {"RAY_raylet_start_wait_time_s": "120", "RAY_worker_niceness": "0"}  # the machine may be busy
        with (Path(place) / "log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.servers.real.ray_cluster"],
                cwd=ROOT,
                env=environment(env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        with process:
            assert process.stdout is not None
            try:
                address = process.stdout.readline().strip()
                assert address, Path(place, "log").read_text()
                yield Ray(address, process, env)
            finally:
                process.communicate(timeout=60)


def main() -> None:
    from ray.cluster_utils import Cluster

    memory = {"object_store_memory": 80 << 20}
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": QUICK, **memory}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=1, **memory) for _ in range(2)]
    print(cluster.address, flush=True)
    for _ in sys.stdin:
        cluster.remove_node(nodes.pop(), allow_graceful=False)
        print("killed", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
