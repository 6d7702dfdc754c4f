"""A whole command: from settings to reports, through every plan that the settings make."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, TypeVar

import httpx2
from msgspec import Struct

from vqa_client.client.check.before import check_before
from vqa_client.client.file_limit import affordable_workers
from vqa_client.client.limits import Breaker
from vqa_client.client.session import Session, named_model, open_session
from vqa_client.errors import ServerUnusable, UsageError, VqaClientError
from vqa_client.images.data_url import encoded_pieces
from vqa_client.model_config import ModelSettings, load_model
from vqa_client.progress import Progress
from vqa_client.reports.report import Report
from vqa_client.runs.daemon_thread import in_daemon_thread
from vqa_client.runs.images import prepared_images
from vqa_client.runs.plan import Plan
from vqa_client.runs.plans import finish, make_plans
from vqa_client.runs.resume import move_aside
from vqa_client.runs.run_plan import Stage, run_plan
from vqa_client.runs.unless import unless
from vqa_client.settings.corrupted import RobustnessRun
from vqa_client.settings.run import RunSettings

Result = TypeVar("Result")


class Interrupted(VqaClientError):
    """The run was asked to stop; what was done so far is on disk, and `reports` say how far it came."""

    def __init__(self, reports: list[Report]) -> None:
        super().__init__("stopped", hint="the same command goes on where this one stopped")
        self.reports = reports


class ModelsFailed(ServerUnusable):
    """Of several models some could not be asked to the end: `errors` by config; `reports` are those of the others."""

    def __init__(self, errors: Mapping[str, VqaClientError], reports: list[Report]) -> None:
        said = "; ".join(f"{config}: {error}" for config, error in errors.items())
        hints = dict.fromkeys(error.hint for error in errors.values() if error.hint)
        super().__init__(f"not asked to the end: {said}", hint="; ".join(hints))
        self.errors = errors
        self.reports = reports


class _Given(Struct, frozen=True, kw_only=True):
    """What a command was given, whatever model is being asked."""

    settings: RunSettings
    corrupted: RobustnessRun | None
    progress: Progress
    stop: asyncio.Event
    transport: httpx2.AsyncBaseTransport | None


def run(
    settings: RunSettings, *, corrupted: RobustnessRun | None = None, progress: Progress | None = None
) -> list[Report]:
    """Ask everything that the settings name and return one report a model and image folder.

    Blocks until done. Where an event loop is running already, as in a notebook, it uses a thread and a loop of its
    own. Raises the errors of vqa_client.errors; a failed question raises nothing and is counted in its report. Of
    several models one that fails keeps none of the others from being asked: ModelsFailed has their reports.
    `corrupted` asks everything under each of its corruptions and levels.
    """
    if _in_a_loop():
        return _in_own_loop(lambda stop: arun(settings, corrupted=corrupted, progress=progress, stop=stop))
    return asyncio.run(arun(settings, corrupted=corrupted, progress=progress))


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def arun(
    settings: RunSettings,
    *,
    corrupted: RobustnessRun | None = None,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> list[Report]:
    """The same for asynchronous code; setting `stop` ends the run early with Interrupted.

    `transport` replaces the wire, as in tests.
    """
    if settings.dry_run:
        raise UsageError("a dry run asks nothing", hint="vqa_client.runs.dry_run.dry_run says what a run would take")
    progress, stop = progress or Progress(), stop or asyncio.Event()
    planned = await _unless(stop, in_daemon_thread(partial(_planned, settings, corrupted, progress.note)))
    if settings.fresh:  # all at once: what goes on after an interruption must not find an old one
        await in_daemon_thread(partial(_move_aside, [plan for _, plans in planned for plan in plans]))
    workers = affordable_workers(settings.max_workers, progress.note)
    given = _Given(
        settings=dataclasses.replace(settings, max_workers=workers),
        corrupted=corrupted,
        progress=progress,
        stop=stop,
        transport=transport,
    )
    reports, errors = await _one_after_the_other(given, planned)
    if corrupted is None:
        finish(settings, reports, errors, progress.note)
    if errors:
        raise ModelsFailed(errors, reports)
    return reports


async def _one_after_the_other(
    given: _Given, planned: list[tuple[ModelSettings | None, list[Plan]]]
) -> tuple[list[Report], dict[str, VqaClientError]]:
    """All models' reports; of several models one that fails is noted, and the next ones are asked."""
    reports: list[Report] = []
    errors: dict[str, VqaClientError] = {}
    for name, (config, plans) in zip(given.settings.configs, planned, strict=True):
        try:
            reports += await _one_model(given, config, plans)
        except Interrupted as interrupted:
            raise Interrupted([*reports, *interrupted.reports]) from None
        except VqaClientError as error:
            if len(planned) == 1:
                raise
            errors[str(name)] = error
            given.progress.note(f"{name} is given up: {error}")
        if given.stop.is_set() and plans is not planned[-1][1]:
            raise Interrupted(reports)
    return reports, errors


def _planned(
    settings: RunSettings, corrupted: RobustnessRun | None, note: Callable[[str], None]
) -> list[tuple[ModelSettings | None, list[Plan]]]:
    """Each model's settings and plans; all are checked before any question is asked."""
    note = _once(note)
    models = [load_model(name) if name else None for name in settings.configs]
    return [
        (model, make_plans(settings, config, model, note, corrupted=corrupted))
        for config, model in zip(settings.configs, models, strict=True)
    ]


def _move_aside(plans: list[Plan]) -> None:
    for plan in plans:
        move_aside(plan.paths)


def _once(note: Callable[[str], None]) -> Callable[[str], None]:
    """Each line once: several models have the same data, and what is said of it would be said for each."""
    said: set[str] = set()

    def told(line: str) -> None:
        if line not in said:
            said.add(line)
            note(line)

    return told


async def _one_model(given: _Given, config: ModelSettings | None, plans: list[Plan]) -> list[Report]:
    settings = dataclasses.replace(  # no variable of its own for an address: a traceback may show those
        given.settings, base_url=given.settings.base_url or (config.base_url if config else None)
    )
    async with AsyncExitStack() as stack:
        stage = Stage(
            settings=settings,
            model=named_model(settings, config),
            connect=_connector(settings, config, stack, given),
            images_for=stack.enter_context(prepared_images(settings, given.corrupted, given.progress.note)),
            progress=given.progress,
            stop=given.stop,
            breaker=Breaker(settings.breaker_after),
        )
        return await _run_all(plans, stage)


def _connector(
    settings: RunSettings, config: ModelSettings | None, stack: AsyncExitStack, given: _Given
) -> Callable[[], Awaitable[Session]]:
    """Connects at the first call, and fails as it did then; a run in which everything is answered needs no server."""
    sessions: list[Session] = []
    failed: list[ServerUnusable] = []

    async def connect() -> Session:
        if failed:
            raise failed[0]
        if not sessions:
            opening = open_session(
                settings, config, encode=encoded_pieces, note=given.progress.note, transport=given.transport
            )
            try:
                session = await _unless(given.stop, stack.enter_async_context(opening))
                if settings.check and settings.shows_images:
                    session = await _unless(given.stop, check_before(session, given.progress.note))
            except ServerUnusable as error:
                failed.append(error)
                raise
            sessions.append(session)
        return sessions[0]

    return connect


async def _run_all(plans: list[Plan], stage: Stage) -> list[Report]:
    reports: list[Report] = []
    for plan in plans:
        try:
            report = await run_plan(plan, stage)
        except Interrupted:
            raise Interrupted(reports) from None
        if report is None:
            raise Interrupted(reports)
        reports.append(report)
        if stage.stop.is_set() and (reports[-1].incomplete or plan is not plans[-1]):
            if later := plans[len(reports) :]:
                stage.progress.note(f"not begun: {', '.join(plan.title for plan in later)}")
            raise Interrupted(reports)
    return reports


async def _unless(stop: asyncio.Event, work: Awaitable[Result]) -> Result:
    """The result of `work`, or Interrupted as soon as `stop` is set."""
    result = await unless(stop, work)
    if result is None:
        raise Interrupted([])
    return result


def _in_own_loop(work: Callable[[asyncio.Event], Coroutine[Any, Any, Result]]) -> Result:
    """Run in a thread beside the caller's loop; Ctrl-C in a notebook stops the run as it does on the command line."""
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def body() -> Result:
        stop = asyncio.Event()
        started.append((asyncio.get_running_loop(), stop))
        return await work(stop)

    with ThreadPoolExecutor(max_workers=1) as thread:
        working = thread.submit(lambda: asyncio.run(body()))
        try:
            return working.result()
        except KeyboardInterrupt:
            for loop, stop in started:
                loop.call_soon_threadsafe(stop.set)
            raise
