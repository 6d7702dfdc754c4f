"""Corrupts one image just before it is sent; runs in a process of the pool."""

import time
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.data_url import LRUCache
from vqa_client.errors import QuestionFailed
from vqa_client.images.corruptions import codec
from vqa_client.images.corruptions.codec import AppliedCorruption
from vqa_client.images.decide import Decision, FileKey, RefusedImage, decide, file_key, read
from vqa_client.images.steps import Recipe
from vqa_client.types import Image

if TYPE_CHECKING:
    from vqa_client.images.corruptions.pixels import Pixels

OPENED_BYTES = 64 << 20
"""Pixels that a process keeps in memory: those of 70 photographs, or of a document of 20 pages."""


class CorruptionJob(Struct, frozen=True, kw_only=True):
    """One file, the recipe that is applied to it first, and the corruption that is applied last."""

    path: str
    recipe: Recipe
    corruption: AppliedCorruption


class _Opened(Struct, frozen=True):
    """An image after the recipe, the key of its file, and its pixels."""

    key: FileKey
    image: Image
    pixels: "Pixels"


_opened: LRUCache[tuple[FileKey, Recipe], _Opened] = LRUCache(OPENED_BYTES, lambda opened: opened.pixels.nbytes)
"""Decoded images, because the next jobs of a process are mostly other corruptions of the same images."""


def make(job: CorruptionJob) -> tuple[Decision, float]:
    """Read a file, apply the recipe, then the corruption; also returns how many seconds that took."""
    started_s = time.monotonic()
    return _make(job), time.monotonic() - started_s


def _make(job: CorruptionJob) -> Decision:
    key = file_key(job.path)
    if isinstance(key, RefusedImage):
        return None, key
    try:
        opened = _opened.get((key, job.recipe)) or _open(job)
        return (opened.key, _corrupted_image(job.corruption, opened)) if isinstance(opened, _Opened) else opened
    except QuestionFailed as failed:
        return None if failed.transient else key, RefusedImage.by(failed, key)


def _open(job: CorruptionJob) -> _Opened | Decision:
    """Read and decode a file, or give the reason why it is refused; raises QuestionFailed where it can't be decoded."""
    codec.prepare_process()
    file = read(job.path)
    if isinstance(file, RefusedImage):
        return None, file
    key, verdict = decide(file, job.recipe, decode=True)
    if key is None or not isinstance(verdict, Image):
        return key, verdict
    data = file[1] if verdict.data is None else verdict.data
    opened = _Opened(key, verdict, codec.decoded(data, job.path))
    _opened.put((key, job.recipe), opened)
    return opened


def _corrupted_image(corruption: AppliedCorruption, opened: _Opened) -> Image:
    image = opened.image
    digest = image.file_sha256 or image.sha256
    pixels = codec.corrupted(opened.pixels, corruption, digest=digest, path=opened.key[0])
    encoded = codec.encoded_png(pixels, corruption.name)
    name = f"{corruption.name}:{corruption.level}:{corruption.profile}:{corruption.seed}"
    return replace(
        image,
        mime="image/png",
        sha256=sha256(encoded).hexdigest(),
        size_bytes=len(encoded),
        width=pixels.shape[1],
        height=pixels.shape[0],
        transforms=(*image.transforms, name, "png"),
        file_sha256=digest,
        file_size_bytes=image.file_size_bytes or image.size_bytes,
        path="",
        data=encoded,
    )
