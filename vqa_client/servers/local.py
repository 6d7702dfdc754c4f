"""The tiny VLM of serve/tiny_vlm on mlx-vlm's server: a real model of its kind that needs no GPU and no download."""

import os
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec

from vqa_client.errors import UsageError
from vqa_client.servers.process import Launch, Server
from vqa_client.servers.serving import free_port, when_healthy
from vqa_client.shipped import install, shipped

NAME = "the tiny VLM"
START_TIMEOUT_S = 120.0


def missing() -> bool:
    """Whether mlx-vlm, which serves it, is not installed."""
    return find_spec("mlx_vlm") is None


def launch(*, host: str, port: int, dry_run: bool, note: Callable[[str], None]) -> Launch:
    """What starts it; raises UsageError where mlx-vlm is not installed, or the source tree not found."""
    if missing() and not dry_run:
        raise UsageError(f"{NAME} needs mlx-vlm", hint=install("local"))
    options = {"--host": host, "--port": port}
    words = [str(word) for option in options.items() for word in option]
    paths = [str(shipped("serve/tiny_vlm").parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return Launch(
        name=NAME,
        command=[sys.executable, "-m", "tiny_vlm", *words],
        ready=when_healthy(host, port, name=NAME, note=note),
        env={"PYTHONPATH": os.pathsep.join(paths)},
        grace_s=5.0,
    )


def start(note: Callable[[str], None]) -> AbstractAsyncContextManager[Server]:
    """`async with start(note) as server:` runs it on a free loopback port.

    Raises UsageError as `launch()` does, ServerUnusable as `Launch.running()` does.
    """
    return launch(host="127.0.0.1", port=free_port(), dry_run=False, note=note).running(START_TIMEOUT_S)
