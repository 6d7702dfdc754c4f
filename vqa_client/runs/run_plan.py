"""One plan from what is on disk to its report: resume, ask, keep, report."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from math import nan
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
from vqa_client.runner import GRACE_S, Asks, Line, answer_all, answer_one, first_pages, kept_prompt, until_stopped
from vqa_client.runs.adaptive import Adaptive
from vqa_client.runs.control import Control
from vqa_client.runs.figures import ServersOfStart, SessionFigures
from vqa_client.runs.plan import Note, Plan, close_plan, identity_of_plan, run_file_for
from vqa_client.runs.resume import SCORED_AGAIN, Unchanged, adopt, any_answer, carry_over, score_again
from vqa_client.runs.run_file import RunFile, check_identity
from vqa_client.runs.stage import Ask, Stage, in_daemon_thread
from vqa_client.task import Task
from vqa_client.types import FAILED, Question, Record

Watch = Callable[[], Coroutine[Any, Any, None]]
"""Runs until it is cancelled."""
SYNC_S = 5.0
QUESTIONS_BETWEEN_LOOKS = 500
MOST_FIRST = 256
"""Questions without an answer before the last answered one that are kept: a killed run left as many as were asked."""


async def run_plan(plan: Plan, stage: Stage) -> Report | None:
    """Ask what is not answered yet and write the report, marked incomplete when something ended the run early.

    None where the run was asked to stop while the report of all answers was made, which may take minutes.
    """
    paths = plan.paths
    model = await _model(stage, plan)
    file = run_file_for(plan, stage.settings, model)
    before = carry_over(paths, file)
    with RecordLog(paths.log, file.identity) as log:
        if log.repaired:
            stage.progress.note(log.repaired)
        earlier, adopted = [before], 0
        if not stage.settings.fresh:
            adopted = adopt(log, paths, file, plan.loaded.questions)
        if adopted:
            earlier += [RunFile.read(other.run) for other in paths.otherwise_divided()]
            stage.progress.note(f"{plan.title}: {adopted} answers are taken over from the run's other division")
        if otherwise := len(log) > 0 and any(each is not None and _judged_otherwise(each, file) for each in earlier):
            stage.progress.note(SCORED_AGAIN)
        if adopted or otherwise:
            score_again(log, plan.loaded.questions, plan.task)
        if adopted:
            file.write(paths.run)
        stage.progress.begin(" · ".join(filter(None, (plan.title, stage.shown_model))), plan.loaded.count)
        stage.progress.measuring(plan.task.description.measure)
        start = _Start(plan, stage, log, file)
        try:
            await start.ask(*await start.still_to_ask(before))
        finally:
            stage.progress.end()
            closing = asyncio.ensure_future(in_daemon_thread(partial(close_plan, plan, stage.progress.note, file, log)))
            report = await (_unless_stopped(closing, stage) if len(log) >= plan.loaded.count else closing)
    return report


async def _unless_stopped(closing: asyncio.Future[Report], stage: Stage) -> Report | None:
    """The report, or None where it isn't there soon after `stop` is set: the same command makes it again."""
    report = await until_stopped(stage.stop, asyncio.shield(closing), grace_s=GRACE_S)
    if report is None:
        closing.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody waits for it any more
    return report


async def _model(stage: Stage, plan: Plan) -> ModelSettings:
    """The named model; else the served one, or, where no server can be reached, the one that has answered before.

    On a first start nothing is written before the server has answered.
    """
    if stage.settings.serverless:
        return stage.named(stage.settings.serverless)
    if stage.model is not None and plan.paths.log.exists():
        return stage.model
    try:
        return (await stage.connect()).model
    except ServerUnusable as error:
        before = RunFile.read(plan.paths.run)
        if before is None or not any_answer(plan.paths.log):
            raise
        stage.progress.note(f"{plan.title}: {error}; using the saved answers of {before.model().model_name}")
        return before.model()


def _judged_otherwise(before: RunFile, now: RunFile) -> bool:
    """Whether kept replies may be worth something else: another parser or scorer, or another answer key."""
    return before.scoring != now.scoring or before.described.get("data_sha256") != now.described["data_sha256"]


def _same_system(record: Record, question: Question, task: Task) -> bool:
    """Whether a question's own system message is the one that it was asked with; that of all is in the identity."""
    return task.system_of is None or (record.system or "") == kept_prompt(task.system_of(question))


class _Start:
    """One start of a plan's run: unanswered questions are asked, each record is kept, and the run file says how."""

    def __init__(self, plan: Plan, stage: Stage, log: RecordLog, file: RunFile) -> None:
        self.plan, self.stage, self.log, self.file = plan, stage, log, file
        self.figures = SessionFigures()

    async def still_to_ask(self, before: RunFile | None) -> tuple[int, Iterable[Question]]:
        """How many questions have no answer that holds, and questions among which these all are.

        Answers that no longer hold are dropped. Questions behind those that have records are not looked at yet.
        """
        loaded, log = self.plan.loaded, self.log
        if not len(log):
            return loaded.count, loaded.questions
        unchanged = Unchanged(since_ns=before.first_start_ns if before is not None else 0)
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
                earlier(record.status, record.score if record.parts else nan)
            else:
                stale.add(key)
        if stale:
            log.drop(stale)
        count = missing + len(stale) + loaded.count - number
        if n_found:  # the log may only have the answers to what was asked first
            self.stage.progress.note(self._carried(stale=len(stale), waiting=count))
        return count, loaded.questions if stale or missing > MOST_FIRST else chain(waiting, questions)

    def _carried(self, *, stale: int, waiting: int) -> str:
        """One line on what an earlier start left."""
        parts = [f"{self.plan.title}: resuming: {self.log.answered} done"]
        if stale:
            parts.append(f"{stale} whose question or images have changed since")
        if self.log.failed_permanently:
            way_out = "" if self.stage.settings.asked_again >= FAILED else " (--retry failed asks them again)"
            parts.append(f"{self.log.failed_permanently} failed permanently{way_out}")
        left = "not yet answered" if self.stage.settings.by_batches else "left to ask"  # some may be in batches
        return ", ".join([*parts, f"{waiting} {left} (--fresh starts over)"])

    async def ask(self, waiting: int, questions: Iterable[Question]) -> None:
        """Ask those of the questions that wait: `waiting` in number."""
        plan, stage, file = self.plan, self.stage, self.file
        if not waiting and not (stage.settings.batch and Parts(plan.paths.log).all()):
            file.write(plan.paths.run)
        elif stage.settings.serverless:
            await self._ask_no_server()
        else:
            if not stage.settings.batch:
                refuse_open(plan.paths.log)
            session = await stage.connect()
            stage.crew.begin(waiting)
            await self._ask_servers(session, questions)

    async def _ask_no_server(self) -> None:
        from vqa_client.runs.batched import by_command, by_results

        by = by_command if self.stage.settings.batch_command else by_results
        ask = by(self.plan, self.stage, self._waiting, self.file)
        self.file.start(self.figures.described([]))
        self.file.write(self.plan.paths.run)
        try:
            await self._through(ask, [Control(self.plan, self.stage, self.log, self.figures).watch])
        finally:
            self.file.sessions[-1] = self.figures.described([])
            self.file.write(self.plan.paths.run)

    async def _ask_servers(self, session: Session, questions: Iterable[Question]) -> None:
        plan, stage, file, figures = self.plan, self.stage, self.file, self.figures
        server = identity_of(session.server)
        served = identity_of_plan(plan, session.model, stage.settings) | ({"server": server} if server else {})
        check_identity(file.identity, served, plan.paths.run)  # the server may not be the one that it was
        file.identity = served | file.identity
        file.described["server"] = session.server
        servers = ServersOfStart(session, stage.settings, show=stage.progress.serving, note=stage.progress.note)
        routes, control = session.chat.routes, Control(plan, stage, self.log, figures)
        pace: Watch = partial(figures.pace.watch, routes, stage.crew, stage.progress.pulse)
        watches = [pace, servers.watch, control.watch]
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

                ask = by_batches(plan, stage, session, line, self._waiting, file)
                await self._through(ask, [control.watch])
            else:
                await self._through(self._online(self._waiting(questions), line), watches)
            if not stage.stop.is_set():
                file.described["server"] = await servers.last_look()
        except GivenUp as error:
            raise await _alive_or_not(error, session) from None
        finally:
            batches = {name: value for name, value in file.sessions[-1].items() if name == "batches"}
            file.sessions[-1] = figures.described(
                session.chat.template.dialect.described(), servers.described() | batches
            )
            file.write(plan.paths.run)
            for sentence in limits_of(file.sessions[-1]):
                stage.progress.note(f"{plan.title}: {sentence}")

    def _waiting(self, questions: Iterable[Question] | None = None) -> Iterator[Question]:
        """The questions without an answer that holds, in order; a list of them would grow with the run."""
        again = self.stage.settings.asked_again
        for question in self.plan.loaded.questions if questions is None else questions:
            if not self.log.is_done(question.key, again):
                if not self.stage.budget.has_room(self.stage.crew.in_flight):
                    return
                yield question

    def _online(self, waiting: Iterator[Question], line: Line) -> Ask:
        """Workers that each ask one question after the other."""
        stage = self.stage

        async def answer(question: Question) -> Record:
            stage.progress.asking()
            return await answer_one(question, line)

        return lambda keep: answer_all(waiting, answer, keep, crew=stage.crew, stop=stage.stop)

    async def _through(self, ask: Ask, watches: Sequence[Watch]) -> None:
        """Ask, and keep each record, with the watches going on beside it."""
        try:
            async with asyncio.TaskGroup() as group:  # a bug in a watch ends the run as one in a worker does
                beside = [group.create_task(_sync_now_and_then(self.log, self.stage.progress))]
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
            self._same_model(record.model)
        rejected_again = record.status == "rejected" and self._was_rejected(record)
        self.log.append(record)
        self.figures.add(record)
        stage.budget.finished(record, stage.crew.in_flight - 1)
        stage.progress.finished(record)
        limit = stage.breaker.limit
        if not rejected_again and not stage.settings.by_batches and stage.breaker.note(record.status):
            raise _given_up(record, limit)

    def _same_model(self, name: str) -> None:
        """Keep the name that answered as part of the server's identity; raises IdentityError for another one later."""
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

    def _was_rejected(self, record: Record) -> bool:
        """Whether an earlier start ended likewise for this question: that says nothing of the server today."""
        before = self.log.get(record.key)
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
    from vqa_client.client.constrained import choosing_client  # draws on the checks, and most runs do without

    chat = session.choosing.get(choosing) or await until_stopped(stop, choosing_client(session.chat, choosing, note))
    if chat is None:
        return session.chat
    session.choosing[choosing] = chat  # a command's plans share their servers
    before = file.described.get(FORM, chat.form.name)
    if before != chat.form.name:
        note(f"{plan.title}: earlier questions were asked by {before}, those now by {chat.form.name}")
    file.described[FORM] = chat.form.name
    return chat
