"""Real servers for the tests of this folder, one of each kind for all of them.

`vllm` and `mlx` are servers that stay as they are: a test that changes one (mlx-vlm drops its model when it is asked
for another) starts its own with `serving.started(kind, ...)`. `server` is each of the two in turn. `offline` answers
prompts without any server. Where an environment or the model is missing, the test is skipped with the reason.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.real.answers import Offline, offline_model
from tests.servers.real.serving import RealServer, started

IN_PARALLEL = pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="real servers need a session without -n")
TIMEOUT_S = 900
"""vLLM takes 20 s to start, minutes where it shares the machine, and others may be starting theirs."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A server's start counts to the test that asks for it first; two of each kind are more than a laptop has."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))
            item.add_marker(IN_PARALLEL)


@pytest.fixture(scope="session")
def vllm() -> Iterator[RealServer]:
    """vLLM with the tiny model, for all tests."""
    with started("vllm") as server:
        yield server


@pytest.fixture(scope="session")
def mlx() -> Iterator[RealServer]:
    """mlx-vlm with the tiny model, for all tests."""
    with started("mlx-vlm") as server:
        yield server


@pytest.fixture(scope="session", params=["mlx-vlm", "vllm"])
def server(request: pytest.FixtureRequest) -> RealServer:
    """Each of the two."""
    found: RealServer = request.getfixturevalue("vllm" if request.param == "vllm" else "mlx")
    return found


@pytest.fixture(scope="session")
def offline() -> Iterator[Offline]:
    """What the model says by itself."""
    with offline_model() as model:
        yield model
