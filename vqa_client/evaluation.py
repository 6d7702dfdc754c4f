"""A whole command: from settings to reports, through every plan that the settings make."""

import asyncio
import dataclasses
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from typing import TypeVar

import httpx2

from vqa_client.client.file_limit import affordable_workers
from vqa_client.client.limits import Breaker
from vqa_client.client.session import Session, named_model, open_session
from vqa_client.errors import VqaClientError
from vqa_client.images.data_url import encoded_pieces
from vqa_client.images.prepare import ImagePreparer
from vqa_client.model_config import ModelSettings, load_model
from vqa_client.progress import Progress
from vqa_client.reports.report import Report
from vqa_client.runs.plan import Plan
from vqa_client.runs.plans import finish, make_plans
from vqa_client.runs.resume import move_aside
from vqa_client.runs.run_plan import Stage, run_plan
from vqa_client.settings import RunSettings

Result = TypeVar("Result")


class Interrupted(VqaClientError):
    """The run was asked to stop; what was done so far is on disk, and `reports` say how far it came."""

    def __init__(self, reports: list[Report]) -> None:
        super().__init__("stopped", hint="the same command goes on where this one stopped")
        self.reports = reports


def run(settings: RunSettings, *, progress: Progress | None = None) -> list[Report]:
    """Ask everything that the settings name and return one report a model and image folder.

    Blocks until done. Where an event loop is running already, as in a notebook, it uses a thread and a loop of its
    own. Raises the errors of vqa_client.errors; a failed question raises nothing and is counted in its report.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(arun(settings, progress=progress))
    return _in_own_loop(settings, progress)


async def arun(
    settings: RunSettings,
    *,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> list[Report]:
    """The same for asynchronous code; setting `stop` ends the run early with Interrupted.

    `transport` replaces the wire, as in tests.
    """
    progress = progress or Progress()
    stop = stop or asyncio.Event()
    loading = _in_daemon_thread(partial(_planned, settings, progress.note))
    planned = await _unless(stop, loading)
    settings = dataclasses.replace(settings, max_workers=affordable_workers(settings.max_workers, progress.note))
    reports: list[Report] = []
    for config, plans in planned:
        try:
            reports += await _one_model(settings, config, plans, progress, stop, transport)
        except Interrupted as interrupted:
            raise Interrupted([*reports, *interrupted.reports]) from None
        if stop.is_set() and plans is not planned[-1][1]:
            raise Interrupted(reports)
    finish(settings, reports, progress.note)
    return reports


def _planned(settings: RunSettings, note: Callable[[str], None]) -> list[tuple[ModelSettings | None, list[Plan]]]:
    """Each model's settings and plans; all are checked before any question is asked."""
    models = [load_model(name) if name else None for name in settings.configs]
    planned = [
        (model, make_plans(settings, config, model, note))
        for config, model in zip(settings.configs, models, strict=True)
    ]
    if settings.fresh:  # all at once: what goes on after an interruption must not find an old one
        for _, plans in planned:
            for plan in plans:
                move_aside(plan.paths)
    return planned


async def _one_model(
    settings: RunSettings,
    config: ModelSettings | None,
    plans: list[Plan],
    progress: Progress,
    stop: asyncio.Event,
    transport: httpx2.AsyncBaseTransport | None,
) -> list[Report]:
    settings = dataclasses.replace(settings, base_url=settings.base_url or (config.base_url if config else None))
    async with AsyncExitStack() as stack:
        images = ImagePreparer(
            max_pixels=settings.max_pixels, image_format=settings.image_format, image_quality=settings.image_quality
        )
        stack.callback(images.close)
        stage = Stage(
            settings=settings,
            model=named_model(settings, config),
            connect=_connector(settings, config, stack, progress, stop, transport),
            images_for=lambda variant: images,
            progress=progress,
            stop=stop,
            breaker=Breaker(settings.breaker_after),
        )
        return await _run_all(plans, stage)


def _connector(
    settings: RunSettings,
    config: ModelSettings | None,
    stack: AsyncExitStack,
    progress: Progress,
    stop: asyncio.Event,
    transport: httpx2.AsyncBaseTransport | None,
) -> Callable[[], Awaitable[Session]]:
    """Connects at the first call; a run in which everything is answered needs no server."""
    sessions: list[Session] = []

    async def connect() -> Session:
        if not sessions:
            opening = open_session(settings, config, encode=encoded_pieces, note=progress.note, transport=transport)
            sessions.append(await _unless(stop, stack.enter_async_context(opening)))
        return sessions[0]

    return connect


async def _run_all(plans: list[Plan], stage: Stage) -> list[Report]:
    reports: list[Report] = []
    for plan in plans:
        try:
            reports.append(await run_plan(plan, stage))
        except Interrupted:
            raise Interrupted(reports) from None
        if stage.stop.is_set() and (reports[-1].incomplete or plan is not plans[-1]):
            raise Interrupted(reports)
    return reports


async def _unless(stop: asyncio.Event, work: Awaitable[Result]) -> Result:
    """The result of `work`, or Interrupted as soon as `stop` is set."""
    working = asyncio.ensure_future(work)
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Interrupted([])
        return working.result()
    finally:
        working.cancel()
        stopping.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


async def _in_daemon_thread(work: Callable[[], Result]) -> Result:
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

    threading.Thread(target=body, name="loading", daemon=True).start()
    return await future


def _in_own_loop(settings: RunSettings, progress: Progress | None) -> list[Report]:
    """Run in a thread beside the caller's loop; Ctrl-C in a notebook stops the run as it does on the command line."""
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def body() -> list[Report]:
        stop = asyncio.Event()
        started.append((asyncio.get_running_loop(), stop))
        return await arun(settings, progress=progress, stop=stop)

    with ThreadPoolExecutor(max_workers=1) as thread:
        working = thread.submit(lambda: asyncio.run(body()))
        try:
            return working.result()
        except KeyboardInterrupt:
            for loop, stop in started:
                loop.call_soon_threadsafe(stop.set)
            raise
