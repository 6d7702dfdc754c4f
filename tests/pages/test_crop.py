from PIL import Image

from tests.pages.typefaces import SMALL
from vqa_client.pages.layout import Style, cropped


def paper(grey: int = 255, mark: tuple[int, int] | None = None, ink: int = 0) -> Image.Image:
    sheet = Image.new("L", (200, 80), grey)
    if mark:
        sheet.putpixel(mark, ink)
    return sheet


def test_a_margin_stays_right_of_the_last_mark_and_below_it_on_the_last_page_alone() -> None:
    assert cropped(paper(mark=(100, 30)), SMALL, is_last=True).size == (111, 41)
    assert cropped(paper(mark=(100, 30)), SMALL, is_last=False).size == (111, 80)


def test_a_page_is_never_made_larger() -> None:
    assert cropped(paper(mark=(199, 79)), SMALL, is_last=True).size == (200, 80)


def test_a_blank_page_stays_whole() -> None:
    assert cropped(paper(), SMALL, is_last=True).size == (200, 80)


def test_a_mark_differs_by_more_than_five_greys_from_the_paper() -> None:
    assert cropped(paper(200, (50, 20), 205), SMALL, is_last=True).size == (200, 80)
    assert cropped(paper(200, (50, 20), 206), SMALL, is_last=True).size == (61, 31)


def test_both_crops_can_be_left_out() -> None:
    style = Style(dpi=72, page_width_pt=200, page_height_pt=80, crop_width=False, crop_last_page=False)
    assert cropped(paper(mark=(100, 30)), style, is_last=True).size == (200, 80)
