"""The tiny VLM of serve/tiny_vlm on mlx-vlm's server: a real but tiny model, without a GPU or a download."""

import sys
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec

from vqa_client.errors import UsageError
from vqa_client.servers.process import Launch, Server, option_words, python_path
from vqa_client.servers.serving import free_port, when_healthy
from vqa_client.shipped import install, shipped
from vqa_client.types import Note

NAME = "the tiny VLM"
START_TIMEOUT_S = 120.0


def missing() -> bool:
    """Whether mlx-vlm, which serves the model, is not installed."""
    return find_spec("mlx_vlm") is None


def launch(*, host: str, port: int, dry_run: bool, note: Note) -> Launch:
    """How to start it; raises UsageError if mlx-vlm is not installed or the source tree is missing."""
    if missing() and not dry_run:
        raise UsageError(f"{NAME} needs mlx-vlm", hint=install("local"))
    return Launch(
        name=NAME,
        command=[sys.executable, "-m", "tiny_vlm", *option_words({"--host": host, "--port": port})],
        ready=when_healthy(host, port, name=NAME, note=note),
        env=python_path(shipped("serve/tiny_vlm").parent),
        grace_s=5.0,
    )


def start(note: Note) -> AbstractAsyncContextManager[Server]:
    """`async with start(note) as server:` runs it on a free loopback port.

    Raises UsageError as `launch()` does, ServerUnusable as `Launch.running()` does.
    """
    return launch(host="127.0.0.1", port=free_port(), dry_run=False, note=note).running(START_TIMEOUT_S)
