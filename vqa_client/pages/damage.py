"""What the perturbations do to the pixels of a page; the rules and defaults are the published script's."""

import io
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vqa_client.errors import UsageError
from vqa_client.pages.perturbations import Perturbation, Value
from vqa_client.shipped import install

if TYPE_CHECKING:
    from PIL import Image as PillowImage

    Pixels = PillowImage.Image
    Damage = Callable[[Pixels, Mapping[str, Value], bytes], Pixels]

THRESHOLD = 128
GAUSSIAN_SPAN = 128
"""The sigma of gaussian noise is this times the intensity."""


def perturbed(pixels: "Pixels", perturbation: Perturbation, digest: bytes) -> "Pixels":
    """The page, grey or RGB with 8 bits, after a perturbation of its pixels.

    `digest` (a multiple of 4 bytes) decides chance: the same one gives the same noise.
    Raises UsageError when numpy is missing (noise).
    """
    return _MADE[perturbation.kind](pixels, perturbation.values, digest)


def _encoded(kind: str) -> "Damage":
    def reencoded(pixels: "Pixels", values: Mapping[str, Value], digest: bytes) -> "Pixels":
        from PIL import Image

        buffer = io.BytesIO()
        pixels.save(buffer, kind, quality=int(values["quality"]))
        return Image.open(buffer).convert(pixels.mode)  # WebP gives grey pages back as RGB, with equal channels

    return reencoded


def _binary(pixels: "Pixels", values: Mapping[str, Value], digest: bytes) -> "Pixels":
    return pixels.convert("L").point([255 * (grey > THRESHOLD) for grey in range(256)], "1")


def _noise(pixels: "Pixels", values: Mapping[str, Value], digest: bytes) -> "Pixels":
    try:
        import numpy as np
    except ImportError:
        raise UsageError("noise needs numpy", hint=install("render")) from None
    from PIL import Image

    # Not default_rng: only RandomState's numbers are promised to stay the same in every version of numpy.
    chance = np.random.RandomState(np.frombuffer(digest, np.uint32))
    page, intensity = np.asarray(pixels), float(values["intensity"])
    if values["noise_type"] == "gaussian":
        noisy = page + np.rint(chance.standard_normal(page.shape) * (intensity * GAUSSIAN_SPAN))
        return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))
    drawn = chance.random_sample(page.shape[:2])
    salted = page.copy()
    salted[drawn < intensity / 2] = 0
    salted[drawn >= 1 - intensity / 2] = 255
    return Image.fromarray(salted)


def _blur(pixels: "Pixels", values: Mapping[str, Value], digest: bytes) -> "Pixels":
    from PIL import ImageFilter

    return pixels.filter(ImageFilter.GaussianBlur(float(values["radius"])))


def _resample(pixels: "Pixels", values: Mapping[str, Value], digest: bytes) -> "Pixels":
    from PIL import Image

    method = Image.Resampling[str(values["method"]).upper()]
    width, height = (max(1, math.floor(side * float(values["scale"]))) for side in pixels.size)
    return pixels.resize((width, height), method).resize(pixels.size, method)


def _upscale(pixels: "Pixels", values: Mapping[str, Value], digest: bytes) -> "Pixels":
    from PIL import Image

    scale = float(values["to_dpi"]) / float(values["dpi"])
    width, height = (max(1, math.floor(side * scale)) for side in pixels.size)
    return pixels.resize((width, height), Image.Resampling.BILINEAR)


_MADE: dict[str, "Damage"] = {
    "jpeg": _encoded("JPEG"),
    "webp": _encoded("WEBP"),
    "binary": _binary,
    "noise": _noise,
    "blur": _blur,
    "resample": _resample,
    "upscale": _upscale,
}
