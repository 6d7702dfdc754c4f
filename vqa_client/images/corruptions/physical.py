"""Corruptions that bend a picture, or put snow and drops on it."""

import math
from typing import TYPE_CHECKING

from vqa_client.images.corruptions.pixels import cut, gaussian_blur, rounded, zoom_crop, zoomed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from numpy.random import Generator

    from vqa_client.images.corruptions.pixels import Floats, Pixels


Spatter = tuple[float, float, float, float, float, int]
"""Mean, deviation and sigma of the noise, the threshold, the strength of water or softness of mud, and which it is."""
_WATER = (175, 238, 238)
_MUD = (63, 42, 20)
_FAR = 20
"""Pixels from a drop's edge beyond which it looks the same."""
_SLOPE = ((-2, -1, 0), (-1, 1, 1), (0, 1, 2))
"""Light from one side on the drops."""
_FINEST_SIGMA = 16
"""A field so smooth is made on a coarser grid, where its sigma is this many cells: 5 ms instead of 110."""


def elastic(pixels: "Pixels", bend: tuple[float, float, float], random: "Generator") -> "Pixels":
    """Move three points at random, and every pixel a little more in a field of a strength and a sigma in pixels."""
    import cv2
    import numpy as np

    strength, sigma, jolt = bend
    height, width = pixels.shape[:2]
    jolted = cv2.warpAffine(
        pixels.astype(np.float32),
        _jolt(height, width, jolt, random),
        (width, height),
        borderMode=cv2.BORDER_REFLECT_101,
    )
    moved_x, moved_y = (_smooth_field(height, width, sigma, random) * np.float32(strength) for _ in "xy")
    x = np.arange(width, dtype=np.float32) + moved_x
    y = np.arange(height, dtype=np.float32)[:, np.newaxis] + moved_y
    return rounded(cv2.remap(jolted, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT))


def _jolt(
    height: int, width: int, jolt: float, random: "Generator"
) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    """The affine map that moves three points around the middle by up to `jolt` pixels each.

    The published scripts take the middle as (row, column) where OpenCV reads (x, y), and so does this.
    """
    import cv2
    import numpy as np

    middle = np.array([height // 2, width // 2])
    reach = max(min(height, width) // 3, 1)  # of a picture under 3 pixels the three points would be one
    points = np.array([middle + reach, (middle[0] + reach, middle[1] - reach), middle - reach], np.float32)
    moved = points + random.uniform(-jolt, jolt, points.shape).astype(np.float32)
    return cv2.getAffineTransform(points, moved)  # type: ignore[return-value]


def _smooth_field(height: int, width: int, sigma: float, random: "Generator") -> "Floats":
    """Uniform noise in -1..1, blurred."""
    import cv2
    import numpy as np

    noise = random.random((height, width), dtype=np.float32) * 2 - 1
    step = max(int(sigma) // _FINEST_SIGMA, 1)
    cells = max(width // step, 1), max(height // step, 1)
    coarse = cv2.resize(noise, cells, interpolation=cv2.INTER_AREA)
    smooth = gaussian_blur(coarse, sigma / step, truncate=3, border=cv2.BORDER_REFLECT)  # type: ignore[arg-type]
    return cv2.resize(smooth, (width, height), interpolation=cv2.INTER_CUBIC)  # type: ignore[return-value]


def spatter(pixels: "Pixels", constants: Spatter, random: "Generator") -> "Pixels":
    """Drops of water (the last constant is 0) or mud (1), where blurred noise is above a threshold."""
    kept, added = _splashes(pixels, constants, random)
    return rounded(pixels * kept + added)


def spatter_cut(pixels: "Pixels", constants: Spatter, random: "Generator") -> "Pixels":
    """The same as ImageNet-C's script makes it: values in [0, 1], and fractions cut off in the end."""
    import numpy as np

    kept, added = _splashes(pixels, constants, random)
    return cut(pixels.astype(np.float32) / 255 * kept + added / 255)


def _splashes(pixels: "Pixels", constants: Spatter, random: "Generator") -> "tuple[Floats | int, Floats]":
    """How much stays of the picture, and what is added to it, in 0..255."""
    import cv2
    import numpy as np

    mean, deviation, sigma, threshold, strength, mud = constants
    noise = random.standard_normal(pixels.shape[:2], dtype=np.float32) * np.float32(deviation) + np.float32(mean)
    liquid = gaussian_blur(noise, sigma, truncate=4, border=cv2.BORDER_REPLICATE)
    return (_mud if mud else _water)(np.where(liquid < threshold, 0, liquid), strength)


def _water(liquid: "Floats", strength: float) -> "tuple[int, Floats]":
    """Add the colour of water, brightest where a drop is thick and lit."""
    import cv2
    import numpy as np

    drops = np.clip(liquid * 255, 0, 255).astype(np.uint8)
    thick = cv2.distanceTransform(255 - cv2.Canny(drops, 50, 150), cv2.DIST_L2, 5)
    even = cv2.equalizeHist(cv2.blur(np.minimum(thick, _FAR), (3, 3)).astype(np.uint8))
    lit = cv2.filter2D(even, cv2.CV_8U, np.array(_SLOPE, np.float32))
    water = drops * cv2.blur(lit, (3, 3)).astype(np.float32)
    share = water * (strength / max(water.max(), 1))
    return 1, share[..., np.newaxis] * np.array(_WATER, np.float32)


def _mud(liquid: "Floats", softness: float) -> "tuple[Floats, Floats]":
    """Lay mud over the picture where at least 0.8 of the softened splashes cover it."""
    import cv2
    import numpy as np

    cover = gaussian_blur((liquid > 0).astype(np.float32), softness, truncate=4, border=cv2.BORDER_REPLICATE)
    cover = np.where(cover < 0.8, 0, cover)[..., np.newaxis]
    return 1 - cover, cover * np.array(_MUD, np.float32)


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
    crop = [zoom_crop(length, size) for length in shape]
    brightness = random.standard_normal(crop, dtype=np.float32) * np.float32(deviation) + np.float32(mean)
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
