"""The plan of a corrupted dataset: which files there should be, and which are still missing."""

import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from statistics import fmean

from msgspec import Struct

from vqa_client.corrupted.making import Job, Order, changed_ns, measure
from vqa_client.corrupted.sources import Source, find_sources
from vqa_client.images.corruptions import Variant, chosen, needs_extra
from vqa_client.parallel import in_processes
from vqa_client.settings.robustness import GenerateSettings

_FINEST_NS = 1_000
"""Some file systems keep microseconds."""


class Plan(Struct, frozen=True, kw_only=True):
    """Everything before the first file: `jobs` make what is missing, `files` are all that there will be."""

    images: Path
    order: Order
    sources: list[Source]
    variants: tuple[Variant, ...]
    jobs: list[Job]

    @property
    def files(self) -> int:
        """How many files the dataset has."""
        return len(self.sources) * len(self.variants)

    @property
    def missing(self) -> int:
        """How many of them are still to be made."""
        return sum(len(job.variants) for job in self.jobs)


def plan(settings: GenerateSettings) -> Plan:
    """Look at what there is; raises UsageError or DataError where nothing can be made."""
    needs_extra()
    variants = chosen(settings.corruptions, settings.levels)
    sources = find_sources(settings.images, settings.output)
    order = Order(
        output=os.fspath(settings.output),
        profile=settings.profile,
        seed=settings.seed,
        format=settings.format,
        quality=settings.quality,
    )
    jobs = list(_jobs(order, sources, variants))
    return Plan(images=settings.images, order=order, sources=sources, variants=variants, jobs=jobs)


def _jobs(order: Order, sources: list[Source], variants: tuple[Variant, ...]) -> Iterator[Job]:
    by_name = [tuple(group) for _, group in groupby(variants, key=lambda variant: variant.name)]
    for source in sources:
        time_ns = changed_ns(source.path)
        for levels in by_name:
            missing = tuple(one for one in levels if not _is_of(order.target(source, one), time_ns))
            if missing:
                yield Job(order, source, missing if missing != levels else levels)


def _is_of(copy: str, time_ns: int) -> bool:
    """Whether a copy has the time of its image; one that is only newer may be of an image that has changed since."""
    made_ns = changed_ns(copy)
    return min(made_ns, time_ns) >= 0 and abs(made_ns - time_ns) < _FINEST_NS  # an image that is gone is to be named


def expected_bytes(plan: Plan, *, workers: int) -> int:
    """Estimate the size of what is missing, from one image for each corruption: another one each time."""
    by_name: dict[str, list[Job]] = {}
    for job in plan.jobs:
        by_name.setdefault(job.variants[0].name, []).append(job)
    samples = [jobs[len(jobs) * number // len(by_name)] for number, jobs in enumerate(by_name.values())]
    outcomes = in_processes(measure, samples, workers=workers)
    measured = {job.variants[0].name: outcome.sizes for job, outcome in zip(samples, outcomes, strict=True)}
    usual = fmean(size for sizes in measured.values() for size in sizes or (0,))  # for one whose sample was a bad image
    return round(
        sum(
            fmean(measured[name] or (usual,)) * sum(len(job.variants) for job in jobs) for name, jobs in by_name.items()
        )
    )
