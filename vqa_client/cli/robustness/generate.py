"""`vqa-client robustness generate`: corrupted copies of a folder of images."""

import os
import shutil
from contextlib import closing

from vqa_client.cli.exits import EXIT_FAILED_QUESTIONS, EXIT_OK
from vqa_client.cli.files_progress import files_progress, resumable
from vqa_client.cli.streams import emit, say
from vqa_client.cli.text import count
from vqa_client.corrupted import metadata
from vqa_client.corrupted.dataset import Plan, expected_bytes, plan
from vqa_client.corrupted.making import make
from vqa_client.parallel import in_processes
from vqa_client.settings.robustness import GenerateSettings


def generate(settings: GenerateSettings) -> int:
    """Make what is missing and say what there is; 1 where an image could not be taken."""
    return resumable(lambda: _generate(settings))


def _generate(settings: GenerateSettings) -> int:
    planned = plan(settings)
    described = metadata.describe(planned.images, planned.order, planned.variants)
    described, note = metadata.joined(described, settings.output)
    if note:
        say(note)
    if settings.dry_run:
        emit(_would_make(planned, settings))
        return EXIT_OK
    metadata.write(described, settings.output)
    made, bad = _made(planned, settings.workers) if planned.jobs else ([], set())
    emit(_summary(planned, made, bad))
    return EXIT_FAILED_QUESTIONS if bad else EXIT_OK


def _made(planned: Plan, workers: int) -> tuple[list[int], set[str]]:
    """Sizes in bytes of the files that were made, and the images that could not be taken."""
    sizes: list[int] = []
    bad: set[str] = set()
    with (
        files_progress(f"corrupting {count(len(planned.sources), 'image')}", planned.missing) as advance,
        closing(in_processes(make, planned.jobs, workers=workers)) as outcomes,
    ):
        for job, outcome in zip(planned.jobs, outcomes, strict=True):
            sizes += outcome.sizes
            if outcome.problem and job.source.path not in bad:
                bad.add(job.source.path)
                say(f"left out: {outcome.problem}")
            advance(len(job.variants))
    return sizes, bad


def _summary(planned: Plan, made: list[int], bad: set[str]) -> str:
    earlier = planned.files - planned.missing
    lacking = planned.missing - len(made)
    lines = [
        f"{planned.order.output}: {count(len(made), 'file')} made, {sum(made) / 1e6:,.1f} MB; {earlier:,} there before",
        f"{count(len(planned.variants), 'folder')}, {count(len(planned.sources), 'image')} in each",
    ]
    if bad:
        lines.append(f"{count(len(bad), 'image')} left out, {count(lacking, 'file')} missing")
    return "\n".join(lines) + "\n"


def _would_make(planned: Plan, settings: GenerateSettings) -> str:
    lines = [
        f"{count(len(planned.sources), 'image')} in {count(len(planned.variants), 'folder')}: "
        f"{count(planned.files, 'file')}, {planned.missing:,} to be made"
    ]
    if planned.jobs:
        expected_mb = expected_bytes(planned, workers=settings.workers) / 1e6
        lines.append(f"about {expected_mb:,.1f} MB expected, {_free_mb(planned.order.output):,.0f} MB free")
    return "\n".join(lines) + "\n"


def _free_mb(path: str) -> float:
    """Room on the disk where a folder is or will be."""
    place = os.path.abspath(path)
    while not os.path.exists(place):
        place = os.path.dirname(place)
    return shutil.disk_usage(place).free / 1e6
