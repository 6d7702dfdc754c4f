"""What all tests share."""

import os

import pytest
from hypothesis import settings

settings.register_profile("same every time", derandomize=True, deadline=None)
settings.load_profile("same every time")

os.environ["VQA_CLIENT_NO_CHECK"] = "1"
"""Tests count the requests that questions cost; those of the check before a run ask for it."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
