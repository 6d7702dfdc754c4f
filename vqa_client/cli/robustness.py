"""`vqa-client robustness`: make corrupted images, evaluate runs on them and draw figures."""

import os
import shutil
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from vqa_client.cli.files_progress import files_progress, resumable
from vqa_client.cli.streams import EXIT_FAILED_QUESTIONS, EXIT_OK, emit, emit_json, emit_lines, say
from vqa_client.cli.tables import as_text
from vqa_client.cli.varied_tables import of_pool
from vqa_client.corrupted_copies import METADATA, CopyPlan, describe, expected_bytes, joined, make, plan
from vqa_client.errors import OutputError, UsageError
from vqa_client.files import check_output, write_json
from vqa_client.images.corruptions.table import PROFILES
from vqa_client.parallel import in_processes
from vqa_client.plots import CONTACT_SHEET, contact_sheet, draw, needs_extra
from vqa_client.reports.names import count
from vqa_client.reports.robustness.evaluation import FoundRun, content, write_evaluation
from vqa_client.runs.robustness import notes_on, read_runs
from vqa_client.scoring.corrupted_scores import evaluate as judge
from vqa_client.settings.robustness import EvaluateSettings, GenerateSettings, PlotSettings


@resumable
def generate(settings: GenerateSettings) -> int:
    """Make the missing copies and print a summary; exit code 1 if an image could not be used."""
    check_output(settings.output)
    planned = plan(settings)
    described, note = joined(describe(planned), settings.output)
    if note:
        say(note)
    if settings.dry_run:
        emit_lines(*_estimate_lines(planned))
        return EXIT_OK
    write_json(settings.output / METADATA, described)
    made, bad = _make_files(planned) if planned.jobs else ([], set())
    emit_lines(*_summary_lines(planned, made, bad))
    return EXIT_FAILED_QUESTIONS if bad else EXIT_OK


def _make_files(planned: CopyPlan) -> tuple[list[int], set[str]]:
    """Make the files; returns their sizes in bytes, and the images that could not be used."""
    sizes: list[int] = []
    bad: set[str] = set()
    with (
        files_progress(f"corrupting {count(len(planned.sources), 'image')}", planned.missing) as advance,
        closing(in_processes(make, planned.jobs, workers=planned.settings.workers)) as outcomes,
    ):
        for job, outcome in zip(planned.jobs, outcomes, strict=True):
            sizes += outcome.sizes
            if outcome.problem and job.source.path not in bad:
                bad.add(job.source.path)
                say(f"left out: {outcome.problem}")
            advance(len(job.variants))
    return sizes, bad


def _summary_lines(planned: CopyPlan, made: list[int], bad: set[str]) -> list[str]:
    earlier = planned.files - planned.missing
    lacking = planned.missing - len(made)
    lines = [
        f"{planned.settings.output}: {count(len(made), 'file')} made, {sum(made) / 1e6:,.1f} MB; "
        f"{earlier:,} there before",
        f"{count(len(planned.variants), 'folder')}, {count(len(planned.sources), 'image')} in each",
    ]
    if bad:
        lines.append(f"{count(len(bad), 'image')} left out, {count(lacking, 'file')} missing")
    return lines


def _estimate_lines(planned: CopyPlan) -> list[str]:
    lines = [
        f"{count(len(planned.sources), 'image')} in {count(len(planned.variants), 'folder')}: "
        f"{count(planned.files, 'file')}, {planned.missing:,} to be made"
    ]
    if planned.jobs:
        expected_mb = expected_bytes(planned) / 1e6
        lines.append(f"about {expected_mb:,.1f} MB expected, {_free_mb(planned.settings.output):,.0f} MB free")
    return lines


def _free_mb(path: Path) -> float:
    """Free megabytes on the disk where a folder is or will be."""
    place = os.path.abspath(path)
    while not os.path.exists(place):
        place = os.path.dirname(place)
    return shutil.disk_usage(place).free / 1e6


def evaluate(settings: EvaluateSettings) -> int:
    """Evaluate, write and print; exit code 1 if some questions have no reply, which count as wrong."""
    runs = read_runs(settings.runs)
    notes = notes_on(runs)
    models = {run.model: run.curves for run in runs}
    evaluation = judge(models, weights=settings.shares, sort_levels=settings.sort_levels)
    paths: tuple[Path, ...] = ()
    if settings.output:
        paths = write_evaluation(settings.output, evaluation, runs, notes, csv_safe=settings.csv_safe)
    if settings.json:
        emit_json(content(evaluation, runs, notes))
    else:
        emit(as_text(of_pool(evaluation, notes, paths)))
    return EXIT_FAILED_QUESTIONS if any(curves.n_failed for curves in models.values()) else EXIT_OK


def plot(settings: PlotSettings) -> None:
    """Draw the figures; print their paths, and why some are missing."""
    needs_extra()
    runs = read_runs(settings.runs)
    paths, missing = draw(judge({run.model: run.curves for run in runs}), settings.output)
    sheet, reasons = _draw_sheet(settings, runs)
    for note in [*notes_on(runs), *missing, *reasons]:
        say(note)
    emit("".join(f"{path}\n" for path in [*paths, *sheet]))


def _draw_sheet(settings: PlotSettings, runs: Sequence[FoundRun]) -> tuple[list[Path], list[str]]:
    """The files of the contact sheet, or why there are none; raises if the given --image can't be drawn."""
    image = settings.image or next(filter(None, map(_first_image, runs)), None)
    if image is None:
        return [], [f"no {CONTACT_SHEET}: the runs' first image was not found; --image names one"]
    facts = runs[0].facts
    profile = next((name for name in PROFILES if name == facts.get("profile")), PROFILES[0])
    try:
        return contact_sheet(image, settings.output, profile=profile, seed=facts.get("corruption_seed") or 0), []
    except (UsageError, OutputError) as error:
        if settings.image:
            raise
        return [], [f"no {CONTACT_SHEET}: {error}; {error.hint}"]


def _first_image(run: FoundRun) -> Path | None:
    """The file of the run's first image; None if it is no longer there, and for a run of result files."""
    from vqa_client.html.shown_images import ImageFiles  # `run` and `generate` find no image again
    from vqa_client.reports.logged_run import read_run

    if not run.path.is_file():
        return None
    logged = read_run(run.path)
    image = next((image for record in logged.records.as_written() for image in record.images), None)
    return ImageFiles(logged).find(image) if image else None
