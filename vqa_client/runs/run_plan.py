"""Runs one plan: resumes its log, asks the questions that have no answer, keeps the records, writes the report."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from math import nan
from typing import Any

import anyio.to_thread

from vqa_client.batch.parts import refuse_open
from vqa_client.client.check.preflight import identity_of
from vqa_client.client.session import Session
from vqa_client.errors import OutputError, ServerUnusable
from vqa_client.model_config import ModelSettings
from vqa_client.progress import Progress
from vqa_client.records import RecordLog
from vqa_client.reports.limiting import limits_of
from vqa_client.reports.names import count
from vqa_client.reports.report import Report
from vqa_client.runner import GRACE_S, Pipeline, answer_all, answer_one, first_pages, kept_prompt, until_stopped
from vqa_client.runs.adaptive import Adaptive
from vqa_client.runs.control import Control
from vqa_client.runs.figures import ServersOfStart, SessionFigures
from vqa_client.runs.plan import Plan, close_plan, identity_of_plan, run_file_for
from vqa_client.runs.resume import SCORED_AGAIN, Unchanged, adopt, any_answer, carry_over, sort_log
from vqa_client.runs.run_file import RunFile, check_identity
from vqa_client.runs.stage import AskAll, Stage, in_daemon_thread
from vqa_client.task import Task
from vqa_client.types import Asks, Note, Question, Record

Watch = Callable[[], Coroutine[Any, Any, None]]
"""Watches a run beside its workers until it is cancelled."""
SYNC_S = 5.0
QUESTIONS_BETWEEN_LOOKS = 500
MOST_FIRST = 256
"""How many unanswered questions before the last answered one are kept in a list: a killed run leaves those that were in
flight. If there are more, all questions are walked again."""


async def run_plan(plan: Plan, stage: Stage) -> Report | None:
    """Ask the questions without an answer and write the report, which is marked incomplete if the run ended early.

    Returns None if a stop came while the report of a complete run was being written, which may take minutes.
    """
    paths = plan.paths
    model, session = await _model_of_run(stage, plan)
    file = run_file_for(plan, stage.settings, model)
    before = carry_over(paths, file, stage.progress.note)
    with RecordLog(paths.log, file.identity) as log:
        if log.repaired:
            stage.progress.note(log.repaired)
        earlier, adopted = [before], 0
        if not stage.settings.fresh:
            adopted = adopt(log, paths, file, plan.loaded.questions)
        if adopted:
            earlier += [RunFile.read(other.run) for other in paths.otherwise_divided()]
            stage.progress.note(f"{plan.title}: {count(adopted, 'answer')} copied from another division of the run")
        if rescore := len(log) > 0 and any(old is not None and _scoring_changed(old, file) for old in earlier):
            stage.progress.note(f"{plan.title}: {SCORED_AGAIN}")
        if adopted or rescore:
            sort_log(log, plan.loaded.questions, plan.task)
        if adopted:
            file.write(paths.run)
        stage.progress.begin(" · ".join(filter(None, (plan.title, stage.shown_model))), plan.loaded.count)
        stage.progress.measuring(plan.live_measure)
        start = _Start(plan, stage, log, file, session)
        try:
            await start.ask(*await start.still_to_ask(before))
        finally:
            stage.progress.end()
            closing = asyncio.ensure_future(in_daemon_thread(partial(close_plan, plan, stage.progress.note, file, log)))
            report = await (_report_or_stop(closing, stage) if len(log) >= plan.loaded.count else closing)
    return report


async def _report_or_stop(closing: asyncio.Future[Report], stage: Stage) -> Report | None:
    """The report, or None if it is not ready soon after a stop; the same command writes it again."""
    report = await until_stopped(stage.stop, asyncio.shield(closing), grace_s=GRACE_S)
    if report is None:
        closing.add_done_callback(lambda done: done.cancelled() or done.exception())
    return report


async def _model_of_run(stage: Stage, plan: Plan) -> tuple[ModelSettings, Session | None]:
    """The named model; else the served one, or, if no server can be reached, the one that has answered before.

    Also the session, if the server was asked: on a first start nothing is written before the server has answered.
    """
    if stage.settings.serverless:
        return stage.named(stage.settings.serverless), None
    if stage.model is not None and plan.paths.log.exists():
        return stage.model, None
    try:
        session = await stage.connect()
        return session.model, session
    except ServerUnusable as error:
        before = RunFile.read(plan.paths.run)
        if before is None or not any_answer(plan.paths.log):
            raise
        stage.progress.note(f"{plan.title}: {error}; using the saved answers of {before.model().model_name}")
        return before.model(), None


def _scoring_changed(before: RunFile, now: RunFile) -> bool:
    """Whether saved replies may have another score now: the parser, the scorer or the data file has changed."""
    return before.scoring != now.scoring or before.described.get("data_sha256") != now.described["data_sha256"]


def _same_system(record: Record, question: Question, task: Task) -> bool:
    """Whether a question's own system message is unchanged; the identity compares the one that all questions share."""
    return task.system_of is None or (record.system or "") == kept_prompt(task.system_of(question))


class _Start:
    """One start of a run: asks the unanswered questions, keeps each record, and describes itself in the run file."""

    def __init__(self, plan: Plan, stage: Stage, log: RecordLog, file: RunFile, session: Session | None) -> None:
        self.plan, self.stage, self.log, self.file, self.session = plan, stage, log, file, session
        self.figures = SessionFigures()

    async def still_to_ask(self, before: RunFile | None) -> tuple[int, Iterable[Question]]:
        """How many questions have no valid answer, and questions that include all of them.

        Drops answers that are no longer valid. Doesn't walk over the questions after the last one with a record.
        """
        loaded, log = self.plan.loaded, self.log
        if not len(log):
            return loaded.count, loaded.questions
        started = before.started if before is not None else None
        unchanged = Unchanged(since_ns=int(started.timestamp() * 1e9) if started else 0)
        again, most, task = self.stage.settings.asked_again, self.stage.settings.max_pages, self.plan.task
        earlier = self.stage.progress.earlier
        questions, number, n_found, n_kept, missing = iter(loaded.questions), 0, 0, len(log), 0
        waiting, stale = list[Question](), set()
        while n_found < n_kept and (question := next(questions, None)) is not None:
            if number % QUESTIONS_BETWEEN_LOOKS == 0:
                await asyncio.sleep(0)
                if self.stage.stop.is_set():
                    return 0, ()
            number += 1
            key, pages = question.key, first_pages(question, most)
            prompt = task.prompt(pages)
            asked = unchanged.tag(prompt, task.system_for(question), pages.images)
            place, is_settled, outcome = log.find(key, asked, again)
            n_found += place >= 0
            if outcome is not None:
                earlier(*outcome)
            elif not is_settled:
                missing += 1
                if missing <= MOST_FIRST:
                    waiting.append(question)
            elif unchanged(record := log[place], prompt, pages.images) and _same_system(record, question, task):
                earlier(record.status, record.score if record.is_scored else nan)
            else:
                stale.add(key)
        if stale:
            log.drop(stale)
        left = missing + len(stale) + loaded.count - number
        if n_found:  # else the log only has answers to the gate questions
            self.stage.progress.note(self._resumed_line(stale=len(stale), waiting=left))
        return left, loaded.questions if stale or missing > MOST_FIRST else chain(waiting, questions)

    def _resumed_line(self, *, stale: int, waiting: int) -> str:
        """The note on how many records of earlier starts are used."""
        again = self.stage.settings.asked_again
        parts = [f"{self.plan.title}: resuming: {self.log.answered(again)} done"]
        if stale:
            parts.append(f"{stale} whose question or images have changed since")
        if failed := self.log.failed_permanently(again):
            parts.append(f"{failed} failed permanently (--retry failed asks them again)")
        left = "not yet answered" if self.stage.settings.by_batches else "left to ask"  # some may be in batches
        return ", ".join([*parts, f"{waiting} {left} (--fresh starts over)"])

    async def ask(self, waiting: int, questions: Iterable[Question]) -> None:
        """Ask the `waiting` questions, in number, that have no valid answer."""
        plan, stage, file = self.plan, self.stage, self.file
        if not waiting and not (stage.settings.batch and plan.unfinished_parts()):
            file.write(plan.paths.run)
        elif stage.settings.serverless:
            await self._ask_no_server()
        else:
            refuse_open(plan.paths.log, own=not stage.settings.batch)
            session = self.session or await stage.connect()
            stage.crew.begin(waiting)
            await self._ask_servers(session, questions)

    async def _ask_no_server(self) -> None:
        from vqa_client.runs.batched import Batches

        batches = Batches(self.plan, self.stage, self._waiting, self.file)
        ask = batches.by_command() if self.stage.settings.batch_command else batches.by_results()
        self.file.start(self.figures.described([]))
        self.file.write(self.plan.paths.run)
        try:
            await self._ask_and_watch(ask, [Control(self.plan, self.stage, self.log, self.figures).watch])
        finally:
            self.file.sessions[-1] = self.figures.described([])
            self.file.write(self.plan.paths.run)

    async def _ask_servers(self, session: Session, questions: Iterable[Question]) -> None:
        plan, stage, file, figures = self.plan, self.stage, self.file, self.figures
        server = identity_of(session.server)
        served = identity_of_plan(plan, session.model, stage.settings) | ({"server": server} if server else {})
        check_identity(file.identity, served, plan.paths.run)  # the address may have another server now
        file.identity = served | file.identity
        file.described["server"] = session.server
        servers = ServersOfStart(session, stage.settings, show=stage.progress.serving, note=stage.progress.note)
        routes, control = session.chat.routes, Control(plan, stage, self.log, figures)
        pace: Watch = partial(figures.pace.watch, routes, stage.crew, stage.progress.pulse)
        watches = [pace, servers.watch, control.watch]
        if not stage.settings.batch:
            is_auto = stage.ctl.workers(stage.settings) == "auto"
            figures.adaptive = Adaptive(stage.crew, routes, servers.queue, active=is_auto)
            watches.append(figures.adaptive.watch)
        chat = await client_for(plan, session, file, stage.progress.note, stage.stop)
        file.start(figures.described([], servers.described()))
        file.write(plan.paths.run)
        line = Pipeline(task=plan.task, chat=chat, images_for=stage.images_for, max_pages=stage.settings.max_pages)
        try:
            if stage.settings.batch:
                from vqa_client.runs.batched import Batches  # most runs need no batches

                ask = Batches(plan, stage, self._waiting, file).on_server(session, line)
                await self._ask_and_watch(ask, [control.watch])
            else:
                await self._ask_and_watch(self._by_workers(self._waiting(questions), line), watches)
            if not stage.stop.is_set():
                file.described["server"] = await servers.last_look()
        except GivenUp as error:
            if await session.endpoint.answers():
                alive = f"{error}; the server itself is alive and still lists its models"
                raise GivenUp(alive, hint=error.hint) from None
            raise
        finally:
            more = {name: value for name, value in file.sessions[-1].items() if name == "batches"}
            more |= {"stopped": True} if stage.stop.is_set() else {}
            file.sessions[-1] = figures.described(session.chat.template.dialect.described(), servers.described() | more)
            file.write(plan.paths.run)
            for sentence in limits_of(file.sessions[-1]):
                stage.progress.note(f"{plan.title}: {sentence}")

    def _waiting(self, questions: Iterable[Question] | None = None) -> Iterator[Question]:
        """The questions without a valid answer, in order; a list of them would take memory for each."""
        again = self.stage.settings.asked_again
        for question in self.plan.loaded.questions if questions is None else questions:
            if not self.log.is_done(question.key, again):
                if not self.stage.budget.has_room(self.stage.crew.in_flight):
                    return
                yield question

    def _by_workers(self, waiting: Iterator[Question], line: Pipeline) -> AskAll:
        """Asks with workers; each worker asks one question at a time."""
        stage = self.stage

        async def answer(question: Question) -> Record:
            stage.progress.asking()
            return await answer_one(question, line)

        return lambda keep: answer_all(waiting, answer, keep, crew=stage.crew, stop=stage.stop)

    async def _ask_and_watch(self, ask: AskAll, watches: Sequence[Watch]) -> None:
        """Ask and keep each record while the watches run."""
        try:
            async with asyncio.TaskGroup() as group:  # a bug in a watch ends the run, like one in a worker
                beside = [group.create_task(_sync_regularly(self.log, self.stage.progress))]
                beside += [group.create_task(watch()) for watch in watches]
                await ask(self._keep)
                for task in beside:
                    task.cancel()
                if self.stage.budget.over:
                    self.stage.stop.set()
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    def _keep(self, record: Record) -> None:
        stage = self.stage
        if record.model:
            self._check_model_name(record.model)
        before = self.log.get(record.key) if record.status in ("rejected", "bad_image") else None
        failed_again = before is not None and before.status == record.status  # not a sign of a broken server or disk
        self.log.append(record)
        self.figures.add(record)
        stage.budget.finished(record, stage.crew.in_flight - 1)
        stage.progress.finished(record)
        unread = record.error.message if record.error and record.error.transient else ""
        counts = not failed_again and not stage.settings.by_batches
        if counts and stage.breaker.note(record.status, unread=unread):
            raise _given_up(record, stage.breaker.limit(record.status))

    def _check_model_name(self, name: str) -> None:
        """Add the model name of the replies to the server's identity; raises IdentityError if it changes later."""
        server = self.file.identity.setdefault("server", {})
        known = server.setdefault("answered_by", name)
        others = self.file.described.setdefault("answered_by", {})
        others[name] = others.get(name, 0) + 1
        if name == known:
            return
        if self.stage.settings.check:
            check_identity({"server": server}, {"server": server | {"answered_by": name}}, self.plan.paths.run)
        if others[name] == 1:
            self.stage.progress.note(f"replies name {name} now, and {known} before: verdicts of both are in the log")


class GivenUp(ServerUnusable):
    """Too many questions in a row failed at the server."""


def _given_up(record: Record, limit: int) -> ServerUnusable:
    message = record.error.message if record.error else record.status
    way_out = record.error.hint if record.error and record.error.hint else "repair the server"
    at_server = record.status != "bad_image"
    if not at_server:
        way_out = "make the images readable again"
    return (GivenUp if at_server else ServerUnusable)(
        f"{count(limit)} in a row failed, the last one as {record.status}: {message}",
        hint=f"{way_out}; then run the same command again (--breaker_after sets this limit)",
    )


async def _sync_regularly(log: RecordLog, progress: Progress) -> None:
    """Flush the log to the disk every few seconds: a power cut loses only the last seconds."""
    while True:
        await asyncio.sleep(SYNC_S)
        try:
            await anyio.to_thread.run_sync(log.sync)
        except OutputError as error:
            progress.note(f"{error}: a power cut may lose the last answers")
            return


FORM = "choice_form"


async def client_for(plan: Plan, session: Session, file: RunFile, note: Note, stop: asyncio.Event) -> Asks:
    """The client that asks this plan's questions; the run file gets the form of request that makes servers choose.

    Raises ServerUnusable if they accept no form. A stop ends the search for one at once.
    """
    choosing = plan.task.choosing
    if choosing is None:
        return session.chat
    from vqa_client.client.constrained import choosing_client  # most runs don't need it

    chat = session.choosing.get(choosing) or await until_stopped(stop, choosing_client(session.chat, choosing, note))
    if chat is None:
        return session.chat  # after a stop nothing is asked
    session.choosing[choosing] = chat  # the plans of a command share the servers
    before = file.described.get(FORM, chat.form.name)
    if before != chat.form.name:
        note(f"{plan.title}: earlier questions were asked by {before}, those now by {chat.form.name}")
    file.described[FORM] = chat.form.name
    return chat
