"""The corruptions elastic, spatter and snow."""

import math
from typing import TYPE_CHECKING

from vqa_client.images.corruptions.pixels import cut, gaussian_blur, rounded, zoom_crop, zoomed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from numpy.random import Generator

    from vqa_client.images.corruptions.pixels import Floats, Pixels


Spatter = tuple[float, float, float, float, float, int]
"""Mean, deviation and sigma of the noise; the threshold; the strength of water or softness of mud; 0 water, 1 mud."""
_WATER = (175, 238, 238)
_MUD = (63, 42, 20)
_FAR = 20
"""Farther than this many pixels from its edge, a drop looks the same everywhere."""
_SLOPE = ((-2, -1, 0), (-1, 1, 1), (0, 1, 2))
"""A filter that lights the drops from one side."""
_FINEST_SIGMA = 16
"""A smooth field is made on a coarse grid, where its sigma is at least this many cells: 5 ms instead of 110."""


def elastic(pixels: "Pixels", bend: tuple[float, float, float], random: "Generator") -> "Pixels":
    """Move three points at random, then each pixel by a smooth random field; `bend`: strength, sigma, jolt (pixels)."""
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

    As in the published scripts, the middle is (row, column) although OpenCV reads (x, y).
    """
    import cv2
    import numpy as np

    middle = np.array([height // 2, width // 2])
    reach = max(min(height, width) // 3, 1)  # below 3 pixels the three points would be one
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
    """As in ImageNet-C's script: values in [0, 1], and the fractions are cut off at the end."""
    import numpy as np

    kept, added = _splashes(pixels, constants, random)
    return cut(pixels.astype(np.float32) / 255 * kept + added / 255)


def _splashes(pixels: "Pixels", constants: Spatter, random: "Generator") -> "tuple[Floats | int, Floats]":
    """The share of the image that stays, and what is added to it, in 0..255."""
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
    """Paint mud where the softened splashes cover at least 0.8."""
    import cv2
    import numpy as np

    cover = gaussian_blur((liquid > 0).astype(np.float32), softness, truncate=4, border=cv2.BORDER_REPLICATE)
    cover = np.where(cover < 0.8, 0, cover)[..., np.newaxis]
    return 1 - cover, cover * np.array(_MUD, np.float32)


Snow = tuple[float, float, float, float, int, int, float]
"""Mean and deviation of the flakes' brightness; their size; the threshold below which they are dropped; radius and
sigma of the streaks in pixels; the share of the image's own brightness that stays."""


def snow(pixels: "Pixels", constants: Snow, random: "Generator") -> "Pixels":
    """Whiten the image and add two layers of flakes; the second is the first turned by 180 degrees."""
    import cv2
    import numpy as np

    picture, kept = pixels.astype(np.float32), constants[-1]
    streaks = rounded(_streaks(pixels.shape, constants, random)).astype(np.float32)
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    whitened = np.maximum(picture, (1.5 * grey + 127.5)[..., np.newaxis])
    fallen = (streaks + streaks[::-1, ::-1])[..., np.newaxis]
    return rounded(kept * picture + (1 - kept) * whitened + fallen)


def snow_cut(pixels: "Pixels", constants: Snow, random: "Generator") -> "Pixels":
    """As in ImageNet-C's script: the fractions of the streaks and of the sum are cut off."""
    import cv2
    import numpy as np

    picture, kept = pixels.astype(np.float32) / 255, constants[-1]
    # ImageMagick 6 blurs with 16 bits per value and returns 8.
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
    # Only the part that the enlargement shows is drawn.
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
    # In double precision every processor rounds alike.
    return cv2.filter2D(  # type: ignore[return-value]
        grey.astype(np.float64), -1, kernel, anchor=anchor, borderType=cv2.BORDER_REPLICATE
    )


def motion_kernel(radius: int, sigma: float, angle: float) -> tuple["npt.NDArray[np.float64]", tuple[int, int]]:
    """The kernel and its anchor (x, y): half a Gaussian that starts at the anchor in the direction of `angle`."""
    import numpy as np

    along = np.arange(2 * radius + 1)
    weights = np.exp(-(along**2) / (2 * sigma**2))
    direction = math.radians(angle)
    # ImageMagick rounds halves down.
    x, y = (np.ceil(along * part - 0.5).astype(int) for part in (math.cos(direction), math.sin(direction)))
    anchor = int(-x.min()), int(-y.min())
    kernel = np.zeros((int(np.ptp(y)) + 1, int(np.ptp(x)) + 1))
    np.add.at(kernel, (y + anchor[1], x + anchor[0]), weights / weights.sum())
    return kernel, anchor
