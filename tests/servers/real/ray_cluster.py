"""A Ray cluster of two nodes with a processor each, and a head without one; a line on standard input kills a node."""

import sys

from ray.cluster_utils import Cluster

QUICK = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 1000, "health_check_failure_threshold": 5}


def main() -> None:
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
