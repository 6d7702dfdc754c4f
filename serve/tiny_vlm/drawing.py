"""Draws images of one coloured shape like easy-VQA's: the same three shapes and eight colours."""

import random
from dataclasses import dataclass
from typing import Any

SHAPES = ("circle", "rectangle", "triangle")
COLOURS: dict[str, tuple[int, int, int]] = {
    "black": (0, 0, 0),
    "blue": (0, 0, 255),
    "brown": (165, 42, 42),
    "gray": (128, 128, 128),
    "green": (0, 255, 0),
    "red": (255, 0, 0),
    "teal": (0, 128, 128),
    "yellow": (255, 255, 0),
}
SMALLEST_PX, PALEST = 10, 225
SIDES_PX = (64, 64, 80, 96, 112)
"""Images of easy-VQA are 64 pixels wide; the model also learns other sizes, all multiples of a merged patch (16)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape and colour in an image; None if unknown."""

    shape: str | None
    colour: str | None

    @property
    def known(self) -> bool:
        """Whether shape and colour are known."""
        return self.shape is not None and self.colour is not None

    def __str__(self) -> str:
        return f"{self.colour} {self.shape}"


def drawn(shape: Shape, chance: random.Random, side_px: int = 64) -> Any:
    """Draw the shape with a random size and place on a pale ground; colours vary a little."""
    from PIL import Image, ImageDraw

    assert shape.shape
    assert shape.colour
    ground = tuple(chance.randint(PALEST, 255) for _ in range(3)) if chance.random() < 0.8 else (255, 255, 255)
    fill = tuple(min(255, max(0, part + chance.randint(-12, 12))) for part in COLOURS[shape.colour])
    picture = Image.new("RGB", (side_px, side_px), ground)
    width = chance.randint(SMALLEST_PX, side_px * 3 // 5)
    height = (
        width if shape.shape == "circle" or chance.random() < 0.3 else chance.randint(SMALLEST_PX, side_px * 3 // 5)
    )
    left, top = chance.randint(0, side_px - width - 1), chance.randint(0, side_px - height - 1)
    pen, box = ImageDraw.Draw(picture), (left, top, left + width, top + height)
    if shape.shape == "circle":
        pen.ellipse(box, fill=fill)
    elif shape.shape == "rectangle":
        pen.rectangle(box, fill=fill)
    else:
        pen.polygon([(left, box[3]), (box[2], box[3]), (left + width / 2, top)], fill=fill)
    return picture


def some_shape(chance: random.Random) -> Shape:
    """A random shape and colour."""
    return Shape(chance.choice(SHAPES), chance.choice(tuple(COLOURS)))
