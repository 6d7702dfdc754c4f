"""The style of pages, the division of a text into lines and pages, and the drawing of pages by PDFium."""

import ctypes
import re
from collections.abc import Iterator
from functools import cache
from itertools import count, islice
from statistics import median
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from vqa_client.errors import UsageError
from vqa_client.pages.fonts import Chain, Face, Script, chain
from vqa_client.pages.typeset import GlyphRun, Typesetter, runs_left

if TYPE_CHECKING:
    from PIL.Image import Image

POINTS_AN_INCH = 72


class Style(Struct, frozen=True, kw_only=True):
    """Everything that decides the pixels of a page, except its text and fonts; lengths are in points.

    The defaults are the published renderer's for reading by OCR. `font` is a TrueType file, "" the package's own
    fonts. `crop_width` cuts a page to the right of its last mark and a margin, `crop_last_page` cuts a document's last
    page below it. `max_pages` cuts the document.
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


_DIFFERENCE = 5
"""A pixel that differs from the paper by this many greys is a mark, as in the published renderer."""


def cropped(page: "Image", style: Style, *, is_last: bool) -> "Image":
    """Crop an 8-bit grey page by its style; the paper's grey is the median of its first 2 x 2 pixels."""
    width, height = page.size
    right, bottom = _marks(page)
    if style.crop_width and right:
        width = min(width, right + style.pixels(style.margin_x_pt))
    if style.crop_last_page and is_last and bottom:
        height = min(height, bottom + style.pixels(style.margin_y_pt))
    return page.crop((0, 0, width, height))


def _marks(page: "Image") -> tuple[int, int]:
    """The right and lower end of the marks; 0 and 0 on a blank page."""
    corner = page.crop((0, 0, min(2, page.width), min(2, page.height)))
    paper = median(corner.tobytes())
    box = page.point([255 if abs(grey - paper) > _DIFFERENCE else 0 for grey in range(256)]).getbbox()
    return (box[2], box[3]) if box else (0, 0)


_IDEOGRAPHS = "\u2e80-\u312f\u3190-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff9f\U00020000-\U0003ffff"
_CLOSING = "、。，．：；？！）］｝〕】」』〉》〗〙…‥・’”ーぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ々ゝゞヽヾ"
_OPENING = "（［｛〔【「『〈《〖〘‘“"
_PIECE = re.compile(
    rf" +|[{_OPENING}]*[{_IDEOGRAPHS}][{_CLOSING}]*|[^ {_IDEOGRAPHS}{_OPENING}]+[{_CLOSING}]*|[{_OPENING}]"
)
"""A line may break between two of these: at spaces and around ideographs, but not before closing punctuation."""
_MARK = re.compile(r"[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0e31-\u0e3a\u0e47-\u0e4e]")
_WORD = 400
"""A word with this many characters isn't measured whole: it is wider than a page, and may have a million."""
_DESCENT = 0.3
"""The depth below the baseline in ems (Noto Sans: 0.293)."""
_ASCENT = 1.0


class TextLine(Struct, frozen=True):
    """One line; `x_pt` is its start, `right_to_left` the direction of its paragraph."""

    text: str
    x_pt: float
    width_pt: float
    right_to_left: bool


class Page(Struct, frozen=True):
    """The lines of one page; `is_cut` if `max_pages` ends the document here although there is more text."""

    number: int
    lines: list[TextLine]
    is_last: bool
    is_cut: bool = False


class Layout:
    """Breaks texts into pages of one style."""

    def __init__(self, style: Style, setter: Typesetter) -> None:
        self._style = style
        self._setter = setter
        self._room_em = (style.page_width_pt - 2 * style.margin_x_pt) / style.font_size_pt
        self.lines_a_page = lines_a_page(style)

    def pages(self, text: str) -> Iterator[Page]:
        """Yield the pages of a text, at most the style's `max_pages`."""
        lines = self._lines(text)
        following = list(islice(lines, self.lines_a_page))
        for number in count(1):
            page, following = following, list(islice(lines, self.lines_a_page))
            is_cut = bool(following) and number == self._style.max_pages
            yield Page(number, page, is_last=is_cut or not following, is_cut=is_cut)
            if is_cut or not following:
                return

    def _lines(self, text: str) -> Iterator[TextLine]:
        for paragraph in text.strip("\n").rstrip().split("\n"):
            left = runs_left(paragraph)
            for line in self._break(paragraph):
                yield self._place(line, left)

    def _place(self, text: str, right_to_left: bool) -> TextLine:
        style = self._style
        width_pt = sum(map(self._setter.width_em, _PIECE.findall(text))) * style.font_size_pt
        x_pt = style.page_width_pt - style.margin_x_pt - width_pt if right_to_left else style.margin_x_pt
        return TextLine(text, x_pt, width_pt, right_to_left)

    def _break(self, paragraph: str) -> Iterator[str]:
        """Break a paragraph; its indent stays unless it leaves less than half a line."""
        start = end = 0
        x_em = 0.0
        for match in _PIECE.finditer(paragraph):
            at, stop = match.span()
            if paragraph[at] == " ":
                x_em += (stop - at) * self._setter.width_em(" ")
                continue
            width_em = self._width_em(paragraph, at, stop)
            if end > start and x_em + width_em > self._room_em:
                yield paragraph[start:end]
                start, x_em = at, 0.0
            elif end == start and x_em > self._room_em / 2:
                start, x_em = at, 0.0
            while x_em + width_em > self._room_em:
                at += self._count_fitting(paragraph, at, stop, self._room_em - x_em)
                yield paragraph[start:at]
                start, x_em = at, 0.0
                width_em = self._width_em(paragraph, at, stop)
            x_em += width_em
            end = stop
        yield paragraph[start:end] if end > start else ""

    def _width_em(self, text: str, start: int, end: int) -> float:
        return self._setter.width_em(text[start:end]) if end - start < _WORD else float("inf")

    def _count_fitting(self, text: str, start: int, end: int, room_em: float) -> int:
        """The number of characters of a word, with their marks, that fit into `room_em`; at least one."""
        at = start
        for advance_em in self._setter.advances_em(text[start : min(end, start + 10 * _WORD)]):
            room_em -= advance_em
            if room_em < 0:
                break
            at += 1
        while at > start + 1 and _MARK.match(text, at):
            at -= 1
        return max(at - start, 1)


def lines_a_page(style: Style) -> int:
    """The number of lines between the margins, at least one."""
    room_pt = style.page_height_pt - 2 * style.margin_y_pt - (_ASCENT + _DESCENT) * style.font_size_pt
    return max(1, int(room_pt // style.line_height_pt) + 1)


def baseline_pt(style: Style, line: int) -> float:
    """The baseline of a page's line, counted from 0, in points from the top."""
    return style.margin_y_pt + _ASCENT * style.font_size_pt + line * style.line_height_pt


def boxes(page: Page, style: Style) -> Iterator[tuple[TextLine, tuple[int, int, int, int]]]:
    """Yield each visible line with its box in pixels: left, top, right, bottom."""
    for at, line in enumerate(page.lines):
        if line.text.strip():
            y_pt = baseline_pt(style, at)
            yield (
                line,
                (
                    style.pixels(line.x_pt),
                    style.pixels(y_pt - _ASCENT * style.font_size_pt),
                    style.pixels(line.x_pt + line.width_pt),
                    style.pixels(y_pt + _DESCENT * style.font_size_pt),
                ),
            )


_WHITE = 0xFFFFFFFF


class Canvas:
    """One PDF document in memory; it has a page only while that is drawn, and a font as long as the process lives."""

    def __init__(self) -> None:
        import pypdfium2.raw as pdf  # importing the package starts PDFium

        self._pdf = pdf
        self._document = pdf.FPDF_CreateNewDocument()
        self._fonts: dict[Face, Any] = {}

    def draw(self, page: Page, style: Style, script: Script) -> "Image":
        """Draw a whole page, 8-bit grey."""
        faces, setter = typesetter(style.font, script)
        sheet = self._pdf.FPDFPage_New(self._document, 0, style.page_width_pt, style.page_height_pt)
        try:
            for at, line in enumerate(page.lines):
                y_pt = style.page_height_pt - baseline_pt(style, at)
                for run in setter.runs(line.text, right_to_left=line.right_to_left):
                    self._put(sheet, faces, run, style.font_size_pt, line.x_pt, y_pt)
            return self._pixels(sheet, style)
        finally:
            self._pdf.FPDF_ClosePage(sheet)
            self._pdf.FPDFPage_Delete(self._document, 0)

    def _put(self, sheet: Any, faces: Chain, run: GlyphRun, size_pt: float, x_pt: float, y_pt: float) -> None:
        text = self._pdf.FPDFPageObj_CreateTextObj(self._document, self._font(faces, run.face), size_pt)
        glyphs = (ctypes.c_uint32 * len(run.glyphs)).from_buffer(run.glyphs)
        self._pdf.FPDFText_SetCharcodes(text, glyphs, len(run.glyphs))
        x_pt, y_pt = x_pt + run.x_em * size_pt, y_pt + run.y_em * size_pt
        self._pdf.FPDFPageObj_Transform(text, 1, 0, 0, 1, x_pt, y_pt)
        self._pdf.FPDFPage_InsertObject(sheet, text)

    def _font(self, faces: Chain, index: int) -> Any:
        """Load a font whose character codes are glyph numbers."""
        face = faces.faces[index]
        font = self._fonts.get(face)
        if font is None:
            data = face.alone()
            copied = (ctypes.c_ubyte * len(data)).from_buffer_copy(data)
            font = self._pdf.FPDFText_LoadFont(self._document, copied, len(data), self._pdf.FPDF_FONT_TRUETYPE, True)
            if not font:
                raise UsageError(f"the font {face.name} can't be drawn", hint="give another .ttf or .otf file")
            self._fonts[face] = font
        return font

    def _pixels(self, sheet: Any, style: Style) -> "Image":
        from PIL import Image

        width, height = style.pixels(style.page_width_pt), style.pixels(style.page_height_pt)
        # A grey bitmap would be faster, but there PDFium rounds letters to whole pixels: uneven gaps within words.
        bitmap = self._pdf.FPDFBitmap_CreateEx(width, height, self._pdf.FPDFBitmap_BGRx, None, 0)
        if not bitmap:
            raise UsageError(f"a page of {width} x {height} pixels is too large", hint="give a smaller --dpi")
        try:
            self._pdf.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, _WHITE)
            self._pdf.FPDF_RenderPageBitmap(bitmap, sheet, 0, 0, width, height, 0, 0)
            stride = self._pdf.FPDFBitmap_GetStride(bitmap)
            pixels = ctypes.string_at(self._pdf.FPDFBitmap_GetBuffer(bitmap), stride * height)
            return Image.frombuffer("RGBX", (width, height), pixels, "raw", "RGBX", stride, 1).getchannel("G")
        finally:
            self._pdf.FPDFBitmap_Destroy(bitmap)


@cache
def canvas() -> Canvas:
    """This process's document."""
    return Canvas()


@cache
def typesetter(font: str, script: Script) -> tuple[Chain, Typesetter]:
    """The typesetter for a style and a document's script, kept for the life of the process."""
    faces = chain(font, script)
    return faces, Typesetter(faces)
