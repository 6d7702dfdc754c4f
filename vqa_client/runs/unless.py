"""Waiting that an interruption ends."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Result = TypeVar("Result")


async def unless(stop: asyncio.Event, work: Awaitable[Result]) -> Result | None:
    """The result of `work`, or None as soon as `stop` is set; `work` is cancelled then, and with the waiting."""
    working = asyncio.ensure_future(work)
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        stopping.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)
