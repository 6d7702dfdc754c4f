"""Where chance comes from: the run's seed and what is made, never the order in which it is made."""

from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.random import Generator


def image_seed(seed: int, digest: str, name: str, level: int) -> int:
    """Give the seed of one corrupted image: the SHA-256 of "SEED/DIGEST/NAME/LEVEL", read as a number.

    `digest` is the SHA-256 of the image file in hexadecimal, `name` the corruption's.
    """
    return int.from_bytes(sha256(f"{seed}/{digest}/{name}/{level}".encode()).digest())


def generator(seed: int) -> "Generator":
    """Make the source of one image's random numbers: Philox, seeded with the whole number."""
    from numpy.random import Generator, Philox

    return Generator(Philox(seed))
