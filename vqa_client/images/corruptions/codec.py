"""Applies one corruption at one level to one image, and encodes the result."""

import contextlib
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct

from vqa_client.errors import QuestionFailed, UsageError
from vqa_client.images import recode
from vqa_client.images.corruptions.table import Profile, named
from vqa_client.scoring.robustness import class_of
from vqa_client.shipped import install

if TYPE_CHECKING:
    from numpy.random import Generator

    from vqa_client.images.corruptions.pixels import Pixels


def corrupt(pixels: "Pixels", name: str, level: int, *, profile: Profile = "vqa-vrb", seed: int) -> "Pixels":
    """Return the corrupted image: (H, W, 3) uint8 RGB of the same size; at level 0, `pixels` itself.

    Only VQA-VRB's pixelate returns a smaller image. `seed` is this image's, see `image_seed`: with one version of numpy
    and OpenCV, the same seed gives the same pixels, in any order and any number of processes.
    Raises UsageError for an unknown name, level or profile, for pixels of another form, and for a missing package.
    """
    needs_extra()
    corruption = named(name)
    if profile not in corruption.ways:
        raise UsageError(f"there is no profile {profile!r}", hint=f"one of {', '.join(corruption.ways)}")
    levels = corruption.levels(profile)
    if level not in (0, *levels):
        raise UsageError(f"{corruption.name} has no level {level!r}", hint=f"give a level from 0 to {levels[-1]}")
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype.name != "uint8" or not pixels.size:
        raise UsageError(f"pixels of shape {pixels.shape} and type {pixels.dtype}; they must be (H, W, 3) uint8")
    if level == 0:
        return pixels
    way = corruption.ways[profile]
    made: Pixels = way.function(pixels, way.levels[level - 1], generator(seed))
    return made


def needs_extra() -> None:
    """Raise UsageError where numpy or OpenCV is not installed."""
    try:
        import cv2  # noqa: F401
        import numpy  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"corruptions need a package that is not installed: {error.name}", hint=install("robustness")
        ) from None


def image_seed(seed: int, digest: str, name: str, level: int) -> int:
    """Return the seed of one corrupted image: the SHA-256 of "SEED/DIGEST/NAME/LEVEL" as a number.

    `digest` is the SHA-256 of the image file in hexadecimal, `name` the corruption's.
    """
    return int.from_bytes(sha256(f"{seed}/{digest}/{name}/{level}".encode()).digest())


def generator(seed: int) -> "Generator":
    """Return the random generator of one image: Philox, seeded with the whole number."""
    from numpy.random import Generator, Philox

    return Generator(Philox(seed))


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_ROWS_APART = 16
_OFTEN = 0.1
"""Measured: 0.63 to 0.87 on pages, 0.13 to 0.45 on photographs after JPEG, below 0.1 on most other photographs."""


@cache
def prepare_process() -> None:
    """Switch off OpenCV's threads, since each core already has a process, and keep freed memory in the process.

    glibc returns large blocks to the system when they are freed, and the system clears every page of the next block:
    18 % of the CPU of a corruption. Other C libraries are left as they are.
    """
    import ctypes

    import cv2

    cv2.setNumThreads(1)
    with contextlib.suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        mallopt(_M_TRIM_THRESHOLD, 128 << 20)


class AppliedCorruption(Struct, frozen=True, kw_only=True):
    """One corruption at one level, of one profile, for a run's seed."""

    name: str
    level: int
    profile: Profile
    seed: int


def corrupted(pixels: "Pixels", corruption: AppliedCorruption, *, digest: str, path: str) -> "Pixels":
    """Apply `corrupt` with the seed that `image_seed` gives for the run's seed and the image file's `digest`.

    Raises QuestionFailed "bad_image", naming `path`, for an image that OpenCV can't process, such as one with a side
    above 32,766 pixels.
    """
    import cv2

    name, level = corruption.name, corruption.level
    try:
        seed = image_seed(corruption.seed, digest, name, level)
        return corrupt(pixels, name, level, profile=corruption.profile, seed=seed)
    except (cv2.error, MemoryError) as error:
        height, width = pixels.shape[:2]
        reason = str(getattr(error, "err", "") or "memory ran out")
        message = f"{path}: {name} can't be made at {width}x{height}: {reason}"
        short = isinstance(error, MemoryError)
        raise QuestionFailed("bad_image", message, hint="make the image smaller first", transient=short) from None


def decoded(data: bytes, path: str = "the image") -> "Pixels":
    """Decode an image file: upright, 8 bits, RGB, transparent pixels on white.

    Raises QuestionFailed "bad_image", naming `path`, if the file is not an image or can't be decoded.
    """
    import numpy as np

    return np.asarray(recode.decoded(data, path).convert("RGB"))


def encoded_png(pixels: "Pixels", name: str) -> bytes:
    """Encode corrupted pixels as PNG.

    Noisy pixels are neither searched for repetitions nor predicted, because that gains nothing.

    Measured on a noisy photograph of 640 x 480: 7 ms and 804 KB, against 31 ms and 885 KB by Pillow at level 1; on a
    brighter one 6 ms and 548 KB against 11 ms and 569 KB with the search, on a page 3 ms and 79 KB with it.
    """
    import cv2

    noisy = class_of(name) == "Noise"
    searched = not noisy and _repeats(pixels)
    strategy = cv2.IMWRITE_PNG_STRATEGY_DEFAULT if searched else cv2.IMWRITE_PNG_STRATEGY_HUFFMAN_ONLY
    row_filter = cv2.IMWRITE_PNG_FILTER_NONE if noisy else cv2.IMWRITE_PNG_FILTER_UP
    options = [cv2.IMWRITE_PNG_COMPRESSION, 1, cv2.IMWRITE_PNG_STRATEGY, strategy]
    return _encode(pixels, ".png", [*options, cv2.IMWRITE_PNG_FILTER, row_filter])


def _repeats(pixels: "Pixels") -> bool:
    """Whether eight bytes often equal those of the row above: true for pages and JPEG's blocks, not for photographs."""
    import numpy as np

    height, width = pixels.shape[:2]
    if height < 2 or width < 3:
        return True
    rows = pixels.reshape(height, width * 3)[:, : width * 3 // 8 * 8]
    above, below = (np.ascontiguousarray(rows[at::_ROWS_APART]).view(np.uint64) for at in (0, 1))
    return bool((above[: len(below)] == below).mean() > _OFTEN)


def encoded_jpeg(pixels: "Pixels", *, quality: int) -> bytes:
    """Encode pixels as JPEG."""
    import cv2

    return _encode(pixels, ".jpg", [cv2.IMWRITE_JPEG_QUALITY, quality])


def _encode(pixels: "Pixels", suffix: str, options: list[int]) -> bytes:
    import cv2

    _, encoded = cv2.imencode(suffix, cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), options)
    return encoded.tobytes()
