"""The steps that make the pixels of a decoded file the same on every server; each returns the name of its change."""

from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from vqa_client.errors import QuestionFailed
from vqa_client.images.facts import ImageFacts

if TYPE_CHECKING:
    from PIL import Image as PillowImage

    Pixels = PillowImage.Image

ImageFormat = Literal["png", "jpeg", "webp"]
MAX_IMAGE_PIXELS = 178_956_970
"""Above this limit Pillow, and so vLLM and mlx-vlm, refuses an image as a decompression bomb."""


class Recipe(Struct, frozen=True, kw_only=True):
    """What every image is changed to: at most `max_pixels`, no side above `max_side`, a format, a quality in 1..100.

    `white_value` is the value of white in images with 32 bits per value.
    """

    max_pixels: int | None = None
    max_side: int | None = None
    white_value: float | None = None
    image_format: ImageFormat | None = None
    image_quality: int = 90


class Job(Struct, frozen=True, kw_only=True):
    """One file: the facts of its header, its number of frames, the recipe, and a PNG's `depth` in bits per channel.

    `drafted` says how it was shrunk while it was decoded, "" if it wasn't.
    """

    facts: ImageFacts
    frames: int
    recipe: Recipe
    path: str
    depth: int
    drafted: str


def sent_size(width: int, height: int, recipe: Recipe) -> tuple[int, int]:
    """The width and height in pixels of the image that is sent."""
    return _within_pixels(*_within_side(width, height, recipe.max_side), recipe.max_pixels)


def _within_side(width: int, height: int, limit: int | None) -> tuple[int, int]:
    """Round both sides down to whole pixels, as the VQA 2.0 framework does."""
    longest = max(width, height)
    if limit is None or longest <= limit:
        return width, height
    return max(1, int(width * (limit / longest))), max(1, int(height * (limit / longest)))


def _within_pixels(width: int, height: int, limit: int | None) -> tuple[int, int]:
    if limit is None or width * height <= limit:
        return width, height
    scale = sqrt(limit / (width * height))
    width = min(max(1, int(width * scale)), limit)
    return width, min(max(1, int(height * scale)), limit // width)


def check_pixels(width: int, height: int, recipe: Recipe, path: str) -> None:
    """Raise QuestionFailed for an image with more pixels than servers accept, unless it will be shrunk to fewer."""
    sent_width, sent_height = sent_size(width, height, recipe)
    if sent_width * sent_height > MAX_IMAGE_PIXELS:
        reason = f"has {width}x{height} pixels; servers take at most {MAX_IMAGE_PIXELS:,}"
        raise refused(path, reason, "make it smaller first; a run shrinks it with --max_pixels N")


def refused(path: str, reason: str, hint: str, *, transient: bool = False) -> QuestionFailed:
    """Return the error that names the file, the reason and the way out."""
    return QuestionFailed("bad_image", f"{path}: {reason}", hint=hint, transient=transient)


def _first_frame(pixels: "Pixels", job: Job) -> tuple["Pixels", str]:
    several = job.frames > 1 or {"animated", "mpo"}.intersection(job.facts.oddities)
    return pixels, "first_frame" if several else ""


def _turn_upright(pixels: "Pixels", job: Job) -> tuple["Pixels", str]:
    from PIL import Image

    turns = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_270,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_90,
    }
    try:
        orientation = pixels.getexif().get(0x0112, 1)
    except Exception:
        # Broken EXIF: a server that reads it with Pillow would refuse the image, although its pixels are fine.
        return pixels, "exif_removed"
    if orientation not in turns:
        return pixels, ""
    return pixels.transpose(turns[orientation]), f"exif_transpose:{orientation}"


def _eight_bit(pixels: "Pixels", job: Job) -> tuple["Pixels", str]:
    if pixels.mode.startswith("I;16") or (pixels.mode == "I" and job.facts.format in ("png", "ppm")):
        wide = pixels.convert("I")
        narrow = wide.point(_narrowing(), "L")
        key = pixels.info.get("transparency")
        if isinstance(key, int):
            narrow.putalpha(wide.point([0 if value == key else 255 for value in range(65_536)], "L"))
        return narrow, "16bit_to_8bit"
    if pixels.mode in ("I", "F"):
        return _from_32_bits(pixels, job)
    if "16bit" not in job.facts.oddities:
        return pixels, ""
    # Pillow keeps the high byte of each value and compares a 16-bit transparent colour with it, which never matches.
    if pixels.mode == "RGB":
        pixels.info.pop("transparency", None)
    return pixels, "16bit_to_8bit"


def _from_32_bits(pixels: "Pixels", job: Job) -> tuple["Pixels", str]:
    """Scale values so that `white_value` becomes 255; values outside the range become black or white."""
    white = job.recipe.white_value
    if white is None:
        low, high = pixels.getextrema()
        reason = f"has 32-bit pixels (from {low:.6g} to {high:.6g}), and nothing says which value is white"
        raise refused(job.path, reason, "--white_value VALUE says it, such as 1 or 255; or convert it to 8 or 16 bit")
    scaled = pixels.convert("F").point(lambda value: value * (255 / white) + 0.5)
    return scaled.convert("L"), f"32bit_to_8bit:{white:g}"


@cache
def _narrowing() -> list[int]:
    return [(value + 128) // 257 for value in range(65_536)]


def _to_rgb(pixels: "Pixels", job: Job) -> tuple["Pixels", str]:
    if pixels.mode != "CMYK":
        return pixels, ""
    return pixels.convert("RGB"), "cmyk_to_rgb"


def _lay_on_white(pixels: "Pixels", job: Job) -> tuple["Pixels", str]:
    """Put transparent pixels on white, as vLLM does; mlx-vlm would show their hidden colour."""
    from PIL import Image

    if not pixels.has_transparency_data:
        return pixels, ""
    grey_levels = {2: 85, 4: 17}.get(job.depth)
    key = pixels.info.get("transparency")
    if pixels.mode == "L" and grey_levels and isinstance(key, int):
        pixels.info["transparency"] = key * grey_levels  # Pillow scales the pixels, not the key
    rgba = pixels if pixels.mode == "RGBA" else pixels.convert("RGBA")
    if rgba.getchannel("A").getextrema() == (255, 255):
        return rgba, ""
    white = Image.new("RGB", rgba.size, "white")
    white.paste(rgba, mask=rgba)
    return white, "alpha_on_white"


def _fit_side(pixels: "Pixels", job: Job) -> tuple["Pixels", str]:
    return _shrink(pixels, job.recipe.max_side, "max_side", _within_side)


def _fit_pixels(pixels: "Pixels", job: Job) -> tuple["Pixels", str]:
    return _shrink(pixels, job.recipe.max_pixels, "max_pixels", _within_pixels)


def _shrink(
    pixels: "Pixels", limit: int | None, name: str, within: Callable[[int, int, int | None], tuple[int, int]]
) -> tuple["Pixels", str]:
    from PIL import Image

    width, height = within(*pixels.size, limit)
    if (width, height) == pixels.size:
        return pixels, ""
    smooth = pixels if pixels.mode in ("L", "RGB") else pixels.convert("L" if pixels.mode == "1" else "RGB")
    change = f"{pixels.width}x{pixels.height}->{width}x{height}"
    return smooth.resize((width, height), Image.Resampling.LANCZOS), f"{name}:{limit}:lanczos:{change}"


STEPS: tuple[Callable[["Pixels", Job], tuple["Pixels", str]], ...] = (
    _first_frame,
    _turn_upright,
    _eight_bit,
    _to_rgb,
    _lay_on_white,
    _fit_side,
    _fit_pixels,
)
"""In this order, because a resize or a corruption needs the image upright, in 8 bits and without transparency."""
