"""The steps from a decoded file to pixels that mean the same on every server; each names what it did."""

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


class Recipe(Struct, frozen=True, kw_only=True):
    """What is asked of every image: at most `max_pixels`, no side above `max_side`, a format of a quality in 1..100."""

    max_pixels: int | None = None
    max_side: int | None = None
    image_format: ImageFormat | None = None
    image_quality: int = 90


class Job(Struct, frozen=True, kw_only=True):
    """One file on its way: what its header says, its pictures, what is asked, and a PNG's `depth` in bits a channel."""

    facts: ImageFacts
    frames: int
    recipe: Recipe
    path: str
    depth: int


def refused(path: str, reason: str, hint: str, *, transient: bool = False) -> QuestionFailed:
    """Make the error that names the file, the reason and the way out."""
    return QuestionFailed("bad_image", f"{path}: {reason}", hint=hint, transient=transient)


def _first_frame(pixels: "Pixels", job: Job) -> tuple["Pixels", str]:
    several = job.frames > 1 or {"animated", "mpo"}.intersection(job.facts.oddities)
    return pixels, "first_frame" if several else ""


def _upright(pixels: "Pixels", job: Job) -> tuple["Pixels", str]:
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
        # A server that reads EXIF through Pillow refuses the whole image here; the pixels are all right.
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
        raise refused(job.path, "has 32-bit pixels, and nothing says which value is white", "convert it to 8 or 16 bit")
    if "16bit" not in job.facts.oddities:
        return pixels, ""
    # Pillow has kept the high byte of each value, and compares a 16-bit transparent colour with it: never right.
    if pixels.mode == "RGB":
        pixels.info.pop("transparency", None)
    return pixels, "16bit_to_8bit"


@cache
def _narrowing() -> list[int]:
    return [(value + 128) // 257 for value in range(65_536)]


def _rgb(pixels: "Pixels", job: Job) -> tuple["Pixels", str]:
    if pixels.mode != "CMYK":
        return pixels, ""
    return pixels.convert("RGB"), "cmyk_to_rgb"


def _flat(pixels: "Pixels", job: Job) -> tuple["Pixels", str]:
    """Lay transparent pixels on white, as vLLM does; mlx-vlm would show what colour lies under them."""
    from PIL import Image

    if not pixels.has_transparency_data:
        return pixels, ""
    grey_levels = {2: 85, 4: 17}.get(job.depth)
    key = pixels.info.get("transparency")
    if pixels.mode == "L" and grey_levels and isinstance(key, int):
        pixels.info["transparency"] = key * grey_levels  # Pillow scales the pixels to 8 bits and leaves the key
    rgba = pixels if pixels.mode == "RGBA" else pixels.convert("RGBA")
    if rgba.getchannel("A").getextrema() == (255, 255):
        return rgba, ""
    white = Image.new("RGB", rgba.size, "white")
    white.paste(rgba, mask=rgba)
    return white, "alpha_on_white"


def _within(pixels: "Pixels", job: Job) -> tuple["Pixels", str]:
    """Shrink to a longest side, both sides cut to whole pixels, as the VQA 2.0 framework does."""
    limit, longest = job.recipe.max_side, max(pixels.size)
    if limit is None or longest <= limit:
        return pixels, ""
    width, height = (max(1, int(side * (limit / longest))) for side in pixels.size)
    return _resized(pixels, width, height), f"max_side:{limit}:lanczos:{_change(pixels, width, height)}"


def _smaller(pixels: "Pixels", job: Job) -> tuple["Pixels", str]:
    limit = job.recipe.max_pixels
    width, height = pixels.size
    if limit is None or width * height <= limit:
        return pixels, ""
    scale = sqrt(limit / (width * height))
    new_width = min(max(1, int(width * scale)), limit)
    new_height = min(max(1, int(height * scale)), limit // new_width)
    resized = _resized(pixels, new_width, new_height)
    return resized, f"max_pixels:{limit}:lanczos:{_change(pixels, new_width, new_height)}"


def _resized(pixels: "Pixels", width: int, height: int) -> "Pixels":
    from PIL import Image

    smooth = pixels if pixels.mode in ("L", "RGB") else pixels.convert("L" if pixels.mode == "1" else "RGB")
    return smooth.resize((width, height), Image.Resampling.LANCZOS)


def _change(pixels: "Pixels", width: int, height: int) -> str:
    return f"{pixels.width}x{pixels.height}->{width}x{height}"


STEPS: tuple[Callable[["Pixels", Job], tuple["Pixels", str]], ...] = (
    _first_frame,
    _upright,
    _eight_bit,
    _rgb,
    _flat,
    _within,
    _smaller,
)
"""In this order: a corruption or a resize must see the picture upright, in 8 bits and without holes."""
