"""Runs by batches: on the session's server, by files that another program answers, and the batch commands."""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, nullcontext, suppress
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.batch.asking import LineForm, Results, Stops, parts_of, read_results
from vqa_client.batch.parts import (
    BatchPart,
    PartFolder,
    PartSize,
    PartWriter,
    progress_of,
    refuse_open,
    run_digest,
)
from vqa_client.batch.run import BatchRun, Listener, clock
from vqa_client.batch.service import ENDED, Service, open_service
from vqa_client.client.body import Dialect, RequestTemplate
from vqa_client.client.session import Session, addressed, named_model, open_session
from vqa_client.cpus import usable_cpus
from vqa_client.errors import Busy, DataError, ServerUnusable, UsageError
from vqa_client.model_config import ModelSettings
from vqa_client.records import locked
from vqa_client.reports.names import count
from vqa_client.runner import Pipeline, until_stopped
from vqa_client.runs.dry_run import answered_before
from vqa_client.runs.plan import Note, Plan, run_file_for
from vqa_client.runs.plans import plans_of
from vqa_client.runs.run_file import RunFile
from vqa_client.runs.stage import AskAll, Stage, prepared_images
from vqa_client.servers.process import finished
from vqa_client.settings.run import RunSettings
from vqa_client.tables.pdf_pages import DRAWN, drawn_pages_in
from vqa_client.types import Asks, Question, Record

GIGABYTE = 1e9
Waiting = Callable[[], Iterator[Question]]
"""Walks over the questions without a valid answer."""


def _run_of(file: RunFile) -> str:
    """The digest of a run's identity without its server."""
    return run_digest({name: value for name, value in file.identity.items() if name != "server"})


def by_batches(plan: Plan, stage: Stage, session: Session, line: Pipeline, waiting: Waiting, file: RunFile) -> AskAll:
    """Asks by batches of the session's server until interrupted; the last start in the run file lists the batches."""
    settings = stage.settings
    form = LineForm(
        template=session.chat.template,
        run=_run_of(file),
        choosing=_choosing_wrapper(plan, line.chat),
        file_urls=settings.file_urls,
        redacted=session.endpoint.redacted,
        names=_name_counter(plan, stage, file),
    )

    async def run(keep: Callable[[Record], None]) -> None:
        async with open_service(session.endpoint, settings) as service:
            run = BatchRun(
                title=plan.title,
                questions=plan.loaded.questions,
                waiting=waiting,
                line=line,
                form=form,
                parts=PartFolder(plan.paths.log),
                unfinished=plan.unfinished_parts(),
                settings=settings,
                service=service,
                listener=_listener(plan, stage, keep),
            )
            await run.ask(file.sessions[-1].setdefault("batches", []))

    async def ask(keep: Callable[[Record], None]) -> None:
        await until_stopped(stage.stop, run(keep))
        if left := plan.unfinished_parts():
            total = plan.loaded.count
            progress = progress_of(left, total - sum(1 for _ in waiting()), total)
            way_out = "the same command collects them, `vqa-client batch cancel` ends them"
            stage.progress.note(f"{plan.title}: {progress}; {way_out}")

    return ask


def _listener(plan: Plan, stage: Stage, keep: Callable[[Record], None]) -> Listener:
    def kept(record: Record) -> None:
        stage.progress.asking()
        keep(record)

    def show(text: str) -> None:
        stage.progress.serving(text)
        stage.progress.pulse(0.0)

    return Listener(note=lambda text: stage.progress.note(f"{plan.title}: {text}"), show=show, keep=kept)


def _name_counter(plan: Plan, stage: Stage, file: RunFile) -> Callable[[str], None]:
    """Counts the model names in replies, those of earlier starts included; a new name is noted once."""
    if plan.task.names_model:  # then the names are in the records, which are compared when they are kept
        return lambda name: None
    counts: dict[str, int] = file.described.setdefault("answered_by", {})

    def named(name: str) -> None:
        if counts and name not in counts:
            note = f"replies name {name[:80]}, and {next(iter(counts))[:80]} before: is it still the same model?"
            stage.progress.note(f"{plan.title}: {note}")
        counts[name] = counts.get(name, 0) + 1

    return named


def _choosing_wrapper(plan: Plan, chat: Asks) -> Callable[[Asks], Asks]:
    """Wraps a client so that each request has the fields that make the server choose a label, if the run wants that."""
    choosing = plan.task.choosing
    if choosing is None:
        return lambda asks: asks
    from vqa_client.client.constrained import ChoosingClient

    assert isinstance(chat, ChoosingClient)
    return lambda asks: ChoosingClient(asks, chat.form, choosing)


def serverless_form(plan: Plan, settings: RunSettings, model: ModelSettings, file: RunFile) -> LineForm:
    """How the questions of a run without a server become lines."""
    if plan.task.choosing is not None:
        raise UsageError(
            f"--choice_mode {plan.task.choosing.mode} needs a server, which shows how it is asked", hint="--batch"
        )
    template = RequestTemplate(model, Dialect())
    return LineForm(template=template, run=_run_of(file), file_urls=settings.file_urls)


def by_results(plan: Plan, stage: Stage, waiting: Waiting, file: RunFile) -> AskAll:
    """Keeps the results that another program has put into the run's folder of batches; raises DataError without any."""
    parts = PartFolder(plan.paths.log)
    paths = parts.foreign_results()
    if not paths:
        if not parts.inputs():
            hint = "`vqa-client batch write` with the same options writes it"
            raise DataError(f"{parts.folder} has no file of requests yet, so nothing can have answered one", hint=hint)
        hint = (
            f"vllm run-batch -i {parts.input(1)} -o {parts.result(1)} --model {stage.settings.served_name or 'MODEL'}"
        )
        raise DataError(f"{parts.folder} has no results of a batch", hint=hint)
    serverless = _Serverless(plan, stage, waiting, file)
    return lambda keep: until_stopped(stage.stop, serverless.take_over(paths, keep))


def by_command(plan: Plan, stage: Stage, waiting: Waiting, file: RunFile) -> AskAll:
    """Writes files of waiting questions, runs --batch_command on one file at a time, and keeps its results.

    Results that a killed command has written count.
    """
    parts, settings, serverless = PartFolder(plan.paths.log), stage.settings, _Serverless(plan, stage, waiting, file)
    refuse_open(plan.paths.log)
    words = shlex.split(settings.batch_command)
    memory_gb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIGABYTE

    async def answered(part: BatchPart) -> None:
        source, target = map(str, (parts.input(part.number), parts.result(part.number)))
        size = f"{count(len(part.ids), 'question')}, {part.size_bytes / GIGABYTE:.2f} GB"
        stage.progress.note(f"{plan.title}: {words[0]} gets {size} (this machine has {memory_gb:.0f} GB of memory)")
        await finished([word.replace("{input}", source).replace("{output}", target) for word in words], name=words[0])
        if not parts.commanded():
            raise DataError(f"{words[0]} has not written {target}", hint="its results go to {output}")

    async def take_over(keep: Callable[[Record], None]) -> int:
        kept = await serverless.take_over(paths, keep) if (paths := parts.commanded()) else 0
        parts.clear()
        return kept

    async def run(keep: Callable[[Record], None]) -> None:
        await take_over(keep)
        with PartWriter(parts, PartSize(settings.batch_bytes, settings.batch_lines), 1) as writer:
            made = parts_of(
                *(waiting(), serverless.line, serverless.form, writer),
                keep=lambda _, record: keep(record),
                left_out=lambda question, why: stage.progress.note(f"{question.id} is left out: {why}"),
            )
            async with aclosing(made):
                async for part in made:
                    await answered(part)
                    if (kept := await take_over(keep)) < len(part.ids):
                        of = f"{count(len(part.ids), 'question')} of {parts.input(part.number).name}"
                        stage.progress.note(f"{plan.title}: {words[0]} answered {kept:,} of {of}")

    return lambda keep: until_stopped(stage.stop, run(keep))


class _Serverless:
    """A run without a server: it keeps results in files that another program has written."""

    def __init__(self, plan: Plan, stage: Stage, waiting: Waiting, file: RunFile) -> None:
        settings = stage.settings
        self.form = replace(
            serverless_form(plan, settings, stage.named(settings.serverless), file),
            names=_name_counter(plan, stage, file),
        )
        self.line = Pipeline(task=plan.task, chat=Stops(), images_for=stage.images_for, max_pages=settings.max_pages)
        self._plan, self._stage, self._waiting = plan, stage, waiting

    async def take_over(self, paths: Sequence[Path], keep: Callable[[Record], None]) -> int:
        """Keep a record of each waiting question that has a result; returns their number."""
        plan, listener = self._plan, _listener(self._plan, self._stage, keep)
        kept: list[str] = []
        aside = partial(PartFolder(plan.paths.log).set_aside, note=listener.note)

        def keeps(question: Question, record: Record) -> None:
            kept.append(question.id)
            listener.keep(record)

        with Results(paths) as results:
            aside(results.damaged, damaged=True)
            left = await read_results(
                *(results, self._waiting(), self.line, self.form),
                keep=keeps,
                of=plan.loaded.questions,
                aside=aside,
            )
        if left:
            listener.note(f"{count(left.total(), 'question')} without an answer: {', '.join(left)}")
        return len(kept)


class Written(Struct, frozen=True, kw_only=True):
    """The files of one plan with their numbers of lines; `left_out` has the ids of questions that can't be asked."""

    title: str
    model: str
    files: Mapping[Path, int]
    left_out: Sequence[str]


async def write_batches(settings: RunSettings, note: Note) -> list[Written]:
    """Write the unanswered questions to files; raises UsageError if no model is named."""
    written = []
    for config, plans in plans_of(settings, note):
        model = named_model(settings, config)
        if model is None:
            raise UsageError("batch write asks no server: name the model", hint=settings.name_option)
        for plan in plans:
            refuse_open(plan.paths.log)
            form = serverless_form(plan, settings, model, run_file_for(plan, settings, model))
            with (
                drawn_pages_in(plan.paths.report.parent / DRAWN, usable_cpus()),
                prepared_images(settings, note) as images_for,
            ):
                line = Pipeline(task=plan.task, chat=Stops(), images_for=images_for, max_pages=settings.max_pages)
                written.append(await _write(plan, settings, model, line, form))
    return written


async def _write(plan: Plan, settings: RunSettings, model: ModelSettings, line: Pipeline, form: LineForm) -> Written:
    parts, kept = PartFolder(plan.paths.log), answered_before(plan, settings)
    for path in parts.inputs():  # left by an earlier start
        path.unlink()
    left_out: list[str] = []

    def left(question: Question, why: object) -> None:
        left_out.append(question.id)

    questions = (question for question in plan.loaded.questions if question.key not in kept)
    with PartWriter(parts, PartSize(settings.batch_bytes, settings.batch_lines), 1) as writer:
        made = parts_of(questions, line, form, writer, keep=left, left_out=left)
        files = {parts.input(part.number): len(part.ids) async for part in made}
    return Written(title=plan.title, model=model.model_name, files=files, left_out=left_out)


async def show_batches(settings: RunSettings, note: Note, *, cancel: bool) -> tuple[list[str], bool]:
    """Lines with the progress of each run and of each unfinished part, and whether the server knows every batch.

    `cancel` cancels the parts' batches first. It also drops parts without a batch and deletes their files at the
    server, unless another process is using the log.
    """
    lines, all_known = [], True
    for model, plans in plans_of(settings, note):
        for plan in plans:
            if not (parts := plan.unfinished_parts()):
                lines.append(f"{plan.title}: no batches{PartFolder(plan.paths.log).files_of_others()}")
                continue
            kept = answered_before(plan, settings)
            answered = sum(question.key in kept for question in plan.loaded.questions)
            lines.append(f"{plan.title}: {progress_of(parts, answered, plan.loaded.count)}")
            async with (
                open_session(addressed(settings, model), model, note=note) as session,
                open_service(session.endpoint, settings) as service,
            ):
                unsent = []
                for part in parts:
                    made = await service.find(part.file_id) if part.state == "creating" else None
                    batch_id = made.id if made else part.batch_id
                    try:
                        status = await _status_of(batch_id, service, cancel=cancel) if batch_id else part.state
                    except ServerUnusable as error:  # the other batches are looked at, too
                        status, all_known = "; ".join(filter(None, (str(error), error.hint))), False
                    lines.append(f"{plan.title}: part {part.number}, {count(len(part.ids), 'question')}: {status}")
                    unsent += [part] if not batch_id or part.state == "read" else []
                if cancel:
                    await _drop_parts(plan.paths.log, unsent, service)
    return lines, all_known


async def _status_of(batch_id: str, service: Service, *, cancel: bool) -> str:
    batch = await service.look(batch_id)
    if cancel and batch.status not in ENDED:
        batch = await service.cancel(batch_id)
    until = f", ends by {clock(batch.ends)}" if batch.ends and batch.status not in ENDED else ""
    return f"batch {batch.id} {batch.status.replace('_', ' ')}, {batch.done:,} done{until}"


async def _drop_parts(log: Path, unsent: Sequence[BatchPart], service: Service) -> None:
    with suppress(Busy), locked(log) if log.exists() else nullcontext():
        for part in unsent:
            if part.state == "uploading":
                await service.delete_named(part.name)
            for file_id in filter(None, (part.file_id, *part.results)):
                await service.delete(file_id)
            PartFolder(log).drop(part)
