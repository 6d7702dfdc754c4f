"""How a document looks as page images: the paper, the type, the resolution and what is cut away."""

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
