from pathlib import Path

import pytest
from msgspec.structs import replace
from PIL import Image

from tests.pages.sheets_of_paper import clean_folder, paper
from vqa_client.errors import UsageError
from vqa_client.images.find import PageFolder
from vqa_client.pages import sheet
from vqa_client.pages.sheet import CELL_PX, CROP_PX, GAP_PX, LINE_PX, SheetColumn, chosen, column, contact_sheet

PAGES = [f"d{n}_page_001" for n in range(10)]


def columns(root: Path) -> list[SheetColumn]:
    clean = clean_folder(root, "d1_page_001.png", "d2_page_001.png") / "images"
    large = root / "adv_x"
    large.mkdir()
    paper("ink " * 400, size=(900, 800)).save(large / "d1_page_001.png")
    return [column(PageFolder(name=path.name, path=path)) for path in (clean, large)]


def test_every_page_has_a_row_and_every_folder_a_column(tmp_path: Path) -> None:
    made = contact_sheet(columns(tmp_path), ["d1_page_001", "d2_page_001"])
    assert made.width == 2 * (CELL_PX[0] + GAP_PX) + GAP_PX
    assert made.height > 2 * (CELL_PX[1] + CROP_PX[1])
    assert contact_sheet(columns(tmp_path / "again"), ["d1_page_001", "d2_page_001"]).tobytes() == made.tobytes()


def test_a_long_name_of_a_folder_ends_before_the_next_column(tmp_path: Path) -> None:
    clean, large = columns(tmp_path)
    named = [replace(each, name="w" * 200) for each in (clean, large)]
    made = contact_sheet(named, ["d1_page_001"])
    right = GAP_PX + CELL_PX[0]
    inside, between = (made.crop((x, 0, x + 12, LINE_PX + GAP_PX)).convert("L") for x in (right - 30, right + 4))
    assert inside.getextrema()[0] < 100
    assert between.getextrema() == (255, 255)


def test_a_piece_is_shown_pixel_for_pixel(tmp_path: Path) -> None:
    (_, large) = columns(tmp_path)
    made = contact_sheet([large], ["d1_page_001"])
    top = LINE_PX + GAP_PX + LINE_PX + CELL_PX[1] + GAP_PX
    inner = (GAP_PX + 1, top + 1, GAP_PX + CROP_PX[0] - 1, top + CROP_PX[1] - 1)
    piece = made.crop(inner).convert("L")
    page = Image.frombytes("L", (900, 800), paper("ink " * 400, size=(900, 800)).tobytes())
    found = [
        (x, y)
        for y in range(0, 800 - piece.height)
        for x in (*range(0, 481, 120),)
        if page.crop((x + 1, y, x + 1 + piece.width, y + piece.height)).tobytes() == piece.tobytes()
    ]
    assert found


@pytest.mark.parametrize("spot", [(0.0, 0.0), (0.5, 0.5), (1.0, 0.1), (0.1, 1.0)])
@pytest.mark.parametrize("size", [(900, 800), (50, 900), (900, 20)])
def test_a_piece_lies_inside_its_page_about_the_spot(spot: tuple[float, float], size: tuple[int, int]) -> None:
    box = sheet._box_around(spot, size)
    for side, (part, length, most) in enumerate(zip(spot, size, CROP_PX, strict=True)):
        begin, end = box[side], box[side + 2]
        assert 0 <= begin < end <= length
        assert end - begin == min(length, most)
        assert begin <= round(part * length) <= end


@pytest.mark.parametrize("corner", [(0, 0), (320, 525), (640, 840), (160, 105)])
def test_the_piece_is_the_one_with_the_most_ink(corner: tuple[int, int]) -> None:
    page = Image.new("L", (640 + CROP_PX[0], 840 + CROP_PX[1]), 255)
    box = (*corner, corner[0] + CROP_PX[0], corner[1] + CROP_PX[1])
    page.paste(0, box)
    assert sheet._box_around(sheet._most_ink(page), page.size) == box


def test_frames_and_names_have_their_places_and_colours(tmp_path: Path) -> None:
    (_, large) = columns(tmp_path)
    made = contact_sheet([large], ["d1_page_001"])
    assert made.size == (452, 704)
    seen = [made.getpixel(place) for place in ((16, 60), (435, 432), (16, 456), (435, 665))]
    assert seen == [(96, 96, 96), (96, 96, 96), (200, 0, 0), (200, 0, 0)]
    darkest = [made.crop((16, top, 436, top + 20)).convert("L").getextrema()[0] for top in (6, 37, 667)]
    assert darkest == [0, 96, 96], "the folder's name, the page's, the caption"


def test_a_page_that_a_folder_lacks_is_shown_as_missing(tmp_path: Path) -> None:
    made = contact_sheet(columns(tmp_path), ["d2_page_001"])
    middle = (GAP_PX + CELL_PX[0] + GAP_PX + CELL_PX[0] // 2, LINE_PX + GAP_PX + LINE_PX + CELL_PX[1] // 2)
    assert made.getpixel(middle) == sheet.MISSING == (235, 235, 235)


def test_pages_are_spread_evenly_or_named() -> None:
    assert chosen(PAGES, (), 2) == ["d2_page_001", "d7_page_001"]
    assert chosen(PAGES, (), 99) == PAGES
    assert len(chosen(PAGES, (), 0)) == 1
    assert chosen(PAGES, ("d3", "d1_page_001.png"), 1) == ["d3_page_001", "d1_page_001"]


def test_an_unknown_page_is_named_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="'d1_page_01'") as raised:
        chosen(PAGES, ("d1_page_01",), 1)
    assert raised.value.hint == "the nearest is d1_page_001"


def test_a_sheet_too_large_to_look_at_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="make a sheet of"):
        contact_sheet(columns(tmp_path) * 100, ["d1_page_001"] * 100)
