"""Noise: each value of each channel for itself."""

from typing import TYPE_CHECKING

from vqa_client.images.corruptions.pixels import rounded

if TYPE_CHECKING:
    from numpy.random import Generator

    from vqa_client.images.corruptions.pixels import Pixels

_DRAWS = 1 << 32


def gaussian_noise(pixels: "Pixels", sigma: float, random: "Generator") -> "Pixels":
    """x + N(0, sigma), with x in [0, 1]."""
    import numpy as np

    noise = random.standard_normal(pixels.shape, dtype=np.float32)
    noise *= np.float32(255 * sigma)
    noise += pixels
    return rounded(noise)


def speckle_noise(pixels: "Pixels", sigma: float, random: "Generator") -> "Pixels":
    """x + x N(0, sigma): dark stays dark."""
    import numpy as np

    noise = random.standard_normal(pixels.shape, dtype=np.float32)
    noise *= np.float32(sigma)
    noise += 1
    noise *= pixels
    return rounded(noise)


def shot_noise_added(pixels: "Pixels", rate: float, random: "Generator") -> "Pixels":
    """x + Poisson(rate), as VQA-VRB has it: x is in [0, 1], so that any count but 0 makes a value white."""
    import math

    import numpy as np

    draws = random.integers(0, _DRAWS, pixels.shape, dtype=np.uint32)
    return np.where(draws < round(-math.expm1(-rate) * _DRAWS), np.uint8(255), pixels)


def shot_noise(pixels: "Pixels", photons: float, random: "Generator") -> "Pixels":
    """Poisson(x photons) / photons, as ImageNet-C has it: the fewer photons a full value takes, the noisier."""
    return rounded(random.poisson(pixels * (photons / 255)) * (255 / photons))


def impulse_noise(pixels: "Pixels", amount: float, random: "Generator") -> "Pixels":
    """Salt and pepper: this share of the values becomes 255 or 0, evenly."""
    import numpy as np

    draws = random.integers(0, _DRAWS, pixels.shape, dtype=np.uint32)
    salted = np.where(draws < round(amount / 2 * _DRAWS), np.uint8(255), pixels)
    return np.where(draws >= _DRAWS - round(amount / 2 * _DRAWS), np.uint8(0), salted)
