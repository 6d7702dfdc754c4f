"""One plan from what is on disk to its report: resume, ask, keep, report."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import anyio.to_thread

from vqa_client.batch.parts import Parts, refuse_open
from vqa_client.client.check.preflight import identity_of
from vqa_client.client.session import Session
from vqa_client.errors import OutputError, ServerUnusable
from vqa_client.model_config import ModelSettings
from vqa_client.progress import Progress
from vqa_client.records import RecordLog
from vqa_client.reports.limiting import limits_of
from vqa_client.reports.report import Report
from vqa_client.runner import GRACE_S, Asks, Line, answer_all, answer_one, first_pages
from vqa_client.runs.adaptive import Adaptive
from vqa_client.runs.control import Control
from vqa_client.runs.figures import SessionFigures
from vqa_client.runs.plan import Note, Plan, close_plan, identity_of_plan, run_file_for
from vqa_client.runs.resume import RunPaths, Unchanged, adopt, any_answer, carry_over, score_again
from vqa_client.runs.run_file import RunFile, check_identity
from vqa_client.runs.servers_of_start import ServersOfStart
from vqa_client.runs.stage import Ask, Stage
from vqa_client.runs.waiting import in_daemon_thread, unless
from vqa_client.types import FAILED, Question, Record

Watch = Callable[[], Coroutine[Any, Any, None]]
"""Runs until it is cancelled."""
SYNC_S = 5.0
QUESTIONS_BETWEEN_LOOKS = 500
MOST_FIRST = 256
"""Questions without an answer before the last answered one that are kept: a killed run left as many as were asked."""
_Questions = Iterator[Question] | None


async def run_plan(plan: Plan, stage: Stage) -> Report | None:
    """Ask what is not answered yet and write the report, marked incomplete when something ended the run early.

    None where the run was asked to stop while the report of all answers was made, which may take minutes.
    """
    paths = plan.paths
    before = RunFile.read(paths.run)
    model = await _model(stage, paths, before)
    file = run_file_for(plan, stage.settings, model)
    before = carry_over(paths, before, file)
    with RecordLog(paths.log, file.identity) as log:
        if log.repaired:
            stage.progress.note(log.repaired)
        adopted = 0
        if not stage.settings.fresh:
            adopted = adopt(log, paths, file, plan.loaded.questions)
        if adopted:
            score_again(log, plan.loaded.questions, plan.task)
            file.write(paths.run)
            stage.progress.note(f"{plan.title}: {adopted} answers are taken over from the run's other division")
        elif before is not None and _judged_otherwise(before, file):
            score_again(log, plan.loaded.questions, plan.task)
            stage.progress.note("the scoring or the data file has changed: saved replies are scored again")
        stage.progress.begin(plan.title, plan.loaded.count)
        stage.progress.measuring(plan.task.description.measure)
        figures = SessionFigures()
        try:
            left = await _still_to_ask(plan, log, stage, before)
            await _go_on(left, plan, stage, log, file, figures)
        finally:
            stage.progress.end()
            closing = asyncio.ensure_future(in_daemon_thread(partial(close_plan, plan, stage.progress.note, file, log)))
            report = await (_unless_stopped(closing, stage) if len(log) >= plan.loaded.count else closing)
    return report


async def _unless_stopped(closing: asyncio.Future[Report], stage: Stage) -> Report | None:
    """The report, or None where it isn't there soon after `stop` is set: the same command makes it again."""
    if (report := await unless(stage.stop, asyncio.shield(closing))) is not None:
        return report
    await asyncio.wait([closing], timeout=GRACE_S)
    if closing.done():
        return closing.result()
    closing.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody waits for it any more
    return None


async def _model(stage: Stage, paths: RunPaths, before: RunFile | None) -> ModelSettings:
    """The named model; else the served one, or, where no server can be reached, the one that has answered before.

    On a first start nothing is written before the server has answered.
    """
    if stage.settings.batch_step == "read":
        return stage.named("batch read")
    if stage.model is not None and paths.log.exists():
        return stage.model
    try:
        return (await stage.connect()).model
    except ServerUnusable as error:
        if before is None or not any_answer(paths.log):
            raise
        stage.progress.note(f"{error}; using the saved answers of {before.model().model_name}")
        return before.model()


def _server_of(session: Session) -> dict[str, Any]:
    found = identity_of(session.server)
    return {"server": found} if found else {}


def _judged_otherwise(before: RunFile, now: RunFile) -> bool:
    """Whether kept replies may be worth something else: another parser or scorer, or another answer key."""
    return before.scoring != now.scoring or before.described.get("data_sha256") != now.described["data_sha256"]


async def _still_to_ask(plan: Plan, log: RecordLog, stage: Stage, before: RunFile | None) -> tuple[int, _Questions]:
    """How many questions have no answer that holds, and these, for one walk, where the walk here need not be repeated.

    Answers that don't hold any more are dropped. Questions behind those that have records are not looked at yet.
    """
    if not len(log):
        return plan.loaded.count, None
    unchanged = Unchanged(since_ns=before.first_start_ns if before is not None else 0)
    again, most, prompt = stage.settings.asked_again, stage.settings.max_pages, plan.task.prompt
    questions, number, found, missing = iter(plan.loaded.questions), 0, 0, 0
    waiting, stale = list[Question](), set()
    while found < len(log) and (question := next(questions, None)) is not None:
        if number % QUESTIONS_BETWEEN_LOOKS == 0:
            await asyncio.sleep(0)
            if stage.stop.is_set():
                return 0, None
        number += 1
        key = (question.id, question.variant)
        found += key in log
        record, shown = log.settled(key, again), first_pages(question, most)
        if record is None:
            missing += 1
            if missing <= MOST_FIRST:
                waiting.append(question)
        elif unchanged(record, prompt(shown), shown.images):
            stage.progress.earlier(record)
        else:
            stale.add(key)
    if stale:
        log.drop(stale)
    count = missing + len(stale) + plan.loaded.count - number
    stage.progress.note(_carried(plan, log, stage, stale=len(stale), waiting=count))
    return count, chain(waiting, questions) if not stale and missing <= MOST_FIRST else None


def _carried(plan: Plan, log: RecordLog, stage: Stage, *, stale: int, waiting: int) -> str:
    """One line on what an earlier start left."""
    parts = [f"{plan.title}: resuming: {log.answered} done"]
    if stale:
        parts.append(f"{stale} whose question or images have changed since")
    if log.failed_for_good:
        way_out = "" if stage.settings.asked_again >= FAILED else " (--retry failed asks them again)"
        parts.append(f"{log.failed_for_good} failed permanently{way_out}")
    return ", ".join([*parts, f"{waiting} left to ask (--fresh starts over)"])


async def _go_on(
    left: tuple[int, _Questions], plan: Plan, stage: Stage, log: RecordLog, file: RunFile, figures: SessionFigures
) -> None:
    waiting, questions = left
    if not waiting and not (stage.settings.batch and Parts(plan.paths.log).all()):
        file.write(plan.paths.run)
        return
    waits = partial(_waiting, plan, log, stage)
    if stage.settings.batch_step == "read":
        from vqa_client.runs.batched import by_results

        file.start(figures.described([]))
        await _ask(by_results(plan, stage, waits, file), plan, stage, log, file, figures, [])
        file.sessions[-1] = figures.described([])
        file.write(plan.paths.run)
        return
    if not stage.settings.batch:
        refuse_open(plan.paths.log)
    session = await stage.connect()
    served = identity_of_plan(plan, session.model, stage.settings) | _server_of(session)
    check_identity(file.identity, served, plan.paths.run)  # the server may not be the one that it was
    file.identity = served | file.identity
    file.described["server"] = session.server
    servers = ServersOfStart(session, stage.settings, told=stage.progress.serving, note=stage.progress.note)
    routes = session.chat.routes
    stage.crew.begin(waiting)
    control = _control(plan, stage, log, figures)
    watch_pace = partial(figures.pace.watch, routes, stage.crew, stage.progress.pulse)
    watches: list[Watch] = [watch_pace, servers.watch, control.watch]
    if stage.settings.max_workers == "auto" and not stage.settings.batch:
        figures.adaptive = Adaptive(stage.crew, routes, servers.queue)
        watches.append(figures.adaptive.watch)
    chat = await asker_of(plan, session, file, stage.progress.note, stage.stop)
    file.start(figures.described([], servers.described()))
    file.write(plan.paths.run)
    line = Line(task=plan.task, chat=chat, images_for=stage.images_for, max_pages=stage.settings.max_pages)
    try:
        if stage.settings.batch:
            from vqa_client.runs.batched import by_batches  # most runs do without

            ask, watches = by_batches(plan, stage, session, line, waits, file), [control.watch]
        else:
            ask = _online(_waiting(plan, log, stage, questions), line, stage, figures)
        await _ask(ask, plan, stage, log, file, figures, watches)
        if not stage.stop.is_set():
            file.described["server"] = await servers.last_look()
    except GivenUp as error:
        raise await _alive_or_not(error, session) from None
    finally:
        batches = {name: value for name, value in file.sessions[-1].items() if name == "batches"}
        file.sessions[-1] = figures.described(session.chat.template.dialect.described(), servers.described() | batches)
        file.write(plan.paths.run)
        for sentence in limits_of(file.sessions[-1]):
            stage.progress.note(f"{plan.title}: {sentence}")


def _control(plan: Plan, stage: Stage, log: RecordLog, figures: SessionFigures) -> Control:
    def numbers() -> dict[str, int]:
        asked = {"total": plan.loaded.count, "done": len(log), "failed": len(log) - log.answered}
        return asked | {"in_flight": figures.pace.in_flight}

    def fixed() -> None:
        if figures.adaptive is not None:
            figures.adaptive.active = False

    return Control(
        *(plan.paths.log, plan.title),
        crew=stage.crew,
        by_batches=stage.settings.batch,
        stop=stage.stop,
        numbers=numbers,
        fixed=fixed,
        note=stage.progress.note,
    )


def _online(waiting: Iterator[Question], line: Line, stage: Stage, figures: SessionFigures) -> Ask:
    """Workers that each ask one question after the other."""

    async def answer(question: Question) -> Record:
        stage.progress.asking()
        figures.pace.asking()
        stage.budget.asking()
        return await answer_one(question, line)

    return lambda keep: answer_all(waiting, answer, keep, crew=stage.crew, stop=stage.stop)


async def _ask(
    ask: Ask,
    plan: Plan,
    stage: Stage,
    log: RecordLog,
    file: RunFile,
    figures: SessionFigures,
    watches: Sequence[Watch],
) -> None:
    """Ask all that is waiting, with the watches going on beside it."""

    def keep(record: Record) -> None:
        if record.model:
            _same_model(file, record.model, plan.paths.run, told=stage.progress.note, refuses=stage.settings.check)
        rejected_again = record.status == "rejected" and _was_rejected(log, record)
        log.append(record)
        figures.add(record)
        stage.budget.finished(record)
        stage.progress.finished(record)
        limit = stage.breaker.limit
        if not rejected_again and not stage.settings.batch and stage.breaker.note(record.status):
            raise _given_up(record, limit)

    try:
        async with asyncio.TaskGroup() as group:  # a bug in a watch ends the run as one in a worker does
            beside = [group.create_task(_sync_now_and_then(log, stage.progress))]
            beside += [group.create_task(watch()) for watch in watches]
            await ask(keep)
            for task in beside:
                task.cancel()
            if stage.budget.over:
                stage.stop.set()
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


def _same_model(file: RunFile, name: str, path: Path, *, told: Note, refuses: bool) -> None:
    """Keep the name that answered as part of the server's identity; raises IdentityError for another one later."""
    server = file.identity.setdefault("server", {})
    known = server.setdefault("answered_by", name)
    others = file.described.setdefault("answered_by", {})
    others[name] = others.get(name, 0) + 1
    if name == known:
        return
    if refuses:
        check_identity({"server": server}, {"server": server | {"answered_by": name}}, path)
    if others[name] == 1:
        told(f"replies name {name} now, and {known} before: verdicts of both are in the log")


def _waiting(plan: Plan, log: RecordLog, stage: Stage, questions: _Questions = None) -> Iterator[Question]:
    """The questions without an answer that holds, in order; a list of them would grow with the run."""
    again = stage.settings.asked_again
    for question in plan.loaded.questions if questions is None else questions:
        if stage.budget.over:
            return
        if not log.is_done((question.id, question.variant), again):
            yield question


def _was_rejected(log: RecordLog, record: Record) -> bool:
    """Whether an earlier start ended likewise for this question: that says nothing of the server today."""
    before = log.get((record.question_id, record.variant))
    return before is not None and before.status == "rejected"


class GivenUp(ServerUnusable):
    """Too many questions failed in a row."""


async def _alive_or_not(error: GivenUp, session: Session) -> ServerUnusable:
    """The same error, which says so where the server is there and only answers no questions."""
    if await session.endpoint.answers():
        return GivenUp(f"{error}; the server itself is alive and still lists its models", hint=error.hint)
    return error


def _given_up(record: Record, limit: int) -> GivenUp:
    message = record.error.message if record.error else record.status
    way_out = record.error.hint if record.error and record.error.hint else "repair the server"
    return GivenUp(
        f"{limit} questions in a row failed, the last one as {record.status}: {message}",
        hint=f"{way_out}; then run the same command again (--breaker_after sets this limit)",
    )


async def _sync_now_and_then(log: RecordLog, progress: Progress) -> None:
    """Group commit: a power cut loses at most the last seconds, and no answer waits for the disk."""
    while True:
        await asyncio.sleep(SYNC_S)
        try:
            await anyio.to_thread.run_sync(log.sync)
        except OutputError as error:
            progress.note(f"{error}: a power cut may take the last answers")
            return


FORM = "choice_form"


async def asker_of(plan: Plan, session: Session, file: RunFile, note: Note, stop: asyncio.Event) -> Asks:
    """The asker of this plan; the form by which servers are asked to choose goes into the run file.

    Raises ServerUnusable where they take none; an interruption is not kept waiting, and nothing is asked after it.
    """
    choosing = plan.task.choosing
    if choosing is None:
        return session.chat
    from vqa_client.client.constrained.forms import choosing_client  # draws on the checks, and most runs do without

    chat = session.choosing.get(choosing) or await unless(stop, choosing_client(session.chat, choosing, note))
    if chat is None:
        return session.chat
    session.choosing[choosing] = chat  # a command's plans share their servers
    before = file.described.get(FORM, chat.form.name)
    if before != chat.form.name:
        note(f"{plan.title}: earlier questions were asked by {before}, those now by {chat.form.name}")
    file.described[FORM] = chat.form.name
    return chat
