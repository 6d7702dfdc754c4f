"""One plan from what is on disk to its report: resume, ask, keep, report."""

import asyncio
from collections.abc import Iterator

import anyio.to_thread
from msgspec import Struct

from vqa_client.client.limits import Breaker
from vqa_client.client.session import Session
from vqa_client.errors import ServerUnusable
from vqa_client.progress import Progress
from vqa_client.records import RecordLog
from vqa_client.reports.report import Report
from vqa_client.runner import Line, answer_all, answer_one
from vqa_client.runs.figures import SessionFigures
from vqa_client.runs.plans import Plan
from vqa_client.runs.resume import RunPaths, carry_over, move_aside, score_again, unchanged
from vqa_client.runs.run_file import RunFile, described_settings, identity, versions
from vqa_client.settings import RunSettings
from vqa_client.types import Question, Record

SYNC_S = 5.0
QUESTIONS_BETWEEN_LOOKS = 500


class Stage(Struct, frozen=True, kw_only=True):
    """What all plans of one command share."""

    settings: RunSettings
    session: Session
    progress: Progress
    stop: asyncio.Event


async def run_plan(plan: Plan, line: Line, stage: Stage) -> Report:
    """Ask what is not answered yet and write the report, marked incomplete when something ended the run early."""
    paths = RunPaths.beside(plan.report_path)
    if stage.settings.fresh:
        move_aside(paths)
    file = _run_file(plan, stage)
    before = carry_over(paths, file)
    with RecordLog(paths.log) as log:
        if log.repaired:
            stage.progress.note(log.repaired)
        if before is not None and before.scoring != file.scoring:
            score_again(log, plan.loaded.questions, plan.task, plan.variant)
            stage.progress.note("the scoring has changed: kept replies are read and scored again, not asked again")
        stage.progress.begin(plan.title, plan.loaded.count)
        figures = SessionFigures()
        try:
            waiting = await _still_to_ask(plan, log, stage, before)
            if waiting is not None:
                stage.progress.note(
                    f"{plan.title}: {len(log)} answered before, {len(waiting)} to ask (--fresh asks all)"
                )
            file.start(figures.described([]))
            file.write(paths.run)
            await _ask(waiting, plan, line, stage, log, figures)
        finally:
            stage.progress.end()
            report = _close(plan, stage, paths, file, log, figures)
    return report


def _close(plan: Plan, stage: Stage, paths: RunPaths, file: RunFile, log: RecordLog, figures: SessionFigures) -> Report:
    """Write what this session was like and the report, however the session ended."""
    log.sync()
    if figures.questions:
        file.sessions[-1] = figures.described(stage.session.chat.dialect.described())
        file.write(paths.run)
    report = plan.report(lambda: _in_order(plan, log), stage.session.model.model_name, stage.settings.config)
    if not len(log) and report.incomplete:  # stopped before the first answer: nothing is worth a file
        for path in (paths.report, paths.run, paths.log):
            path.unlink(missing_ok=True)
    return report


def _run_file(plan: Plan, stage: Stage) -> RunFile:
    return RunFile(
        identity=plan.identity() | identity(stage.session.model, stage.settings),
        scoring=plan.task.scoring,
        described={
            "versions": versions(),
            "server": stage.session.server,
            "settings": described_settings(stage.settings),
            "data_sha256": plan.loaded.data_sha256,
        },
    )


async def _still_to_ask(plan: Plan, log: RecordLog, stage: Stage, before: RunFile | None) -> set[str] | None:
    """The ids that have no answer that holds; None means all, on a first start."""
    if not len(log):
        return None
    since_ns = before.first_start_ns if before is not None else 0
    waiting, stale = set(), set()
    for number, question in enumerate(plan.loaded.questions):
        if number % QUESTIONS_BETWEEN_LOOKS == 0:
            await asyncio.sleep(0)
        key = (question.id, plan.variant)
        if not log.is_done(key, retry_failed=stage.settings.retry_failed):
            waiting.add(question.id)
            continue
        record, shown = log.read(key), question.images[: stage.settings.max_pages]
        if unchanged(record, plan.task.prompt(question), shown, since_ns):
            stage.progress.earlier(record)
        else:
            waiting.add(question.id)
            stale.add(key)
    if stale:
        log.drop(stale)
        stage.progress.note(f"{len(stale)} answered questions or their images have changed since: asked again")
    return waiting


async def _ask(
    waiting: set[str] | None, plan: Plan, line: Line, stage: Stage, log: RecordLog, figures: SessionFigures
) -> None:
    breaker = Breaker(stage.settings.breaker_after)

    async def answer(question: Question) -> Record:
        stage.progress.asking()
        return await answer_one(question, line)

    def keep(record: Record) -> None:
        log.append(record)
        figures.add(record)
        stage.progress.finished(record)
        if breaker.note(record.status):
            raise _given_up(record, stage.settings.breaker_after)

    count = plan.loaded.count if waiting is None else len(waiting)
    questions = (q for q in plan.loaded.questions if waiting is None or q.id in waiting)
    beside = [asyncio.create_task(_sync_now_and_then(log)), asyncio.create_task(figures.watch_loop())]
    try:
        workers = min(stage.settings.max_workers, count)
        await answer_all(questions, answer, keep, workers=workers, stop=stage.stop)
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)


def _given_up(record: Record, after: int) -> ServerUnusable:
    message = record.error.message if record.error else record.status
    return ServerUnusable(
        f"{after} questions in a row failed, the last one as {record.status}: {message}",
        hint=(record.error.hint if record.error and record.error.hint else "mend the server")
        + "; then the same command goes on (--breaker_after sets this limit)",
    )


async def _sync_now_and_then(log: RecordLog) -> None:
    """Group commit: a power cut loses at most the last seconds, and no answer waits for the disk."""
    while True:
        await asyncio.sleep(SYNC_S)
        await anyio.to_thread.run_sync(log.sync)


def _in_order(plan: Plan, log: RecordLog) -> Iterator[tuple[Question, Record]]:
    """The questions that have a record, in the order of the data file, whatever order they ended in."""
    for question in plan.loaded.questions:
        key = (question.id, plan.variant)
        if key in log:
            yield question, log.read(key)
