"""Long work that an event loop waits for, and leaves when the run is to stop."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

Result = TypeVar("Result")


async def in_daemon_thread(work: Callable[[], Result]) -> Result:
    """Run `work` in a thread that does not hold the program's end up when nobody waits for it any more."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: BaseException | None) -> None:
        if not future.done():
            future.set_exception(error) if error is not None else future.set_result(result)  # type: ignore[arg-type]

    def body() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:  # handed over whole: the caller decides
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=body, daemon=True).start()
    return await future


async def until_stopped(stop: asyncio.Event, work: Awaitable[Result]) -> Result | None:
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
