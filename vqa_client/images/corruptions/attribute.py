"""Attributes of the whole picture: brightness, contrast, saturation, and no colour at all."""

from functools import reduce
from typing import TYPE_CHECKING

from vqa_client.images.corruptions.pixels import rounded

if TYPE_CHECKING:
    from numpy.random import Generator

    from vqa_client.images.corruptions.pixels import Pixels


def brightness(pixels: "Pixels", more: float, _random: "Generator") -> "Pixels":
    """V + more in HSV, hue and saturation kept: every channel grows in proportion to the largest."""
    import cv2
    import numpy as np

    channels = cv2.split(pixels.astype(np.float32))
    value = reduce(np.maximum, channels)
    brighter = np.minimum(value + np.float32(255 * more), 255)
    growth = brighter / np.maximum(value, 1)
    black = np.where(value == 0, brighter, 0)
    return rounded(cv2.merge([channel * growth + black for channel in channels]))


def contrast(pixels: "Pixels", kept: float, _random: "Generator") -> "Pixels":
    """(x - mean) kept + mean, with the mean of each channel."""
    import cv2
    import numpy as np

    means = np.array(cv2.sumElems(pixels)[:3]) / (pixels.shape[0] * pixels.shape[1])
    values = np.arange(256)[:, np.newaxis]
    return cv2.LUT(pixels, rounded((values - means) * kept + means)[np.newaxis])  # type: ignore[return-value]


def saturation(pixels: "Pixels", line: tuple[float, float], _random: "Generator") -> "Pixels":
    """S factor + offset in HSV, hue and value kept; levels 1 and 2 fade the colours, 3 to 5 exaggerate them.

    A grey pixel has hue 0, so that an offset tints it red: so it is in both published scripts.
    """
    import cv2
    import numpy as np

    factor, offset = line
    channels = cv2.split(pixels.astype(np.float32))
    value = reduce(np.maximum, channels)
    spread = value - reduce(np.minimum, channels)  # S V
    wanted = np.clip(spread * np.float32(factor) + value * np.float32(offset), 0, value)
    growth = wanted / np.maximum(spread, 1)
    from_grey = np.where(spread == 0, wanted, 0)
    red, green, blue = (value - (value - channel) * growth for channel in channels)
    return rounded(cv2.merge([red, green - from_grey, blue - from_grey]))


def grayscale(pixels: "Pixels", _constant: None, _random: "Generator") -> "Pixels":
    """The luminance in all three channels."""
    import cv2

    return cv2.cvtColor(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)  # type: ignore[return-value]


def grayscale_inverse(pixels: "Pixels", _constant: None, random: "Generator") -> "Pixels":
    """The negative of the luminance."""
    return 255 - grayscale(pixels, None, random)
