"""Placed glyphs become grey pixels, drawn by PDFium as a PDF viewer draws a page."""

import ctypes
from functools import cache
from typing import TYPE_CHECKING, Any

from vqa_client.errors import UsageError
from vqa_client.pages.fonts import Chain, Face, Script, chain
from vqa_client.pages.layout import Page, Style, baseline_pt
from vqa_client.pages.typeset import Run, Typesetter

if TYPE_CHECKING:
    from PIL.Image import Image

_WHITE = 0xFFFFFFFF


class Canvas:
    """One PDF document in memory; a page lives in it only while it is drawn, a font as long as the process."""

    def __init__(self) -> None:
        import pypdfium2.raw as pdf  # the package around it starts PDFium

        self._pdf = pdf
        self._document = pdf.FPDF_CreateNewDocument()
        self._fonts: dict[Face, Any] = {}

    def draw(self, page: Page, style: Style, script: Script) -> "Image":
        """Draw a page as a whole sheet, 8-bit grey."""
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

    def _put(self, sheet: Any, faces: Chain, run: Run, size_pt: float, x_pt: float, y_pt: float) -> None:
        text = self._pdf.FPDFPageObj_CreateTextObj(self._document, self._font(faces, run.face), size_pt)
        glyphs = (ctypes.c_uint32 * len(run.glyphs)).from_buffer(run.glyphs)
        self._pdf.FPDFText_SetCharcodes(text, glyphs, len(run.glyphs))
        x_pt, y_pt = x_pt + run.x_em * size_pt, y_pt + run.y_em * size_pt
        self._pdf.FPDFPageObj_Transform(text, 1, 0, 0, 1, x_pt, y_pt)
        self._pdf.FPDFPage_InsertObject(sheet, text)

    def _font(self, faces: Chain, index: int) -> Any:
        """A font whose character codes are glyph numbers."""
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
        # A grey bitmap would be faster, but PDFium sets letters in it at whole pixels: uneven gaps within words.
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
    """The canvas of this process."""
    return Canvas()


@cache
def typesetter(font: str, script: Script) -> tuple[Chain, Typesetter]:
    """The faces of a style and a document's script, and what sets text in them; kept for the process's life."""
    faces = chain(font, script)
    return faces, Typesetter(faces)
