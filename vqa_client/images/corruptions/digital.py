"""Digital damage: too few pixels, too few bits."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.random import Generator

    from vqa_client.images.corruptions.pixels import Pixels


def pixelate_smaller(pixels: "Pixels", scale: float, _random: "Generator") -> "Pixels":
    """Shrink by area, as VQA-VRB has it: the result keeps its smaller size."""
    import cv2

    height, width = pixels.shape[:2]
    size = max(int(width * scale), 1), max(int(height * scale), 1)
    return cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)  # type: ignore[return-value]


def pixelate(pixels: "Pixels", scale: float, _random: "Generator") -> "Pixels":
    """Shrink and enlarge by Pillow's box filter, as ImageNet-C has it."""
    import numpy as np
    from PIL import Image

    height, width = pixels.shape[:2]
    small = Image.fromarray(pixels).resize(
        (max(int(width * scale), 1), max(int(height * scale), 1)), Image.Resampling.BOX
    )
    return np.asarray(small.resize((width, height), Image.Resampling.BOX))


def jpeg_compression(pixels: "Pixels", quality: int, _random: "Generator") -> "Pixels":
    """Through a JPEG file of this quality and back."""
    import cv2

    _, encoded = cv2.imencode(".jpg", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    return cv2.imdecode(encoded, cv2.IMREAD_COLOR_RGB)  # type: ignore[return-value]
