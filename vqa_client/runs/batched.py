"""Runs by batches: on the session's server, by files that another program answers, and the batch commands."""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, nullcontext, suppress
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.batch.asking import LineForm, Results, Stops, note_repeated, parts_of, read_results
from vqa_client.batch.parts import BatchPart, PartFolder, PartSize, PartWriter, progress_of, refuse_open, run_digest
from vqa_client.batch.run import BatchRun, clock
from vqa_client.batch.service import ENDED, Service, open_service
from vqa_client.client.body import Dialect, RequestTemplate
from vqa_client.client.session import Session, addressed, named_model, open_session
from vqa_client.cpus import usable_cpus
from vqa_client.errors import Busy, DataError, ServerUnusable, UsageError
from vqa_client.model_config import ModelSettings
from vqa_client.records import locked
from vqa_client.reports.names import count
from vqa_client.runner import Pipeline, Prepares, until_stopped
from vqa_client.runs.dry_run import answered_before
from vqa_client.runs.plan import Plan, run_file_for
from vqa_client.runs.plans import plans_of
from vqa_client.runs.run_file import RunFile
from vqa_client.runs.stage import AskAll, Stage, prepared_images
from vqa_client.servers.process import finished
from vqa_client.settings.run import RunSettings
from vqa_client.tables.pdf_pages import DRAWN, drawn_pages_in
from vqa_client.types import Asks, Note, Question, Record

GIGABYTE = 1e9


class Batches:
    """One start of a run that asks by batches.

    Each way of asking returns a function that keeps records until it is stopped. `waiting` walks over the questions
    without a valid answer.
    """

    def __init__(self, plan: Plan, stage: Stage, waiting: Callable[[], Iterator[Question]], file: RunFile) -> None:
        self._plan, self._stage, self._waiting, self._file = plan, stage, waiting, file
        self._parts = PartFolder(plan.paths.log)

    def on_server(self, session: Session, line: Pipeline) -> AskAll:
        """Asks by batches of the session's server; the last start in the run file lists the batches."""
        plan, settings = self._plan, self._stage.settings
        form = LineForm(
            line=line,
            template=session.chat.template,
            run=_run_of(self._file),
            choosing=_choosing_wrapper(plan, line.chat),
            file_urls=settings.file_urls,
            redacted=session.endpoint.redacted,
            names=self._name_counter(),
        )

        async def run(keep: Callable[[Record], None]) -> None:
            async with open_service(session.endpoint, settings) as service:
                run = BatchRun(
                    title=plan.title,
                    questions=plan.loaded.questions,
                    waiting=self._waiting,
                    form=form,
                    parts=self._parts,
                    unfinished=plan.unfinished_parts(),
                    settings=settings,
                    service=service,
                    progress=self._stage.progress,
                    keep=keep,
                )
                await run.ask(self._file.sessions[-1].setdefault("batches", []))

        async def ask(keep: Callable[[Record], None]) -> None:
            await until_stopped(self._stage.stop, run(keep))
            if left := plan.unfinished_parts():
                total = plan.loaded.count
                progress = progress_of(left, total - sum(1 for _ in self._waiting()), total)
                self._note(f"{progress}; the same command collects them, `vqa-client batch cancel` ends them")

        return ask

    def by_results(self) -> AskAll:
        """Keeps the results that another program has put into the run's folder; raises DataError without any."""
        parts = self._parts
        paths = parts.foreign_results()
        if not paths and not parts.inputs():
            hint = "`vqa-client batch write` with the same options writes it"
            raise DataError(f"{parts.folder} has no file of requests yet, so nothing can have answered one", hint=hint)
        if not paths:
            model = self._stage.settings.served_name or "MODEL"
            hint = f"vllm run-batch -i {parts.input(1)} -o {parts.result(1)} --model {model}"
            raise DataError(f"{parts.folder} has no results of a batch", hint=hint)
        form = self._serverless_form()
        return lambda keep: until_stopped(self._stage.stop, self._take_over(paths, form, keep))

    def by_command(self) -> AskAll:
        """Writes files of waiting questions, runs --batch_command on one file at a time, and keeps its results.

        Results that a killed command has written count.
        """
        parts, settings, form = self._parts, self._stage.settings, self._serverless_form()
        refuse_open(self._plan.paths.log)
        words = shlex.split(settings.batch_command)
        memory_gb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIGABYTE

        async def answered(part: BatchPart) -> None:
            source, target = map(str, (parts.input(part.number), parts.result(part.number)))
            size = f"{count(len(part.ids), 'question')}, {part.size_bytes / GIGABYTE:.2f} GB"
            self._note(f"{words[0]} gets {size} (this machine has {memory_gb:.0f} GB of memory)")
            command = [word.replace("{input}", source).replace("{output}", target) for word in words]
            await finished(command, name=words[0])
            if not parts.commanded():
                raise DataError(f"{words[0]} has not written {target}", hint="its results go to {output}")

        async def take_over(keep: Callable[[Record], None]) -> int:
            kept = await self._take_over(paths, form, keep) if (paths := parts.commanded()) else 0
            parts.clear()
            return kept

        async def run(keep: Callable[[Record], None]) -> None:
            await take_over(keep)
            with PartWriter(parts, PartSize(settings.batch_bytes, settings.batch_lines), 1) as writer:
                made = parts_of(
                    self._waiting(),
                    form,
                    writer,
                    keep=lambda _, record: keep(record),
                    left_out=lambda question, why: self._stage.progress.note(f"{question.id} is left out: {why}"),
                )
                async with aclosing(made):
                    async for part in made:
                        await answered(part)
                        if (kept := await take_over(keep)) < len(part.ids):
                            of = f"{count(len(part.ids), 'question')} of {parts.input(part.number).name}"
                            self._note(f"{words[0]} answered {kept:,} of {of}")

        return lambda keep: until_stopped(self._stage.stop, run(keep))

    async def _take_over(self, paths: Sequence[Path], form: LineForm, keep: Callable[[Record], None]) -> int:
        """Keep a record of each waiting question that has a result in these files; returns their number."""
        kept, aside = list[str](), partial(self._parts.set_aside, note=self._note)

        def keeps(question: Question, record: Record) -> None:
            kept.append(question.id)
            self._stage.progress.asking()
            keep(record)

        with Results(paths) as results:
            aside(results.damaged, damaged=True)
            note_repeated(results, self._note)
            of = self._plan.loaded.questions
            left = await read_results(results, self._waiting(), form, keeps, of=of, aside=aside)
        if left:
            self._note(f"{count(left.total(), 'question')} without an answer: {', '.join(left)}")
        return len(kept)

    def _serverless_form(self) -> LineForm:
        plan, stage = self._plan, self._stage
        model = stage.named(stage.settings.serverless)
        form = serverless_form(plan, stage.settings, model, self._file, stage.images_for)
        return replace(form, names=self._name_counter())

    def _note(self, text: str) -> None:
        self._stage.progress.note(f"{self._plan.title}: {text}")

    def _name_counter(self) -> Callable[[str], None]:
        """Counts the model names in replies, those of earlier starts included; a new name is noted once."""
        if self._plan.task.names_model:  # then the names are in the records, which are compared when they are kept
            return lambda name: None
        counts: dict[str, int] = self._file.described.setdefault("answered_by", {})

        def named(name: str) -> None:
            if counts and name not in counts:
                before = next(iter(counts))
                self._note(f"replies name {name[:80]}, and {before[:80]} before: is it still the same model?")
            counts[name] = counts.get(name, 0) + 1

        return named


def _run_of(file: RunFile) -> str:
    """The digest of a run's identity without its server."""
    return run_digest({name: value for name, value in file.identity.items() if name != "server"})


def _choosing_wrapper(plan: Plan, chat: Asks) -> Callable[[Asks], Asks]:
    """Wraps a client so that each request has the fields that make the server choose a label, if the run wants that."""
    choosing = plan.task.choosing
    if choosing is None:
        return lambda asks: asks
    from vqa_client.client.constrained import ChoosingClient

    assert isinstance(chat, ChoosingClient)
    return lambda asks: ChoosingClient(asks, chat.form, choosing)


def serverless_form(
    plan: Plan, settings: RunSettings, model: ModelSettings, file: RunFile, images_for: Callable[[str], Prepares]
) -> LineForm:
    """How the questions of a run without a server become lines."""
    if plan.task.choosing is not None:
        raise UsageError(
            f"--choice_mode {plan.task.choosing.mode} needs a server, which shows how it is asked", hint="--batch"
        )
    return LineForm(
        line=Pipeline(task=plan.task, chat=Stops(), images_for=images_for, max_pages=settings.max_pages),
        template=RequestTemplate(model, Dialect()),
        run=_run_of(file),
        file_urls=settings.file_urls,
    )


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
            file = run_file_for(plan, settings, model)
            with (
                drawn_pages_in(plan.paths.report.parent / DRAWN, usable_cpus()),
                prepared_images(settings, note) as images_for,
            ):
                form = serverless_form(plan, settings, model, file, images_for)
                written.append(await _write(plan, settings, model, form))
    return written


async def _write(plan: Plan, settings: RunSettings, model: ModelSettings, form: LineForm) -> Written:
    parts, kept = PartFolder(plan.paths.log), answered_before(plan, settings)
    for path in parts.inputs():  # left by an earlier start
        path.unlink()
    left_out: list[str] = []

    def left(question: Question, why: object) -> None:
        left_out.append(question.id)

    questions = (question for question in plan.loaded.questions if question.key not in kept)
    with PartWriter(parts, PartSize(settings.batch_bytes, settings.batch_lines), 1) as writer:
        made = parts_of(questions, form, writer, keep=left, left_out=left)
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
