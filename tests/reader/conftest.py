"""The page reader's own folder on the path, and a running reader."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from tests.reader.asking import Client
from vqa_client.servers import reader

sys.path.insert(0, str(Path(__file__).parents[2] / "serve"))


@pytest.fixture(scope="session")
def served():
    """A client of a running page reader."""
    if find_spec("tesserocr") is None:
        pytest.skip("tesserocr is not installed: pip install 'vqa-client[reader]'")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(reader.start()) as server:
        yield Client(server.base_url)
