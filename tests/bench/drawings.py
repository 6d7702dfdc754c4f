"""Page images of a wanted size in bytes: noisy photographs as JPEG, pages of text with a noisy figure as PNG."""

import io
import random
from collections.abc import Callable, Sequence
from functools import partial

from PIL import Image, ImageChops, ImageDraw, ImageFont

Draw = Callable[[random.Random], bytes]
"""Draws one image from a seeded source of numbers and returns the bytes of the file."""


def drawer(format_name: str, mean_bytes: int, size_px: tuple[int, int], words: Sequence[str]) -> Draw:
    """The function that draws images of this format, size in pixels and mean size in bytes."""
    if format_name == "jpeg":
        return _photograph_drawer(mean_bytes, size_px)
    return _page_drawer(mean_bytes, size_px, words)


def _photograph_drawer(mean_bytes: int, size_px: tuple[int, int]) -> Draw:
    """Choose the quality with the best size for the first image; the others differ by a few per cent."""
    qualities = range(5, 96)
    sizes = {quality: len(_photograph(random.Random(0), quality, size_px)) for quality in qualities}
    nearest = min(qualities, key=lambda quality: abs(sizes[quality] - mean_bytes))
    return partial(_photograph, quality=nearest, size_px=size_px)


def _photograph(rng: random.Random, quality: int, size_px: tuple[int, int]) -> bytes:
    colours = Image.frombytes("RGB", (12, 9), rng.randbytes(12 * 9 * 3)).resize(size_px, Image.Resampling.BICUBIC)
    grain = Image.frombytes("L", size_px, rng.randbytes(size_px[0] * size_px[1])).convert("RGB")
    return _encoded(Image.blend(colours, grain, 0.15), "JPEG", quality=quality)


def _page_drawer(mean_bytes: int, size_px: tuple[int, int], words: Sequence[str]) -> Draw:
    """Draw the text once; each page shifts it and adds a figure of random grey, which PNG can't compress."""
    text = _text(size_px, words)
    figure_px = max(0, mean_bytes - len(_encoded(text, "PNG", compress_level=3)))
    height = round(figure_px / (size_px[0] * 0.9))  # 0.9: the figure's rows replace compressed text, so a few more
    return partial(_page, text=text, height_px=min(height, size_px[1]))


def _text(size_px: tuple[int, int], words: Sequence[str]) -> Image.Image:
    rng = random.Random(1)
    page = Image.new("L", size_px, 255)
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(24)
    for top in range(60, size_px[1] - 60, 32):
        pen.text((60, top), " ".join(rng.choices(words, k=12)), fill=0, font=font)
    return page


def _page(rng: random.Random, text: Image.Image, height_px: int) -> bytes:
    page = ImageChops.offset(text, 0, rng.randrange(text.height))
    figure = Image.frombytes("L", (text.width, height_px), rng.randbytes(text.width * height_px))
    page.paste(figure, (0, rng.randrange(text.height - height_px + 1)))
    return _encoded(page, "PNG", compress_level=3)


def _encoded(image: Image.Image, format_name: str, **options: int) -> bytes:
    file = io.BytesIO()
    image.save(file, format_name, **options)
    return file.getvalue()
