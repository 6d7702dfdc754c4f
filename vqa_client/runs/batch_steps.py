"""Single steps of a batched run: files are written without a server; batches are shown, or cancelled."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

from msgspec import Struct

from vqa_client.batch.asking import Form, Stops, parts_of
from vqa_client.batch.parts import Limits, Part, Parts, PartWriter, progress_of, refuse_open
from vqa_client.batch.service import Service, open_service
from vqa_client.client.session import model_of, named_model, open_session
from vqa_client.cpus import usable_cpus
from vqa_client.errors import Busy, UsageError
from vqa_client.images.data_url import encoded_pieces
from vqa_client.model_config import ModelSettings
from vqa_client.records import locked
from vqa_client.reports.names import count
from vqa_client.runner import Line
from vqa_client.runs.batched import form_alone
from vqa_client.runs.dry_run import answered_before
from vqa_client.runs.plan import Note, Plan, run_file_for
from vqa_client.runs.plans import make_plans
from vqa_client.runs.stage import prepared_images
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.settings.run import RunSettings
from vqa_client.tables.pdf_pages import DRAWN, drawn_pages_in
from vqa_client.types import Question


class Written(Struct, frozen=True, kw_only=True):
    """The files of one plan, with how many lines each has; `left_out` can't be asked, by their ids."""

    title: str
    model: str
    files: Mapping[Path, int]
    left_out: Sequence[str]


async def write_batches(settings: RunSettings, corrupted: RobustnessRun | None, note: Note) -> list[Written]:
    """Write what has no answer yet into files; raises UsageError where the model isn't named."""
    written = []
    for config in settings.configs:
        known = model_of(settings, config)
        model = named_model(settings, known)
        if model is None:
            raise UsageError("batch write asks no server: name the model", hint=settings.name_option)
        for plan in make_plans(settings, config, known, note, corrupted=corrupted):
            refuse_open(plan.paths.log)
            form = form_alone(plan, settings, model, run_file_for(plan, settings, model))
            with (
                drawn_pages_in(plan.paths.report.parent / DRAWN, usable_cpus()),
                prepared_images(settings, corrupted, note) as images_for,
            ):
                line = Line(task=plan.task, chat=Stops(), images_for=images_for, max_pages=settings.max_pages)
                written.append(await _write(plan, settings, model, line, form))
    return written


async def _write(plan: Plan, settings: RunSettings, model: ModelSettings, line: Line, form: Form) -> Written:
    parts, kept = Parts(plan.paths.log), answered_before(plan, settings)
    for path in parts.inputs():  # of an earlier start
        path.unlink()
    left_out: list[str] = []

    def left(question: Question, why: object) -> None:
        left_out.append(question.id)

    questions = (each for each in plan.loaded.questions if (each.id, each.variant) not in kept)
    with PartWriter(parts, Limits(settings.batch_bytes, settings.batch_lines), 1) as writer:
        made = parts_of(questions, line, form, writer, keep=left, left_out=left)
        files = {parts.input(part.number): len(part.ids) async for part in made}
    return Written(title=plan.title, model=model.model_name, files=files, left_out=left_out)


async def show_batches(
    settings: RunSettings, corrupted: RobustnessRun | None, note: Note, *, cancel: bool
) -> list[str]:
    """The progress of each run, and a line on each part that is not finished, after its batch was cancelled if wanted.

    Parts that are not open yet are forgotten then, and their files deleted there, unless another process is at them.
    """
    said = []
    for config in settings.configs:
        model = model_of(settings, config)
        for plan in make_plans(settings, config, model, note, corrupted=corrupted):
            parts = Parts(plan.paths.log)
            if not (found := parts.all()):
                said.append(f"{plan.title}: no batches")
                continue
            answered = len(answered_before(plan, settings))
            said.append(f"{plan.title}: {progress_of(found, answered, plan.loaded.count)}")
            async with (
                open_session(settings, model, encode=encoded_pieces, note=note) as session,
                open_service(session.endpoint, settings) as service,
            ):
                for part in found:
                    how = await _of_part(part, service, cancel=cancel)
                    said.append(f"{plan.title}: part {part.number}, {count(len(part.ids), 'question')}: {how}")
                if cancel:
                    unsent = [part for part in found if part.state not in ("creating", "open")]
                    await _forget(plan.paths.log, unsent, service)
    return said


async def _of_part(part: Part, service: Service, *, cancel: bool) -> str:
    found = await service.find(part.file_id) if part.state == "creating" else None
    batch_id = found.id if found else part.batch_id
    if not batch_id:
        return part.state
    batch = await (service.cancel if cancel else service.look)(batch_id)
    return f"batch {batch.id} {batch.status.replace('_', ' ')}, {batch.done:,} done"


async def _forget(log: Path, unsent: Sequence[Part], service: Service) -> None:
    with suppress(Busy), locked(log) if log.exists() else nullcontext():
        for part in unsent:
            if part.state == "uploading":
                await service.delete_named(part.name)
            for file_id in filter(None, (part.file_id, *part.results)):
                await service.delete(file_id)
            Parts(log).drop(part)
