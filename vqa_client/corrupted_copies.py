"""Corrupted copies of a folder of images, one folder for each corruption and level, and a metadata.json beside them.

The images are found, each copy is made, and metadata.json says how, and whether a later command goes on with it.
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
from vqa_client.images.corruptions import CORRUPTIONS, Profile, Variant, chosen, codec, needs_extra
from vqa_client.images.decide import Refused, file_key, read
from vqa_client.images.find import IMAGE_SUFFIXES
from vqa_client.parallel import in_processes
from vqa_client.settings.robustness import FileFormat, GenerateSettings
from vqa_client.version import __version__

METADATA = "metadata.json"
_HIDDEN = (".", "~")
_WAY_OUT = "give another --output, or remove that folder"


class Source(Struct, frozen=True):
    """An image file, and its path inside the folder without the suffix."""

    path: str
    stem: str


def find_sources(images: Path, output: Path) -> list[Source]:
    """Find all images below `images` in natural order, hidden files and `output` left out.

    Raises DataError where there is none or two would get the same name, UsageError where `output` is `images`.
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


def _named(images: Path, paths: list[str]) -> list[Source]:
    by_stem: dict[str, Source] = {}
    for path in paths:
        stem = os.path.splitext(os.path.relpath(path, images))[0]
        if stem in by_stem:
            raise DataError(
                f"{by_stem[stem].path} and {path} would both be called {stem}", hint="rename one, or move it elsewhere"
            )
        by_stem[stem] = Source(path, stem)
    return list(by_stem.values())


SUFFIXES: dict[FileFormat, str] = {"png": ".png", "jpeg": ".jpg"}


class Order(Struct, frozen=True, kw_only=True):
    """What all files of a dataset have in common."""

    output: str
    profile: Profile
    seed: int
    format: FileFormat
    quality: int

    def target(self, source: Source, variant: Variant) -> str:
        """Where the copy of an image lies."""
        return os.path.join(self.output, variant.folder, source.stem + SUFFIXES[self.format])


class Job(Struct, frozen=True):
    """One image, one corruption, some of its levels."""

    order: Order
    source: Source
    variants: tuple[Variant, ...]


class Outcome(Struct, frozen=True, kw_only=True):
    """What became of a job: the sizes in bytes of its files, and why it was not all of them."""

    sizes: tuple[int, ...]
    problem: str = ""


def make(job: Job) -> Outcome:
    """Write the files of a job; raises UsageError where the disk can't take one."""
    return _outcome(_written(job))


def measure(job: Job) -> Outcome:
    """Make the files of a job and keep none of them."""
    return _outcome(len(encoded) for _, encoded in _files(job))


def _outcome(made: Iterator[int]) -> Outcome:
    sizes: list[int] = []
    try:
        sizes.extend(made)
    except QuestionFailed as failed:
        return Outcome(sizes=tuple(sizes), problem=str(failed))
    return Outcome(sizes=tuple(sizes))


def changed_ns(path: str) -> int:
    """When a file was last written; -1 where there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return -1


def _written(job: Job) -> Iterator[int]:
    """Each copy gets the time of its image, by which `plan` knows that it is of that one."""
    time_ns = changed_ns(job.source.path)
    for target, encoded in _files(job):
        with replacing(target) as file:
            file.write(encoded)
            file.flush()
            os.utime(file.fileno(), ns=(time_ns, time_ns))
        yield len(encoded)


def _files(job: Job) -> Iterator[tuple[str, bytes]]:
    """Yield path and bytes of each file; raises QuestionFailed for an image that can't be taken."""
    codec.prepare_process()
    order, path = job.order, job.source.path
    data = _read(path)
    pixels, digest = codec.decoded(data, path), sha256(data).hexdigest()
    for variant in job.variants:
        made = codec.corrupted(
            pixels, variant.name, variant.level, profile=order.profile, seed=order.seed, digest=digest, path=path
        )
        if order.format == "png":
            encoded = codec.encoded_png(made, variant.name)
        else:
            encoded = codec.encoded_jpeg(made, quality=order.quality)
        yield order.target(job.source, variant), encoded


def _read(path: str) -> bytes:
    key = file_key(path)
    file = key if isinstance(key, Refused) else read(path)
    if isinstance(file, Refused):
        raise file.error()
    return file[1]


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
    variants = chosen(settings.corruptions, settings.levels)
    needs_extra()
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


class Metadata(Struct, kw_only=True):
    """What metadata.json holds; `variants` are by folder.

    `input_dir` is seen from the folder that the file lies in: both may move together.
    """

    perturbation_type: str = "corruptions"
    params: dict[str, Any]
    input_dir: str
    output_dir: str
    variants: dict[str, dict[str, Any]]
    made_with: dict[str, str]


def describe(plan: Plan) -> Metadata:
    """Say what this command makes."""
    import cv2
    import numpy
    import PIL

    order = plan.order
    params = {"profile": order.profile, "seed": order.seed, "format": order.format}
    return Metadata(
        params=params | ({"quality": order.quality} if order.format == "jpeg" else {}),
        input_dir=os.path.relpath(os.path.realpath(plan.images), os.path.realpath(order.output)),
        output_dir=".",
        variants={variant.folder: _described(order, variant) for variant in plan.variants},
        made_with={
            "vqa-client": __version__,
            "numpy": numpy.__version__,
            "opencv": cv2.__version__,
            "pillow": PIL.__version__,
        },
    )


def _described(order: Order, variant: Variant) -> dict[str, Any]:
    constants = CORRUPTIONS[variant.name].ways[order.profile].levels[variant.level - 1]
    return {"corruption": variant.name, "level": variant.level, "constants": constants}


def joined(now: Metadata, output: Path) -> tuple[Metadata, str]:
    """Give what `metadata.json` must say after this command, and a note on what has changed since the last one.

    Raises IdentityError where `output` holds a dataset of other images or parameters, DataError where it holds folders
    of these names and nothing says what they are.
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
