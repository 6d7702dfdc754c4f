"""What all tests share."""

import pytest
from hypothesis import settings

settings.register_profile("same every time", derandomize=True, deadline=None)
settings.load_profile("same every time")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
