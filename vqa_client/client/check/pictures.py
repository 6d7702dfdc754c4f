"""The pictures that a check shows: flat colours and short sentences, drawn the same every time."""

from functools import lru_cache
from io import BytesIO

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (255, 0, 0),
    "blue": (0, 0, 255),
    "green": (0, 200, 0),
    "yellow": (255, 255, 0),
    "black": (0, 0, 0),
    "gray": (128, 128, 128),
    "brown": (150, 75, 0),
    "teal": (0, 128, 128),
}
SIDE_PX = 112
PAGE_PX = 448


@lru_cache(maxsize=32)
def square(colour: str, side_px: int = SIDE_PX) -> bytes:
    """A square of one of COLOURS, three fifths of the picture's side wide, amid white; a PNG file."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (side_px, side_px), "white")
    edge = side_px // 5
    ImageDraw.Draw(picture).rectangle((edge, edge, side_px - edge - 1, side_px - edge - 1), fill=COLOURS[colour])
    return _png(picture)


@lru_cache(maxsize=32)
def sentence(words: str, side_px: int = PAGE_PX) -> bytes:
    """A white page with one line of black text across it; a PNG file."""
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("RGB", (side_px, side_px), "white")
    font = ImageFont.load_default(side_px * 1.6 / len(words))
    ImageDraw.Draw(picture).text((side_px / 2, side_px / 2), words, fill="black", font=font, anchor="mm")
    return _png(picture)


def _png(picture: object) -> bytes:
    from PIL import Image

    assert isinstance(picture, Image.Image)
    file = BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()
