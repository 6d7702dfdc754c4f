"""White that is cut away: right of the last mark of a page, and below the last line of a document."""

from statistics import median
from typing import TYPE_CHECKING

from vqa_client.pages.style import Style

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
