"""Blurs: out of focus, and zoomed while the shutter was open."""

from typing import TYPE_CHECKING

from vqa_client.images.corruptions.pixels import rounded, zoom_crop, zoomed

if TYPE_CHECKING:
    from numpy.random import Generator

    from vqa_client.images.corruptions.pixels import Floats, Pixels

_LEAST_RADIUS = 8
"""A smaller disk lies in a square of this radius, so that it has room for its soft edge."""


def defocus_blur(pixels: "Pixels", disk: tuple[int, float], _random: "Generator") -> "Pixels":
    """The mean over a disk of a radius in pixels, its edge softened by a sigma."""
    import cv2
    import numpy as np

    # In double precision the rounding is the same on every processor; it is no slower.
    return rounded(cv2.filter2D(pixels.astype(np.float64), -1, disk_kernel(*disk)))


def disk_kernel(radius: int, softness: float) -> "Floats":
    """An even disk with a blurred edge.

    The square ends where the disks of radius 8 and 10 do, and what is blurred beyond it comes back as in a mirror:
    these brighten the picture by 1.3 and 1.1 per cent. So it is in both published scripts.
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
    factors = np.arange(
        1, *zooms
    )  # whose last one depends on how 0.01 is rounded, so numpy's own count is the right one
    for zoom in factors:
        rows, columns = zoom_crop(height, zoom), zoom_crop(width, zoom)
        top, left = (height - rows) // 2, (width - columns) // 2
        total += zoomed(sharp[top : top + rows, left : left + columns], zoom, height, width)
    return rounded(total / (len(factors) + 1))
