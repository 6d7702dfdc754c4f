"""Writes corrupted copies of a folder of images: a folder for each corruption and level, and a metadata.json.

metadata.json says how the copies were made; a later command reads it to decide whether it may continue them.
"""

import os
from collections.abc import Iterator
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from msgspec import Struct

from vqa_client.errors import UNDECODABLE, DataError, IdentityError, QuestionFailed, UsageError
from vqa_client.files import natural_key, replacing
from vqa_client.images.corruptions import codec
from vqa_client.images.corruptions.codec import AppliedCorruption, needs_extra
from vqa_client.images.corruptions.table import CORRUPTIONS, Profile, Variant, chosen
from vqa_client.images.decide import RefusedImage, file_key, read
from vqa_client.images.find import IMAGE_SUFFIXES
from vqa_client.parallel import in_processes
from vqa_client.settings.robustness import FileFormat, GenerateSettings
from vqa_client.version import __version__

METADATA = "metadata.json"
_HIDDEN = (".", "~")
_WAY_OUT = "give another --output, or remove that folder"


class SourceImage(Struct, frozen=True):
    """An image file, and its path in the folder without the suffix."""

    path: str
    stem: str


def find_sources(images: Path, output: Path) -> list[SourceImage]:
    """Find all images below `images` in natural order, without hidden files and `output`.

    Raises DataError if there are none or two would get the same name, UsageError if `output` is `images`.
    """
    if not images.is_dir():
        fault = "is not a folder" if images.exists() else "does not exist"
        raise DataError(f"{images} {fault}", hint="give the folder with the images")
    if os.path.realpath(images) == os.path.realpath(output):
        raise UsageError(f"--output {output} is the folder of images itself", hint="give a folder of its own")
    paths = sorted(_paths(images, os.path.realpath(output)), key=natural_key)
    if not paths:
        raise DataError(f"{images}: no image in it or its folders", hint="give the folder with the images")
    return _named(images, paths)


def _paths(images: Path, output: str) -> Iterator[str]:
    for folder, folders, names in os.walk(images, onerror=_unreadable):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(_HIDDEN) and os.path.realpath(os.path.join(folder, name)) != output
        ]
        for name in names:
            if name.lower().endswith(IMAGE_SUFFIXES) and not name.startswith(_HIDDEN):
                yield os.path.join(folder, name)


def _unreadable(error: OSError) -> None:
    raise DataError(f"{error.filename}: {error.strerror}", hint="give this user the right to read it") from None


def _named(images: Path, paths: list[str]) -> list[SourceImage]:
    by_stem: dict[str, SourceImage] = {}
    for path in paths:
        stem = os.path.splitext(os.path.relpath(path, images))[0]
        if stem in by_stem:
            raise DataError(
                f"{by_stem[stem].path} and {path} would both be called {stem}", hint="rename one, or move it elsewhere"
            )
        by_stem[stem] = SourceImage(path, stem)
    return list(by_stem.values())


_SUFFIXES: dict[FileFormat, str] = {"png": ".png", "jpeg": ".jpg"}


class CopyJob(Struct, frozen=True):
    """One image, one corruption, some levels."""

    settings: GenerateSettings
    source: SourceImage
    variants: tuple[Variant, ...]


class CopyOutcome(Struct, frozen=True, kw_only=True):
    """The result of a job: the sizes in bytes of its files, and the problem if some are missing."""

    sizes: tuple[int, ...]
    problem: str = ""


def make(job: CopyJob) -> CopyOutcome:
    """Write the files of a job; raises UsageError if one can't be written."""
    return _outcome(_written(job))


def measure(job: CopyJob) -> CopyOutcome:
    """Make the files of a job without writing them."""
    return _outcome(len(encoded) for _, encoded in _files(job))


def _outcome(made: Iterator[int]) -> CopyOutcome:
    sizes: list[int] = []
    try:
        sizes.extend(made)
    except QuestionFailed as failed:
        return CopyOutcome(sizes=tuple(sizes), problem=str(failed))
    return CopyOutcome(sizes=tuple(sizes))


def changed_ns(path: str) -> int:
    """The modification time of a file in ns; -1 if there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return -1


def _written(job: CopyJob) -> Iterator[int]:
    """Each copy gets the time of its image, so that `plan` sees which state of the image it was made from."""
    time_ns = changed_ns(job.source.path)
    for target, encoded in _files(job):
        with replacing(target) as file:
            file.write(encoded)
            file.flush()
            os.utime(file.fileno(), ns=(time_ns, time_ns))
        yield len(encoded)


def _files(job: CopyJob) -> Iterator[tuple[str, bytes]]:
    """Yield path and bytes of each file; raises QuestionFailed for an image that can't be used."""
    codec.prepare_process()
    settings, path = job.settings, job.source.path
    data = _read(path)
    pixels, digest = codec.decoded(data, path), sha256(data).hexdigest()
    for variant in job.variants:
        corruption = AppliedCorruption(
            name=variant.name, level=variant.level, profile=settings.profile, seed=settings.seed
        )
        made = codec.corrupted(pixels, corruption, digest=digest, path=path)
        if settings.format == "png":
            encoded = codec.encoded_png(made, variant.name)
        else:
            encoded = codec.encoded_jpeg(made, quality=settings.quality)
        yield _target(settings, job.source, variant), encoded


def _target(settings: GenerateSettings, source: SourceImage, variant: Variant) -> str:
    """The path of an image's copy."""
    return os.path.join(settings.output, variant.folder, source.stem + _SUFFIXES[settings.format])


def _read(path: str) -> bytes:
    key = file_key(path)
    file = key if isinstance(key, RefusedImage) else read(path)
    if isinstance(file, RefusedImage):
        raise file.error()
    return file[1]


_FINEST_NS = 1_000
"""Some file systems store times in microseconds."""


class CopyPlan(Struct, frozen=True, kw_only=True):
    """The work to do: `jobs` make the files that are `missing`; `files` counts all files of the dataset."""

    settings: GenerateSettings
    sources: list[SourceImage]
    variants: tuple[Variant, ...]
    jobs: list[CopyJob]

    @property
    def files(self) -> int:
        return len(self.sources) * len(self.variants)

    @property
    def missing(self) -> int:
        return sum(len(job.variants) for job in self.jobs)


def plan(settings: GenerateSettings) -> CopyPlan:
    """Plan the missing files; raises UsageError or DataError if nothing can be made."""
    variants = chosen(settings.corruptions, settings.levels)
    needs_extra()
    sources = find_sources(settings.images, settings.output)
    jobs = list(_jobs(settings, sources, variants))
    return CopyPlan(settings=settings, sources=sources, variants=variants, jobs=jobs)


def _jobs(settings: GenerateSettings, sources: list[SourceImage], variants: tuple[Variant, ...]) -> Iterator[CopyJob]:
    by_name = [tuple(group) for _, group in groupby(variants, key=lambda variant: variant.name)]
    for source in sources:
        time_ns = changed_ns(source.path)
        for levels in by_name:
            missing = tuple(variant for variant in levels if not _is_of(_target(settings, source, variant), time_ns))
            if missing:
                yield CopyJob(settings, source, missing if missing != levels else levels)


def _is_of(copy: str, time_ns: int) -> bool:
    """Whether a copy has the time of its image; if it is only newer, the image may have changed since."""
    made_ns = changed_ns(copy)
    return min(made_ns, time_ns) >= 0 and abs(made_ns - time_ns) < _FINEST_NS  # a missing image needs a job


def expected_bytes(plan: CopyPlan) -> int:
    """Estimate the bytes of the missing files from one image per corruption, each time another image."""
    by_name: dict[str, list[CopyJob]] = {}
    for job in plan.jobs:
        by_name.setdefault(job.variants[0].name, []).append(job)
    samples = [jobs[len(jobs) * number // len(by_name)] for number, jobs in enumerate(by_name.values())]
    outcomes = in_processes(measure, samples, workers=plan.settings.workers)
    measured = {job.variants[0].name: outcome.sizes for job, outcome in zip(samples, outcomes, strict=True)}
    usual = fmean(size for sizes in measured.values() for size in sizes or (0,))  # if the sample was a bad image
    return round(
        sum(
            fmean(measured[name] or (usual,)) * sum(len(job.variants) for job in jobs) for name, jobs in by_name.items()
        )
    )


class Metadata(Struct, kw_only=True):
    """The contents of metadata.json; `variants` are by folder.

    `input_dir` is relative to the folder of this file, so both can be moved together.
    """

    perturbation_type: str = "corruptions"
    params: dict[str, Any]
    input_dir: str
    output_dir: str
    variants: dict[str, dict[str, Any]]
    made_with: dict[str, str]


def describe(plan: CopyPlan) -> Metadata:
    """Describe the dataset that this command makes."""
    import cv2
    import numpy
    import PIL

    settings = plan.settings
    params = {"profile": settings.profile, "seed": settings.seed, "format": settings.format}
    return Metadata(
        params=params | ({"quality": settings.quality} if settings.format == "jpeg" else {}),
        input_dir=os.path.relpath(os.path.realpath(settings.images), os.path.realpath(settings.output)),
        output_dir=".",
        variants={variant.folder: _described(settings.profile, variant) for variant in plan.variants},
        made_with={
            "vqa-client": __version__,
            "numpy": numpy.__version__,
            "opencv": cv2.__version__,
            "pillow": PIL.__version__,
        },
    )


def _described(profile: Profile, variant: Variant) -> dict[str, Any]:
    constants = CORRUPTIONS[variant.name].ways[profile].levels[variant.level - 1]
    return {"corruption": variant.name, "level": variant.level, "constants": constants}


def joined(now: Metadata, output: Path) -> tuple[Metadata, str]:
    """Return the new contents of `metadata.json`, and a note on versions that have changed since it was written.

    Raises IdentityError if `output` contains a dataset of other images or parameters, DataError if it contains folders
    of these names without a metadata.json.
    """
    path = output / METADATA
    before = _read_metadata(path)
    if before is None:
        taken = [folder for folder in now.variants if (output / folder).exists()]
        if taken:
            metadata = f"{output / taken[0]} exists, and no {METADATA} beside it says how it was made"
            raise DataError(metadata, hint=_WAY_OUT)
        return now, ""
    differing = [
        f"{name} was {then!r} and is {is_now!r}"
        for name, then, is_now in (
            *((name, before.params.get(name), now.params.get(name)) for name in {**now.params, **before.params}),
            ("input_dir", *(os.path.realpath(output / metadata.input_dir) for metadata in (before, now))),
        )
        if then != is_now
    ]
    if differing:
        raise IdentityError(f"{path} describes another dataset: {'; '.join(differing)}", hint=_WAY_OUT)
    note = f"earlier files were made with {before.made_with}" if before.made_with != now.made_with else ""
    now.variants = before.variants | now.variants
    return now, note


def _read_metadata(path: Path) -> Metadata | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Metadata)
    except FileNotFoundError:
        return None
    except (OSError, *UNDECODABLE) as error:
        raise DataError(f"{path}: {error}", hint=_WAY_OUT) from None
