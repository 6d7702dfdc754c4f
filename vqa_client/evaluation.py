"""A whole command: make plans from settings, run them, and return their reports."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from functools import cache, partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from msgspec import Struct

from vqa_client.batch.parts import PartFolder, refuse_open
from vqa_client.client.check.preflight import check_before
from vqa_client.client.limits import Breaker, Patience
from vqa_client.client.session import (
    Session,
    addressed,
    affordable_workers,
    model_of,
    named_model,
    open_session,
    reused,
)
from vqa_client.client.uploading.uploads import name_suffix
from vqa_client.cpus import usable_cpus
from vqa_client.errors import DataError, OutputError, ServerAway, ServerUnusable, UsageError, VqaClientError
from vqa_client.model_config import ModelSettings
from vqa_client.progress import Progress
from vqa_client.reports.report import Report
from vqa_client.runner import Crew, until_stopped
from vqa_client.runs.adaptive import FIRST
from vqa_client.runs.plan import Plan
from vqa_client.runs.plans import finish, make_plans
from vqa_client.runs.resume import move_aside
from vqa_client.runs.run_plan import run_plan
from vqa_client.runs.stage import Budget, CtlOrders, Stage, in_daemon_thread, minutes_at_most, prepared_images
from vqa_client.settings.declared import BenchmarkSettings
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.settings.run import RunSettings, output_folder
from vqa_client.tables.pdf_pages import DRAWN, drawn_pages_in
from vqa_client.types import Note

Result = TypeVar("Result")


class Interrupted(VqaClientError):
    """The run was asked to stop; its answers are on disk, and `reports` are those so far."""

    def __init__(self, reports: Sequence[Report] = ()) -> None:
        super().__init__("stopped", hint="run the same command again to resume")
        self.reports = [*reports]


class ModelsFailed(ServerUnusable):
    """Some of several models could not be completed: `errors` by config, and the `reports` of the others.

    `begun` are the logs of the models whose server failed.
    """

    def __init__(self, errors: Mapping[str, VqaClientError], reports: list[Report], begun: Sequence[Path] = ()) -> None:
        names: dict[str, list[str]] = {}
        for config, error in errors.items():
            names.setdefault(str(error), []).append(config)
        reasons = "; ".join(f"{', '.join(of)}: {error}" for error, of in names.items())
        hints = dict.fromkeys(error.hint for error in errors.values() if error.hint)
        super().__init__(f"not completed: {reasons}", hint="; ".join(hints))
        self.errors = errors
        self.reports = reports
        self.begun = begun


class _Common(Struct, frozen=True, kw_only=True):
    """What all models of a command share; `patience` is by the server's address."""

    progress: Progress
    stop: asyncio.Event
    transport: httpx2.AsyncBaseTransport | None
    budget: Budget
    ctl: CtlOrders
    patience: dict[int, Patience] = {}


_REACHED_BY = (
    *("base_url", "endpoint", "api_key", "header", "ca_bundle", "insecure", "engine"),
    *("image_uuid", "file_urls", "stream", "max_retries", "wait_for_server", "rpm", "tpm"),
)
"""Settings that must be equal for neighbouring jobs to share a server."""


class _Job(Struct, frozen=True, kw_only=True):
    """One model with one of the command's settings; `name` is for notes, `shown_model` for the progress of several.

    `given` are the command's settings, `settings` the same with the config's address. `model` is None if the server has
    to name the model.
    """

    name: str
    shown_model: str
    given: RunSettings
    settings: RunSettings
    config: ModelSettings | None
    model: ModelSettings | None
    plans: list[Plan]

    @property
    def prompt_limit(self) -> int | None:
        """The limit of tokens in the benchmark's prompt, if any."""
        return next((plan.task.parameters.get("max_tokens") for plan in self.plans), None)

    @property
    def server(self) -> Hashable:
        """Equal for jobs that share a server: the model's name, its address and, for images by name, their processing.

        It is a bare number, because a traceback may show it and an address may contain a key.
        """
        settings, model = self.settings, self.model
        asked = model or named_model(settings, self.config, "whichever it serves")
        processing = name_suffix(asked) if asked and settings.image_uuid == "auto" else ""
        reached = [getattr(settings, name) for name in _REACHED_BY]
        return hash(repr((model and model.model_name, processing, reached)))


def run(
    settings: RunSettings, *, corrupted: RobustnessRun | None = None, progress: Progress | None = None
) -> list[Report]:
    """Ask everything that the settings name; returns a report per model and image folder.

    Blocks until done, in a notebook too. `progress=vqa_client.display()` shows the progress. `corrupted` asks
    everything with each of its corruptions and levels. Raises the errors of vqa_client.errors. A failed question
    raises nothing; its report counts it. If one of several models fails, the others are still asked, and ModelsFailed
    has their reports.
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
    """`run` for asynchronous code; setting `stop` ends it early with Interrupted.

    `transport` replaces the wire, as in tests.
    """
    if getattr(settings, "judge", ()) and isinstance(settings, BenchmarkSettings):
        raise UsageError("a run from Python asks no judge", hint="vqa-client judge RESULTS judges the finished run")
    if corrupted is not None:
        settings = dataclasses.replace(settings, corrupted=corrupted)
    return await arun_several([settings], progress=progress, stop=stop, transport=transport)


async def arun_several(
    settings: Sequence[RunSettings],
    *,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
    ctl: CtlOrders | None = None,
) -> list[Report]:
    """Ask several benchmarks one after the other; all are loaded and checked before the first question.

    Neighbours with the same model on the same server share its connections, its check and its pauses. Calls with the
    same `ctl` share what `vqa-client ctl` orders.
    """
    if any(run.dry_run for run in settings):
        raise UsageError("a dry run asks nothing", hint="vqa_client.runs.dry_run.dry_run says what a run would take")
    if any(run.process_count > 1 or run.turns or run.ray for run in settings):
        raise UsageError("--processes, --ray and next/N are of the command line", hint="shard='1/4' here, then merge")
    progress, stop = progress or Progress(), stop or asyncio.Event()
    workers = {n: n if n == "auto" else affordable_workers(n, progress.note) for n in {s.max_workers for s in settings}}
    affordable = [
        run
        if run.by_batches or run.max_workers == workers[run.max_workers]
        else dataclasses.replace(run, max_workers=workers[run.max_workers])
        for run in settings
    ]
    jobs = await _until_stopped(stop, in_daemon_thread(partial(_plan_jobs, affordable, progress.note)))
    fresh = [plan for job in jobs if job.settings.fresh for plan in job.plans]
    if fresh:  # all at once: a run that resumes after an interruption must not find an old log
        await in_daemon_thread(partial(move_all_aside, fresh, commanded=any(run.batch_command for run in settings)))
    budget = Budget(settings[0].max_cost, progress.note)
    for job in jobs:
        budget.of_model(job.config)
    common = _Common(progress=progress, stop=stop, transport=transport, budget=budget, ctl=ctl or CtlOrders())
    reports: dict[str, list[Report]] = {}
    try:
        with minutes_at_most(settings[0].max_minutes, stop, progress.note):
            errors = await _run_jobs(common, jobs, reports)
    except Interrupted:
        raise Interrupted([*chain(*reports.values())]) from None
    for run in affordable:
        of_this = [job for job in jobs if job.given is run]
        job_reports = [report for job in of_this for report in reports.get(job.name, ())]
        failed = {job.name: errors[job.name] for job in of_this if job.name in errors}
        finish([plan for job in of_this for plan in job.plans], job_reports, failed, progress.note)
    everything = [*chain(*reports.values())]
    if errors and not everything and all(type(error) is UsageError for error in errors.values()):
        raise next(iter(errors.values()))  # e.g. a server with several models, and none is named
    if errors:
        of_servers = (job for job in jobs if isinstance(errors.get(job.name), ServerUnusable))
        logs = (plan.paths.log for job in of_servers for plan in job.plans)
        raise ModelsFailed(errors, everything, [log for log in logs if log.exists()])
    return everything


async def _run_jobs(common: _Common, jobs: list[_Job], reports: dict[str, list[Report]]) -> dict[str, VqaClientError]:
    """Run the jobs and add their reports by name; of several jobs, note and return the errors of those that fail."""
    errors: dict[str, VqaClientError] = {}
    for _, neighbours in groupby(jobs, key=lambda job: job.server):
        async with AsyncExitStack() as stack:
            server = _Server(common, stack)
            for job in neighbours:
                try:
                    await _run_job(common, job, server, reports.setdefault(job.name, []))
                except VqaClientError as error:
                    if isinstance(error, Interrupted) or len(jobs) == 1:
                        raise
                    del reports[job.name]
                    errors[job.name] = error
                    common.progress.note(f"skipping {job.name}: {error}")
                if common.stop.is_set() and job is not jobs[-1]:
                    raise Interrupted
    return errors


def _plan_jobs(settings: Sequence[RunSettings], note: Note) -> list[_Job]:
    """A job per model and settings; everything is checked before the first question."""
    once = {run.title: cache(note) for run in settings}  # several models have the same data: note its faults once
    asked = [(run, config, model_of(run, config)) for run in settings for config in run.configs]
    several = len({run.served_name or config for run, config, _ in asked}) > 1
    names = [
        str(config) if len(settings) == 1 else " · ".join(filter(None, (run.title, run.served_name or config)))
        for run, config, _ in asked
    ]
    jobs = []
    for name, (run, config, model) in zip(names, asked, strict=True):
        try:
            plans = make_plans(run, config, model, once[run.title])
        except (UsageError, DataError) as error:
            if len(settings) == 1:
                raise
            raise type(error)(f"{name}: {error}", hint=error.hint) from None
        job = _Job(
            name=name if names.count(name) == 1 else f"{name} in {output_folder(run)}",
            shown_model=(run.served_name or config or "") if several else "",
            given=run,
            settings=addressed(run, model),
            config=model,
            model=named_model(run, model),
            plans=plans,
        )
        jobs.append(job)
    _check_places(jobs)
    return jobs


def _check_places(jobs: Sequence[_Job]) -> None:
    """Raise UsageError if two jobs would write the same log."""
    owners: dict[Path, _Job] = {}
    for job in jobs:
        for plan in job.plans:
            if (other := owners.setdefault(plan.paths.log, job)) is not job:
                raise UsageError(
                    f"{other.name} and {job.name} would both be written to {plan.paths.log}",
                    hint="name each benchmark and model once, or ask one of them with another --output",
                )


def move_all_aside(plans: Sequence[Plan], *, commanded: bool = False) -> None:
    """Rename the files of earlier runs and of their shards, with `commanded` those of a --batch_command too."""
    for plan in plans:
        refuse_open(plan.paths.log)
    for plan in plans:
        move_aside(plan.paths, *([PartFolder(plan.paths.log).folder] if commanded else []))
        for other in plan.paths.otherwise_divided():  # this run would take answers from them
            with suppress(UsageError, OutputError):  # another shard is moving it
                move_aside(other)


async def _run_job(common: _Common, job: _Job, server: "_Server", reports: list[Report]) -> None:
    settings, workers = job.settings, common.ctl.workers(job.settings)
    common.budget.of_model(job.config)
    drawn = job.plans[0].paths.report.parent / DRAWN if job.plans else Path(DRAWN)
    with drawn_pages_in(drawn, usable_cpus()), prepared_images(settings, common.progress.note) as images_for:
        stage = Stage(
            settings=settings,
            model=job.model,
            connect=partial(server.session, job),
            images_for=images_for,
            progress=common.progress,
            stop=common.stop,
            breaker=Breaker(settings.breaker_after),
            budget=common.budget,
            ctl=common.ctl,
            crew=Crew(FIRST if workers == "auto" else workers),
            shown_model=job.shown_model,
        )
        await _run_plans(job.plans, stage, reports)


class _Server:
    """One server's connections, check and pauses, which neighbouring jobs share.

    The first call connects. An unusable server stays unusable; one that was away is looked for again.
    """

    def __init__(self, common: _Common, stack: AsyncExitStack) -> None:
        self._common, self._stack = common, stack
        self._session: Session | None = None
        self._failed: ServerUnusable | None = None
        self._note = cache(common.progress.note)  # each note about the server appears once

    async def session(self, job: _Job) -> Session:
        """The session for a job."""
        if self._failed is not None:
            raise self._failed
        try:
            self._session = await _until_stopped(self._common.stop, self._connect(job))
        except ServerUnusable as error:
            if not isinstance(error, ServerAway):
                self._failed = error
            raise
        return self._session

    async def _connect(self, job: _Job) -> Session:
        settings, config, limit = job.settings, job.config, job.prompt_limit
        if self._session is None:
            where = hash((settings.base_url, settings.endpoint, settings.wait_for_server))  # addresses may contain keys
            patience = self._common.patience.setdefault(where, Patience(settings.wait_for_server))
            note, wire = self._common.progress.note, self._common.transport
            opening = open_session(settings, config, limit, note=note, transport=wire, patience=patience)
            session = await self._stack.enter_async_context(opening)
        else:
            session = reused(self._session, settings, config, limit, note=self._common.progress.note)
        is_checked = session is self._session and "fingerprint" in session.server
        if settings.check and settings.shows_images and not is_checked:
            session = await check_before(session, self._note)
        return session


async def _run_plans(plans: list[Plan], stage: Stage, reports: list[Report]) -> None:
    unanswered: set[Path] = set()
    for number, plan in enumerate(plans, 1):
        if plan.paths.log in unanswered:  # its gate questions are in batches
            continue
        report = await run_plan(plan, stage)
        if report is None:
            raise Interrupted
        if report.incomplete:
            unanswered.add(plan.paths.log)
        reports.append(report)
        if stage.stop.is_set() and (report.incomplete or number < len(plans)):
            if later := plans[number:]:
                stage.progress.note(f"not begun: {', '.join(plan.title for plan in later)}")
            raise Interrupted


async def _until_stopped(stop: asyncio.Event, work: Awaitable[Result]) -> Result:
    """The result of `work`, or Interrupted as soon as `stop` is set."""
    if (result := await until_stopped(stop, work)) is None:
        raise Interrupted
    return result


def _in_own_loop(work: Callable[[asyncio.Event], Coroutine[Any, Any, Result]]) -> Result:
    """Run in a thread, next to the caller's loop; Ctrl-C in a notebook stops the run as on the command line."""
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
