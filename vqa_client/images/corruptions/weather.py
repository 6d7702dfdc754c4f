"""Weather: snow that falls in streaks."""

import math
from typing import TYPE_CHECKING

from vqa_client.images.corruptions.pixels import cut, rounded, zoom_crop, zoomed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from numpy.random import Generator

    from vqa_client.images.corruptions.pixels import Pixels

Snow = tuple[float, float, float, float, int, int, float]
"""Mean and deviation of the flakes' brightness, their size, the least brightness that shows, radius and sigma of the
streaks in pixels, and how much of the picture's own brightness stays."""


def snow(pixels: "Pixels", constants: Snow, random: "Generator") -> "Pixels":
    """A whitened picture under two layers of flakes, one the other turned by 180 degrees."""
    import cv2
    import numpy as np

    picture, kept = pixels.astype(np.float32), constants[-1]
    streaks = rounded(_streaks(pixels.shape, constants, random)).astype(np.float32)
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    whitened = np.maximum(picture, (1.5 * grey + 127.5)[..., np.newaxis])
    fallen = (streaks + streaks[::-1, ::-1])[..., np.newaxis]
    return rounded(kept * picture + (1 - kept) * whitened + fallen)


def snow_cut(pixels: "Pixels", constants: Snow, random: "Generator") -> "Pixels":
    """The same as ImageNet-C's script makes it: it cuts fractions off, those of the streaks and those of the sum."""
    import cv2
    import numpy as np

    picture, kept = pixels.astype(np.float32) / 255, constants[-1]
    # ImageMagick 6 blurs with 16 bits a value and gives 8.
    streaks = np.floor(np.rint(_streaks(pixels.shape, constants, random) * 257) / 257)[..., np.newaxis] / 255
    whitened = np.maximum(picture, cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)[..., np.newaxis] * 1.5 + 0.5)
    return cut(kept * picture + (1 - kept) * whitened + streaks + streaks[::-1, ::-1])


def _streaks(shape: tuple[int, ...], constants: Snow, random: "Generator") -> "npt.NDArray[np.float64]":
    mean, deviation, size, least, radius, sigma, _ = constants
    flakes = _flakes(shape[:2], (mean, deviation, size, least), random)
    return motion_blur(flakes, radius, sigma, random.uniform(-135, -45))


def _flakes(shape: tuple[int, ...], look: tuple[float, float, float, float], random: "Generator") -> "Pixels":
    import numpy as np

    mean, deviation, size, least = look
    # Only the part that the enlargement shows is drawn: the rest would be drawn alike and thrown away.
    seen = [zoom_crop(length, size) for length in shape]
    brightness = random.standard_normal(seen, dtype=np.float32) * np.float32(deviation) + np.float32(mean)
    large = zoomed(brightness, size, shape[0], shape[1])
    large[large < least] = 0
    return (np.clip(large, 0, 1) * 255).astype(np.uint8)


def motion_blur(grey: "Pixels", radius: int, sigma: float, angle: float) -> "npt.NDArray[np.float64]":
    """Smear (H, W) pixels in one direction, as ImageMagick's motion blur does; `angle` in degrees."""
    import cv2
    import numpy as np

    kernel, anchor = motion_kernel(radius, sigma, angle)
    # In double precision the rounding is the same on every processor.
    return cv2.filter2D(  # type: ignore[return-value]
        grey.astype(np.float64), -1, kernel, anchor=anchor, borderType=cv2.BORDER_REPLICATE
    )


def motion_kernel(radius: int, sigma: float, angle: float) -> tuple["npt.NDArray[np.float64]", tuple[int, int]]:
    """The kernel and its anchor (x, y): half a Gaussian, laid from the anchor along the direction of `angle`."""
    import numpy as np

    along = np.arange(2 * radius + 1)
    weights = np.exp(-(along**2) / (2 * sigma**2))
    direction = math.radians(angle)
    # Halves go down: ImageMagick's rule.
    x, y = (np.ceil(along * part - 0.5).astype(int) for part in (math.cos(direction), math.sin(direction)))
    anchor = int(-x.min()), int(-y.min())
    kernel = np.zeros((int(np.ptp(y)) + 1, int(np.ptp(x)) + 1))
    np.add.at(kernel, (y + anchor[1], x + anchor[0]), weights / weights.sum())
    return kernel, anchor
