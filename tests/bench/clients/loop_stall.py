"""Measures how long an event loop was blocked: a task sleeps briefly and keeps the longest delay."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

VARIABLE = "VQA_CLIENT_LOOP_STALL_FILE"
"""The variable with the path of a file for {"loop_stall_max_s": seconds}; without it nothing is measured."""
PERIOD_S = 0.01


@asynccontextmanager
async def watched() -> AsyncIterator[None]:
    """Watch the loop while the block runs."""
    path = os.environ.get(VARIABLE)
    if not path:
        yield
        return
    worst = [0.0]
    watcher = asyncio.create_task(_watch(worst))
    try:
        yield
    finally:
        watcher.cancel()
        Path(path).write_text(json.dumps({"loop_stall_max_s": worst[0]}), encoding="utf-8")


async def _watch(worst: list[float]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        asked = loop.time()
        try:
            await asyncio.sleep(PERIOD_S)
        finally:  # also when cancelled: a stall may be what the end of the run waited for
            worst[0] = max(worst[0], loop.time() - asked - PERIOD_S)
