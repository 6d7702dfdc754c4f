"""A canvas for plain pictures, and the things that several of them show; coordinates are in pixels of 640 x 480."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image as PillowImage

SIZE = (640, 480)
_FINER = 2
"""A picture is drawn this many times larger and averaged down, so that edges are smooth."""
Color = str
Point = tuple[float, float]
SKIN = "#e0ac86"


class Canvas:
    """Shapes in one colour, the later ones on top."""

    def __init__(self, background: Color) -> None:
        from PIL import Image, ImageDraw

        self._pixels = Image.new("RGB", (SIZE[0] * _FINER, SIZE[1] * _FINER), background)
        self._draw = ImageDraw.Draw(self._pixels)

    def picture(self) -> "PillowImage.Image":
        """The picture at its true size."""
        return self._pixels.reduce(_FINER)

    def box(self, left: float, top: float, right: float, bottom: float, color: Color, radius: float = 0) -> None:
        """A rectangle, its corners rounded by `radius`."""
        corners = tuple(value * _FINER for value in (left, top, right, bottom))
        self._draw.rounded_rectangle(corners, radius * _FINER, color)

    def disc(self, x: float, y: float, radius: float, color: Color, height: float = 1.0) -> None:
        """A disc, or an ellipse whose height is that share of its width."""
        half = radius * height
        self._draw.ellipse(
            [(x - radius) * _FINER, (y - half) * _FINER, (x + radius) * _FINER, (y + half) * _FINER], color
        )

    def shape(self, points: list[Point], color: Color) -> None:
        self._draw.polygon([(x * _FINER, y * _FINER) for x, y in points], color)

    def line(self, start: Point, end: Point, color: Color, width: float) -> None:
        self._draw.line(
            [start[0] * _FINER, start[1] * _FINER, end[0] * _FINER, end[1] * _FINER], color, int(width * _FINER)
        )


def person(canvas: Canvas, x: float, feet: float, height: float, shirt: Color, *, hat: bool = False) -> None:
    """A standing person, seen from the front."""
    unit = height / 8
    top = feet - height
    for side in (-1, 1):
        canvas.box(
            x + side * 0.55 * unit - 0.4 * unit, feet - 3.8 * unit, x + side * 0.55 * unit + 0.4 * unit, feet, "#2f3b55"
        )
        canvas.disc(x + side * 0.7 * unit, feet, 0.55 * unit, "#3a2a20", height=0.4)
        canvas.line((x + side * unit, top + 2.3 * unit), (x + side * 1.7 * unit, top + 4.6 * unit), SKIN, 0.55 * unit)
    canvas.box(x - 1.2 * unit, top + 2 * unit, x + 1.2 * unit, top + 4.9 * unit, shirt, 0.4 * unit)
    canvas.box(x - 0.3 * unit, top + 1.7 * unit, x + 0.3 * unit, top + 2.2 * unit, SKIN)
    _head(canvas, x, top + unit, unit)
    if hat:
        canvas.box(x - 0.85 * unit, top - 0.75 * unit, x + 0.85 * unit, top + 0.5 * unit, "#7a1f1f", 0.3 * unit)
        canvas.box(x - 0.85 * unit, top + 0.1 * unit, x + 0.85 * unit, top + 0.4 * unit, "#f2d16b")
        canvas.disc(x, top + 0.5 * unit, 1.7 * unit, "#7a1f1f", height=0.18)


def _head(canvas: Canvas, x: float, y: float, radius: float) -> None:
    canvas.disc(x, y - 0.12 * radius, 0.98 * radius, "#4a3020")
    canvas.disc(x, y + 0.12 * radius, 0.86 * radius, SKIN)
    for side in (-1, 1):
        canvas.disc(x + side * 0.32 * radius, y + 0.05 * radius, 0.1 * radius, "#222222")
    canvas.disc(x, y + 0.5 * radius, 0.28 * radius, "#a03c3c", height=0.35)


def tree(canvas: Canvas, x: float, ground: float, height: float) -> None:
    """A tree with leaves."""
    canvas.box(x - height * 0.05, ground - height * 0.45, x + height * 0.05, ground, "#6b4a2b")
    for across, up, radius in ((-0.16, 0.55, 0.19), (0.16, 0.55, 0.19), (0, 0.75, 0.23)):
        canvas.disc(x + across * height, ground - up * height, radius * height, "#2f7d32")


def cloud(canvas: Canvas, x: float, y: float, size: float, color: Color) -> None:
    """A cloud."""
    for across, up, radius in (
        (-0.5, 0, 0.32),
        (0, 0.12, 0.42),
        (0.5, 0, 0.34),
        (0.2, -0.1, 0.34),
        (-0.2, -0.08, 0.32),
    ):
        canvas.disc(x + across * size, y - up * size, radius * size, color)


def car(canvas: Canvas, x: float, ground: float, length: float, color: Color) -> None:
    """A car, seen from the side."""
    unit = length / 10
    roof = [(-2.6, -2.2), (-1.6, -3.9), (1.7, -3.9), (3.2, -2.2)]
    glass = (
        [(-2.0, -2.3), (-1.35, -3.5), (-0.1, -3.5), (-0.1, -2.3)],
        [(0.2, -2.3), (0.2, -3.5), (1.5, -3.5), (2.5, -2.3)],
    )
    for points, paint in ((roof, color), (glass[0], "#cfe8f5"), (glass[1], "#cfe8f5")):
        canvas.shape([(x + across * unit, ground + up * unit) for across, up in points], paint)
    canvas.box(x - 5 * unit, ground - 2.3 * unit, x + 5 * unit, ground - 0.6 * unit, color, 0.6 * unit)
    canvas.box(x + 4.5 * unit, ground - 1.9 * unit, x + 5 * unit, ground - 1.4 * unit, "#fff3b0")
    for across in (-2.9, 2.9):
        canvas.disc(x + across * unit, ground - 0.7 * unit, 1.05 * unit, "#1c1c1c")
        canvas.disc(x + across * unit, ground - 0.7 * unit, 0.5 * unit, "#b9b9b9")
