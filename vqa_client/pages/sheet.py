"""Draws a contact sheet: pages beside their perturbed forms, as a model sees them."""

import difflib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from vqa_client.errors import UsageError
from vqa_client.images.find import PageFolder
from vqa_client.pages.page_files import image_names, page_bytes, read_page

if TYPE_CHECKING:
    from PIL import Image

Colour = str | tuple[int, int, int]
Spot = tuple[float, float]
Box = tuple[int, int, int, int]
CELL_PX = (420, 380)
CROP_PX = (420, 210)
GAP_PX = 16
LINE_PX = 22
TYPE_PX = 15
MOST_PIXELS = 250_000_000
INK, PALE, MARK, MISSING = "black", (96, 96, 96), (200, 0, 0), (235, 235, 235)


class SheetColumn(Struct, frozen=True, kw_only=True):
    """A folder of pages: its name, and its files by name without suffix."""

    name: str
    files: dict[str, Path]


def column(folder: PageFolder) -> SheetColumn:
    """List a folder's files."""
    names = image_names(folder.path)
    return SheetColumn(name=folder.name, files={os.path.splitext(name)[0]: folder.path / name for name in names})


def chosen(pages: Sequence[str], names: Sequence[str], limit: int) -> list[str]:
    """The pages that are named, by file or document, else `limit` evenly spaced pages.

    Raises UsageError for a name without a page.
    """
    if not names:
        n = min(max(1, limit), len(pages))
        return [pages[(2 * i + 1) * len(pages) // (2 * n)] for i in range(n)]
    return [_page_named(pages, os.path.splitext(name)[0]) for name in names]


def _page_named(pages: Sequence[str], name: str) -> str:
    matches = [page for page in pages if page == name] or [page for page in pages if page.startswith(name)]
    if not matches:
        near = difflib.get_close_matches(name, pages, cutoff=0.0)
        raise UsageError(f"--page {name!r}: no page of that name", hint=f"the nearest is {near[0]}" if near else "")
    return matches[0]


def contact_sheet(columns: Sequence[SheetColumn], pages: Sequence[str]) -> "Image.Image":
    """Draw one row per page and one column per folder: the whole page, and below it a crop at full resolution.

    Raises UsageError for a sheet that is too large, DataError for a page that can't be read.
    """
    from PIL import Image

    step = CELL_PX[0] + GAP_PX, CELL_PX[1] + CROP_PX[1] + 2 * LINE_PX + 2 * GAP_PX
    size = len(columns) * step[0] + GAP_PX, len(pages) * step[1] + LINE_PX + GAP_PX
    if size[0] * size[1] > MOST_PIXELS:
        message = f"{len(pages)} pages in {len(columns)} forms make a sheet of {size[0]:,} x {size[1]:,} pixels"
        raise UsageError(message, hint="choose fewer pages with --page or --limit")
    sheet = Image.new("RGB", size, "white")
    pen = _Pen(sheet)
    for at, shown in enumerate(columns):
        pen.write((GAP_PX + at * step[0], GAP_PX // 2), shown.name, INK)
    for row, page in enumerate(pages):
        top = LINE_PX + GAP_PX + row * step[1]
        pen.write((GAP_PX, top), page, PALE)
        spot: Spot | None = None
        for at, shown in enumerate(columns):
            spot = pen.cell((GAP_PX + at * step[0], top + LINE_PX), shown.files.get(page), spot)
    return sheet


class _Pen:
    """Draws one sheet."""

    def __init__(self, sheet: "Image.Image") -> None:
        from PIL import ImageDraw, ImageFont

        self.sheet, self.draw = sheet, ImageDraw.Draw(sheet)
        self.font = ImageFont.load_default(TYPE_PX)

    def write(self, at: tuple[int, int], text: str, colour: Colour) -> None:
        while text and self.font.getlength(text) > CELL_PX[0]:
            text = text[:-2].rstrip("…") + "…"
        self.draw.text(at, text, fill=colour, font=self.font)

    def cell(self, at: tuple[int, int], path: Path | None, spot: Spot | None) -> Spot | None:
        """Draw a page and a crop of it; `spot` is the crop's middle, chosen here if it is None."""
        if path is None:
            self.draw.rectangle((*at, at[0] + CELL_PX[0], at[1] + CELL_PX[1] + CROP_PX[1]), fill=MISSING)
            self.write((at[0] + GAP_PX, at[1] + GAP_PX), "no such page", MARK)
            return spot
        page = read_page(page_bytes(path), str(path))
        spot = spot or _most_ink(page)
        box = _box_around(spot, page.size)
        self._draw_page(at, page, box)
        below = at[1] + CELL_PX[1] + GAP_PX
        self.sheet.paste(page.crop(box), (at[0], below))
        self.draw.rectangle((at[0], below, at[0] + box[2] - box[0] - 1, below + box[3] - box[1] - 1), outline=MARK)
        caption = f"{page.width} x {page.height} px, {path.stat().st_size / 1000:,.0f} KB"
        self.write((at[0], below + CROP_PX[1] + 2), caption, PALE)
        return spot

    def _draw_page(self, at: tuple[int, int], page: "Image.Image", box: Box) -> None:
        small = page.copy()
        small.thumbnail(CELL_PX)
        self.sheet.paste(small, at)
        self.draw.rectangle((*at, at[0] + small.width - 1, at[1] + small.height - 1), outline=PALE)
        x, y = small.width / page.width, small.height / page.height
        self.draw.rectangle(
            (at[0] + box[0] * x, at[1] + box[1] * y, at[0] + box[2] * x - 1, at[1] + box[3] * y - 1), outline=MARK
        )


def _most_ink(page: "Image.Image") -> Spot:
    """The middle of the crop with the most ink, as shares of the page's sides."""
    from PIL import Image

    left, top = max(1, page.width - CROP_PX[0]), max(1, page.height - CROP_PX[1])
    places = [(left * x // 4, top * y // 8) for y in range(9) for x in range(5)]
    small = page.convert("L").resize((page.width // 4 or 1, page.height // 4 or 1), Image.Resampling.BOX)
    x, y = min(places, key=lambda place: _mean(small, place))
    return (x + CROP_PX[0] / 2) / page.width, (y + CROP_PX[1] / 2) / page.height


def _mean(quarter: "Image.Image", place: tuple[int, int]) -> float:
    from PIL import ImageStat

    x, y = place[0] // 4, place[1] // 4
    right, bottom = min(quarter.width, x + CROP_PX[0] // 4), min(quarter.height, y + CROP_PX[1] // 4)
    return float(ImageStat.Stat(quarter.crop((x, y, right, bottom))).mean[0]) if right > x and bottom > y else 255.0


def _box_around(spot: Spot, size: tuple[int, int]) -> Box:
    """A crop of CROP_PX, or of the whole side if that is shorter, inside the page and around the spot."""
    width, height = min(CROP_PX[0], size[0]), min(CROP_PX[1], size[1])
    left = min(max(0, round(spot[0] * size[0] - width / 2)), size[0] - width)
    top = min(max(0, round(spot[1] * size[1] - height / 2)), size[1] - height)
    return left, top, left + width, top + height
