"""Real servers for the tests of this folder.

All tests share `vllm` and `mlx`, and don't change them; `server` is each of the two in turn. `other_vllm` and
`other_mlx` have other options, and tests may change them: mlx-vlm drops its model if a request names another. A start
takes as long as many tests, so only the test that kills a server starts its own. `offline` answers prompts without a
server. If an environment or the model is missing, the test is skipped with the reason.
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
"""vLLM takes 20 s to start, and minutes on a busy machine; another session may be starting its servers."""
SMALL_CACHE = ("--mm-processor-cache-gb", "0.001")
"""One megabyte, less than one of the larger pictures after processing."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Allow time for a server's start in any test; skip in parallel sessions, which would start too many servers."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))
            item.add_marker(IN_PARALLEL)


@pytest.fixture(scope="session")
def vllm() -> Iterator[RealServer]:
    """vLLM with the tiny model, shared by all tests."""
    with started("vllm") as server:
        yield server


@pytest.fixture(scope="session")
def mlx() -> Iterator[RealServer]:
    """mlx-vlm with the tiny model, shared by all tests."""
    with started("mlx-vlm") as server:
        yield server


@pytest.fixture(scope="session")
def other_vllm() -> Iterator[RealServer]:
    """A vLLM that may read easy-VQA's files and has a small cache of pictures."""
    folder = easy.coloured(1)[0].pictures[0].resolve().parent
    with started("vllm", *SMALL_CACHE, "--allowed-local-media-path", str(folder)) as server:
        yield server


@pytest.fixture(scope="session")
def other_mlx() -> Iterator[RealServer]:
    """An mlx-vlm that needs a key and gives no alternative tokens, which is its default without `vqa-client serve`."""
    with started("mlx-vlm", "--top-logprobs-k", "0", env={"MLX_VLM_SERVER_API_KEY": SECRET}) as server:
        yield server


@pytest.fixture(scope="session", params=["mlx-vlm", "vllm"])
def server(request: pytest.FixtureRequest) -> RealServer:
    """`vllm` and `mlx` in turn."""
    shared: RealServer = request.getfixturevalue("vllm" if request.param == "vllm" else "mlx")
    return shared


@pytest.fixture(scope="session")
def offline() -> Iterator[Offline]:
    """The model without a server."""
    with offline_model() as model:
        yield model
