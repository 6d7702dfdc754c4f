"""Corruptions by noise, blur, encoding and colour."""

from functools import reduce
from typing import TYPE_CHECKING

from vqa_client.images.corruptions.pixels import rounded, zoom_crop, zoomed

if TYPE_CHECKING:
    from numpy.random import Generator

    from vqa_client.images.corruptions.pixels import Floats, Pixels


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
    """x + Poisson(rate), as in VQA-VRB: x is in [0, 1], so any count except 0 makes a value white."""
    import math

    import numpy as np

    draws = random.integers(0, _DRAWS, pixels.shape, dtype=np.uint32)
    return np.where(draws < round(-math.expm1(-rate) * _DRAWS), np.uint8(255), pixels)


def shot_noise(pixels: "Pixels", photons: float, random: "Generator") -> "Pixels":
    """Poisson(x photons) / photons, as in ImageNet-C: the fewer photons, the more noise."""
    return rounded(random.poisson(pixels * (photons / 255)) * (255 / photons))


def impulse_noise(pixels: "Pixels", amount: float, random: "Generator") -> "Pixels":
    """Salt and pepper: this share of the values becomes 255 or 0, with equal probability."""
    import numpy as np

    draws = random.integers(0, _DRAWS, pixels.shape, dtype=np.uint32)
    salted = np.where(draws < round(amount / 2 * _DRAWS), np.uint8(255), pixels)
    return np.where(draws >= _DRAWS - round(amount / 2 * _DRAWS), np.uint8(0), salted)


_LEAST_RADIUS = 8
"""The kernel of a smaller disk has this radius too, so that the soft edge fits in."""


def defocus_blur(pixels: "Pixels", disk: tuple[int, float], _random: "Generator") -> "Pixels":
    """The mean over a disk of a radius in pixels, its edge softened by a sigma."""
    import cv2
    import numpy as np

    # In double precision every processor rounds alike, and it takes the same time.
    return rounded(cv2.filter2D(pixels.astype(np.float64), -1, disk_kernel(*disk)))


def disk_kernel(radius: int, softness: float) -> "Floats":
    """A uniform disk with a blurred edge.

    The kernel is as large as the disks of radius 8 and 10, and what is blurred beyond its border is reflected: these
    two brighten the image by 1.3 and 1.1 per cent. Both published scripts do the same.
    """
    import cv2
    import numpy as np

    reach = max(radius, _LEAST_RADIUS)
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    disk = (x**2 + y**2 <= radius**2).astype(np.float32)
    width = 3 if radius <= _LEAST_RADIUS else 5
    kernel: Floats = cv2.GaussianBlur(disk / disk.sum(), (width, width), softness)
    return kernel


def zoom_blur(pixels: "Pixels", zooms: tuple[float, float], _random: "Generator") -> "Pixels":
    """The mean of the picture and its enlargements from 1 up to below `zooms[0]` in steps of `zooms[1]`."""
    import numpy as np

    height, width = pixels.shape[:2]
    total = pixels.astype(np.float32)
    sharp = total.copy()
    factors = np.arange(1, *zooms)  # numpy, since the last factor depends on how 0.01 is rounded
    for zoom in factors:
        rows, columns = zoom_crop(height, zoom), zoom_crop(width, zoom)
        top, left = (height - rows) // 2, (width - columns) // 2
        total += zoomed(sharp[top : top + rows, left : left + columns], zoom, height, width)
    return rounded(total / (len(factors) + 1))


def pixelate_smaller(pixels: "Pixels", scale: float, _random: "Generator") -> "Pixels":
    """Shrink by area, as in VQA-VRB: the result stays smaller."""
    import cv2

    height, width = pixels.shape[:2]
    size = max(int(width * scale), 1), max(int(height * scale), 1)
    return cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)  # type: ignore[return-value]


def pixelate(pixels: "Pixels", scale: float, _random: "Generator") -> "Pixels":
    """Shrink and enlarge with Pillow's box filter, as in ImageNet-C."""
    import numpy as np
    from PIL import Image

    height, width = pixels.shape[:2]
    small = Image.fromarray(pixels).resize(
        (max(int(width * scale), 1), max(int(height * scale), 1)), Image.Resampling.BOX
    )
    return np.asarray(small.resize((width, height), Image.Resampling.BOX))


def jpeg_compression(pixels: "Pixels", quality: int, _random: "Generator") -> "Pixels":
    """Encode as JPEG of this quality and decode again."""
    import cv2

    _, encoded = cv2.imencode(".jpg", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    return cv2.imdecode(encoded, cv2.IMREAD_COLOR_RGB)  # type: ignore[return-value]


def brightness(pixels: "Pixels", more: float, _random: "Generator") -> "Pixels":
    """V + more in HSV, with the same hue and saturation: every channel grows in proportion to the largest."""
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
    """S factor + offset in HSV, with the same hue and value; levels 1 and 2 fade the colours, 3 to 5 exaggerate them.

    A grey pixel has hue 0, so an offset tints it red, as in both published scripts.
    """
    import cv2
    import numpy as np

    factor, offset = line
    channels = cv2.split(pixels.astype(np.float32))
    value = reduce(np.maximum, channels)
    spread = value - reduce(np.minimum, channels)  # S V
    new_spread = np.clip(spread * np.float32(factor) + value * np.float32(offset), 0, value)
    growth = new_spread / np.maximum(spread, 1)
    from_grey = np.where(spread == 0, new_spread, 0)
    red, green, blue = (value - (value - channel) * growth for channel in channels)
    return rounded(cv2.merge([red, green - from_grey, blue - from_grey]))


def grayscale(pixels: "Pixels", _constant: None, _random: "Generator") -> "Pixels":
    """The luminance in all three channels."""
    import cv2

    return cv2.cvtColor(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)  # type: ignore[return-value]


def grayscale_inverse(pixels: "Pixels", _constant: None, random: "Generator") -> "Pixels":
    """The negative of the luminance."""
    return 255 - grayscale(pixels, None, random)
