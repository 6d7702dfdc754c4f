"""A whole command: from settings to reports, through every plan that the settings make."""

import asyncio
import dataclasses
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import TypeVar

import anyio.to_thread
import httpx2

from vqa_client.client.file_limit import affordable_workers
from vqa_client.client.session import open_session
from vqa_client.errors import VqaClientError
from vqa_client.images.data_url import encoded_pieces
from vqa_client.images.prepare import ImagePreparer
from vqa_client.model_config import load_model
from vqa_client.progress import Progress
from vqa_client.reports.report import Report
from vqa_client.runner import Line
from vqa_client.runs.plans import Plan, make_plans
from vqa_client.runs.run_plan import Stage, run_plan
from vqa_client.settings import McSettings, NiahSettings

Settings = McSettings | NiahSettings
Result = TypeVar("Result")


class Interrupted(VqaClientError):
    """The run was asked to stop; what was done so far is on disk, and `reports` say how far it came."""

    def __init__(self, reports: list[Report]) -> None:
        super().__init__("stopped", hint="the same command goes on where this one stopped")
        self.reports = reports


def run(settings: Settings, *, progress: Progress | None = None) -> list[Report]:
    """Ask everything that the settings name and return one report per image folder.

    Blocks until done. Where an event loop is running already, as in a notebook, it uses a thread and a loop of its
    own. Raises the errors of vqa_client.errors; a failed question raises nothing and is counted in its report.
    """
    work = partial(asyncio.run, arun(settings, progress=progress))
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(work).result()


async def arun(
    settings: Settings,
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
    model = load_model(settings.config) if settings.config else None
    load = partial(make_plans, settings, model, progress.note)
    plans = await _unless(stop, anyio.to_thread.run_sync(load, abandon_on_cancel=True))
    settings = dataclasses.replace(settings, max_workers=affordable_workers(settings.max_workers, progress.note))
    images = ImagePreparer(
        max_pixels=settings.max_pixels, image_format=settings.image_format, image_quality=settings.image_quality
    )
    opening = open_session(settings, model, encode=encoded_pieces, note=progress.note, transport=transport)
    with closing(images):
        session = await _unless(stop, opening.__aenter__())
        try:
            stage = Stage(settings=settings, session=session, progress=progress, stop=stop)
            return await _run_all(plans, images, stage)
        finally:
            await opening.__aexit__(None, None, None)


async def _run_all(plans: list[Plan], images: ImagePreparer, stage: Stage) -> list[Report]:
    reports: list[Report] = []
    for plan in plans:
        line = Line(
            task=plan.task,
            chat=stage.session.chat,
            images=images,
            variant=plan.variant,
            max_pages=stage.settings.max_pages,
        )
        reports.append(await run_plan(plan, line, stage))
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
