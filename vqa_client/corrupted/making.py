"""One image under one corruption, at the levels that are missing: the work of one process at a time."""

import os
from collections.abc import Iterator
from hashlib import sha256

from msgspec import Struct

from vqa_client.corrupted.sources import Source
from vqa_client.errors import QuestionFailed
from vqa_client.files import replacing
from vqa_client.images.corruptions import Profile, Variant, codec, image_seed
from vqa_client.images.corruptions.table import CORRUPTIONS
from vqa_client.images.settle import Refused, file_key
from vqa_client.settings.robustness import FileFormat

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
    """Each copy gets the time of its image, by which `dataset.plan` knows that it is of that one."""
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
        seed = image_seed(order.seed, digest, variant.name, variant.level)
        made = codec.corrupted(pixels, variant.name, variant.level, profile=order.profile, seed=seed, path=path)
        if order.format == "png":
            encoded = codec.encoded_png(made, noisy=CORRUPTIONS[variant.name].class_ == "Noise")
        else:
            encoded = codec.encoded_jpeg(made, quality=order.quality)
        yield order.target(job.source, variant), encoded


def _read(path: str) -> bytes:
    key = file_key(path)
    if isinstance(key, Refused):
        raise key.error()
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise QuestionFailed("bad_image", f"{path}: can't be read: {error.strerror}", transient=True) from None
