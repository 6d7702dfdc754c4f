"""How a document looks as page images: the paper, the type, the resolution and what is cut away."""

from statistics import median
from typing import TYPE_CHECKING

from msgspec import Struct

POINTS_AN_INCH = 72


class Style(Struct, frozen=True, kw_only=True):
    """Everything that decides the pixels of a page besides its text and the fonts; lengths are in points.

    The defaults are the published renderer's for reading by OCR. `font` is a TrueType file, "" the package's own
    fonts. `crop_width` cuts a page right of its last mark and a margin, `crop_last_page` cuts a document's last page
    below it. `max_pages` cuts the document.
    """

    dpi: int = 96
    font: str = ""
    font_size_pt: float = 11
    line_height_pt: float = 12
    page_width_pt: float = 595
    page_height_pt: float = 842
    margin_x_pt: float = 10
    margin_y_pt: float = 10
    crop_width: bool = True
    crop_last_page: bool = True
    remove_line_breaks: bool = False
    max_pages: int | None = None

    def pixels(self, length_pt: float) -> int:
        """A length in pixels of the page image."""
        return round(length_pt * self.dpi / POINTS_AN_INCH)


if TYPE_CHECKING:
    from PIL.Image import Image

_DIFFERENCE = 5
"""Greys from which a pixel is a mark on the paper, as in the published renderer."""


def cropped(page: "Image", style: Style, *, is_last: bool) -> "Image":
    """Cut an 8-bit grey page as its style says; the paper's grey is the median of its first 2 x 2 pixels."""
    width, height = page.size
    right, bottom = _marks(page)
    if style.crop_width and right:
        width = min(width, right + style.pixels(style.margin_x_pt))
    if style.crop_last_page and is_last and bottom:
        height = min(height, bottom + style.pixels(style.margin_y_pt))
    return page.crop((0, 0, width, height))


def _marks(page: "Image") -> tuple[int, int]:
    """How far the marks reach to the right and down; 0 and 0 on a blank page."""
    corner = page.crop((0, 0, min(2, page.width), min(2, page.height)))
    paper = median(corner.tobytes())
    box = page.point([255 if abs(grey - paper) > _DIFFERENCE else 0 for grey in range(256)]).getbbox()
    return (box[2], box[3]) if box else (0, 0)
