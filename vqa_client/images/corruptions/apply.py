"""One picture, one corruption, one level."""

from hashlib import sha256
from typing import TYPE_CHECKING

from vqa_client.errors import UsageError
from vqa_client.images.corruptions.table import Profile, named
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
            f"corruptions need a package that is not installed: {error.name}",
            hint=install("robustness"),
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
