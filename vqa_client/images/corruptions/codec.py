"""One image, one corruption, one level: its pixels, and its file."""

import contextlib
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from vqa_client.errors import QuestionFailed, UsageError
from vqa_client.images import recode
from vqa_client.images.corruptions.table import Profile, named
from vqa_client.scoring.robustness import class_of
from vqa_client.shipped import install

if TYPE_CHECKING:
    from numpy.random import Generator

    from vqa_client.images.corruptions.pixels import Pixels


def corrupt(pixels: "Pixels", name: str, level: int, *, profile: Profile = "vqa-vrb", seed: int) -> "Pixels":
    """Give the corrupted picture: (H, W, 3) uint8 RGB of the same size, `pixels` itself at level 0.

    Only VQA-VRB's pixelate gives a smaller one. `seed` is this image's own, see `image_seed`: the same seed gives
    the same pixels, with one and the same version of numpy and OpenCV, whatever else is made and by how many.
    Raises UsageError for a name, level or profile that there is not, pixels of another form, or a missing package.
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
    """Give the seed of one corrupted image: the SHA-256 of "SEED/DIGEST/NAME/LEVEL", read as a number.

    `digest` is the SHA-256 of the image file in hexadecimal, `name` the corruption's.
    """
    return int.from_bytes(sha256(f"{seed}/{digest}/{name}/{level}".encode()).digest())


def generator(seed: int) -> "Generator":
    """Make the source of one image's random numbers: Philox, seeded with the whole number."""
    from numpy.random import Generator, Philox

    return Generator(Philox(seed))


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_ROWS_APART = 16
_OFTEN = 0.1
"""Measured: 0.63 to 0.87 on pages, 0.13 to 0.45 on what JPEG made of photographs, under 0.1 on most others of these."""


@cache
def prepare_process() -> None:
    """Keep OpenCV from starting threads, as many processes as cores are at work already, and memory at hand.

    glibc gives blocks of megabytes back to the system whenever they are free, and every page of the next ones is
    cleared anew: 18 % of the CPU of a corruption. Other C libraries are left as they are.
    """
    import ctypes

    import cv2

    cv2.setNumThreads(1)
    with contextlib.suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        mallopt(_M_TRIM_THRESHOLD, 128 << 20)


def corrupted(
    pixels: "Pixels", name: str, level: int, *, profile: Profile, seed: int, digest: str, path: str
) -> "Pixels":
    """As `corrupt`, by the run's `seed` and the `digest` of the image file, see `image_seed`.

    Raises QuestionFailed "bad_image", naming `path`, for a picture that OpenCV can't take, such as one of over 32,766
    pixels a side.
    """
    import cv2

    try:
        return corrupt(pixels, name, level, profile=profile, seed=image_seed(seed, digest, name, level))
    except (cv2.error, MemoryError) as error:
        height, width = pixels.shape[:2]
        reason = str(getattr(error, "err", "") or "memory ran out")
        message = f"{path}: {name} can't be made at {width}x{height}: {reason}"
        short = isinstance(error, MemoryError)
        raise QuestionFailed("bad_image", message, hint="make the image smaller first", transient=short) from None


def decoded(data: bytes, path: str = "the image") -> "Pixels":
    """Give the pixels of an image file: upright, 8 bits, RGB, transparent ones on white.

    Raises QuestionFailed "bad_image", naming `path`, where the file is no image or can't be decoded.
    """
    import numpy as np

    return np.asarray(recode.decoded(data, path).convert("RGB"))


def encoded_png(pixels: "Pixels", name: str) -> bytes:
    """Encode without loss what a corruption made.

    Pixels are not searched for repetitions that they don't have, nor noisy ones predicted.

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
    """Whether eight bytes together are often those of the row above, as on pages, at JPEG's blocks, never on photos."""
    import numpy as np

    height, width = pixels.shape[:2]
    if height < 2 or width < 3:
        return True
    rows = pixels.reshape(height, width * 3)[:, : width * 3 // 8 * 8]
    above, below = (np.ascontiguousarray(rows[at::_ROWS_APART]).view(np.uint64) for at in (0, 1))
    return bool((above[: len(below)] == below).mean() > _OFTEN)


def encoded_jpeg(pixels: "Pixels", *, quality: int) -> bytes:
    """Encode with loss."""
    import cv2

    return _encode(pixels, ".jpg", [cv2.IMWRITE_JPEG_QUALITY, quality])


def _encode(pixels: "Pixels", suffix: str, options: list[int]) -> bytes:
    import cv2

    _, encoded = cv2.imencode(suffix, cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), options)
    return encoded.tobytes()
