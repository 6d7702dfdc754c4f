"""Real servers for the tests of this folder, one of each kind for all of them.

`vllm` and `mlx` are servers that stay as they are; `server` is each of the two in turn. `other_vllm` and `other_mlx`
have options of their own, and may be changed: mlx-vlm drops its model when it is asked for another. A start takes as
long as many tests, so only the test that kills a server starts its own. `offline` answers prompts without any server.
Where an environment or the model is missing, the test is skipped with the reason.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.real import easy
from tests.servers.real.answers import Offline, offline_model
from tests.servers.real.serving import SECRET, RealServer, started

IN_PARALLEL = pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="real servers need a session without -n")
TIMEOUT_S = 900
"""vLLM takes 20 s to start, minutes where it shares the machine, and others may be starting theirs."""
SMALL_CACHE = ("--mm-processor-cache-gb", "0.001")
"""A megabyte: less than one larger picture, once it is processed."""


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


@pytest.fixture(scope="session")
def other_vllm() -> Iterator[RealServer]:
    """One that may read easy-VQA's files and keeps few pictures."""
    folder = easy.coloured(1)[0].pictures[0].resolve().parent
    with started("vllm", *SMALL_CACHE, "--allowed-local-media-path", str(folder)) as server:
        yield server


@pytest.fixture(scope="session")
def other_mlx() -> Iterator[RealServer]:
    """One that wants a key and tells no alternatives, as it does unless `vqa-client serve` starts it."""
    with started("mlx-vlm", "--top-logprobs-k", "0", env={"MLX_VLM_SERVER_API_KEY": SECRET}) as server:
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
