"""The run of vqa2 for one model, and the file in which several are compared."""

from collections.abc import Mapping, Sequence

from vqa_client.errors import UsageError
from vqa_client.model_config import ModelSettings
from vqa_client.reports.names import safe_name
from vqa_client.reports.report import Report
from vqa_client.runs.plan import Note, Plan
from vqa_client.runs.resume import RunPaths
from vqa_client.settings.vqa2 import Vqa2Settings
from vqa_client.task import Loaded
from vqa_client.tasks.vqa2 import task as vqa2
from vqa_client.tasks.vqa2.combined import combine
from vqa_client.tasks.vqa2.files import Vqa2Files, find_files
from vqa_client.tasks.vqa2.report import Setup, model_name, writer
from vqa_client.tasks.vqa2.sample import SUBTYPE, make_sample

DATE_CHARACTERS = len("20250801_194855")


def vqa2_plans(settings: Vqa2Settings, config: str | None, model: ModelSettings | None, note: Note) -> list[Plan]:
    """One plan; raises DataError or UsageError."""
    template, said = vqa2.choose_template(model.prompt_template if model else None)
    if said:
        note(said)
    files = _files(settings)
    loaded = _loaded(settings, files, note)
    setup = Setup(
        mode=settings.mode,
        num_questions=settings.sample or settings.num_questions,
        seed=settings.seed,
        raw_images=settings.raw_images,
        annotations_path=str(files.annotations) if files.annotations else None,
    )
    return [
        Plan(
            task=vqa2.task(prompt_template=template),
            loaded=loaded,
            variant="",
            paths=RunPaths.beside(settings.results_dir / _report_name(settings, config)),
            data_path=files.questions,
            images_dir=files.image_roots[0],
            write=writer(setup),
            config=config,
            limit=settings.limit,
            identity={"mode": settings.mode},
        )
    ]


def combine_reports(
    settings: Vqa2Settings, reports: Sequence[Report], errors: Mapping[str, Exception], note: Note
) -> None:
    """Write the report of all models, dated as the first one's, where there are several and one has a report."""
    if not reports or len(reports) + len(errors) < 2:
        return
    date = reports[0].path.stem[-DATE_CHARACTERS:]
    output = settings.results_dir / f"vqa2_results_{settings.mode}_{date}.json"
    failed = {model_name(config, ""): str(error) for config, error in errors.items()}
    combine([report.path for report in reports], output, errors=failed)
    note(f"all models: {output}")


def _loaded(settings: Vqa2Settings, files: Vqa2Files, note: Note) -> Loaded:
    """The drawn questions; of our own sample the first ones, as published."""
    wanted, limit = None if settings.sample else settings.num_questions or None, settings.limit
    if settings.mode == SUBTYPE:
        limit = min((number for number in (wanted, limit) if number is not None), default=None)
        wanted = None
    return vqa2.load(files, num_questions=wanted, seed=settings.seed, limit=limit, note=note)


def _files(settings: Vqa2Settings) -> Vqa2Files:
    if settings.mode == SUBTYPE:
        if settings.dry_run:
            raise UsageError("a dry run writes nothing, and --mode sample begins by drawing its pictures")
        return make_sample(settings.results_dir / "vqa2_sample")
    return find_files(settings.data_dir, settings.questions_file, settings.annotations_file, settings.images)


def _report_name(settings: Vqa2Settings, config: str | None) -> str:
    name = f"{safe_name(model_name(config, ''))}_" if config else ""
    return f"vqa2_results_{name}{settings.mode}_{{started}}.json"
