"""Pictures drawn here: gradients, shapes and letters, every colour and every edge."""

from functools import cache
from hashlib import sha256
from typing import Any

import cv2
import numpy as np

from vqa_client.images.corruptions import codec
from vqa_client.images.corruptions.table import Profile


@cache
def drawn(width: int = 160, height: int = 120) -> Any:
    """A gradient in each channel, a grey band, shapes and letters; not to be written to."""
    y, x = np.mgrid[0:height, 0:width]
    red, green = x * 255 // max(width - 1, 1), y * 255 // max(height - 1, 1)
    pixels = np.stack([red, green, 255 - (red + green) // 2], axis=2).astype(np.uint8)
    pixels[: height // 6] = np.linspace(0, 255, width).astype(np.uint8)[:, np.newaxis]
    cv2.circle(pixels, (width // 3, height // 2), height // 5, (220, 30, 40), -1)
    cv2.rectangle(pixels, (width // 2, height // 2), (width - 8, height - 8), (250, 250, 250), -1)
    cv2.putText(
        pixels, "VQA 42", (width // 2 + 4, height * 3 // 4), cv2.FONT_HERSHEY_SIMPLEX, width / 320, (0, 0, 0), 1
    )
    pixels.flags.writeable = False
    return pixels


def flat(value: int, width: int = 256, height: int = 256) -> Any:
    """One colour, so that all that differs from it was added."""
    return np.full((height, width, 3), value, np.uint8)


def corrupted_png(
    data: bytes, *, name: str, level: int, seed: int, profile: Profile = "vqa-vrb", path: str = "the image"
) -> bytes:
    """An image file's corrupted copy: what every way of making one has to give."""
    digest, pixels = sha256(data).hexdigest(), codec.decoded(data, path)
    wanted = codec.AppliedCorruption(name=name, level=level, profile=profile, seed=seed)
    made = codec.corrupted(pixels, wanted, digest=digest, path=path)
    return codec.encoded_png(made, name)
