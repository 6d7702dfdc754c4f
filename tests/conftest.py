"""What all tests share."""

import os
import sys

import pytest
from hypothesis import settings

settings.register_profile("same every time", derandomize=True, deadline=None)
settings.load_profile("same every time")

os.environ["VQA_CLIENT_NO_CHECK"] = "1"
"""Tests count the requests that questions cost; those of the check before a run ask for it."""

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""Hundreds of tests start the command: compiling the library takes half of each start."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
