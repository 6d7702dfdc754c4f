from io import BytesIO
from pathlib import Path

import msgspec
import pytest
from PIL import Image

from tests.pages.typefaces import SMALL, images, pages, render
from vqa_client.pages.documents import Document
from vqa_client.pages.estimate import TOKEN_SIDES, PageEstimate, _jobs, estimate, size_pixels, tokens

LONG = "\n".join(f"line {number} of some length" for number in range(23))
TEXTS = {"d1": LONG, "d2": "one line", "d3": LONG * 4}


def expected(style=SMALL) -> PageEstimate:
    documents = [Document(id=name, text=text) for name, text in TEXTS.items()]
    return estimate(documents, style, workers=1, advance=lambda _: None)


def test_as_many_pages_are_expected_as_are_made_and_nearly_as_many_bytes_and_tokens(tmp_path: Path) -> None:
    rendered, found = render(tmp_path, TEXTS), expected()
    assert (found.documents, found.pages) == (rendered.documents, rendered.pages)
    assert found.size_bytes == pytest.approx(rendered.size_bytes, rel=0.25)
    assert found.sampled == 3 + 1 + 5, "pages 1, 2, 4, 8 and 16 of each document"
    made = [Image.open(BytesIO(page)).size for page in images(tmp_path).values()]
    laid_out = [size_pixels(page, SMALL) for text in TEXTS.values() for page in pages(text)]
    for rule, side in TOKEN_SIDES.items():
        assert found.tokens[rule] == sum(tokens(*size, side) for size in laid_out)
        assert found.tokens[rule] == pytest.approx(sum(tokens(*size, side) for size in made), rel=0.1)


CUT = {(True, True): (61, 34), (True, False): (61, 92), (False, True): (200, 34), (False, False): (200, 92)}
"""The sides of a page with one short line, with its width or the end of the last page cropped or not."""


@pytest.mark.parametrize("crops", CUT)
def test_pages_are_measured_as_they_are_cropped(crops: tuple[bool, bool]) -> None:
    style = msgspec.structs.replace(SMALL, crop_width=crops[0], crop_last_page=crops[1])
    (short,) = pages("one line", style)
    assert size_pixels(short, style) == pytest.approx(CUT[crops], abs=3)
    (blank,) = pages("", style)
    assert size_pixels(blank, style) == (200, 92)


def test_pages_of_the_first_32_documents_are_drawn() -> None:
    documents = [Document(id=str(number), text="x") for number in range(34)]
    assert [job.is_sampled for job in _jobs(documents, SMALL)] == [True] * 32 + [False] * 2


def test_max_pages_counts() -> None:
    assert expected(msgspec.structs.replace(SMALL, max_pages=2)).pages == 5


@pytest.mark.parametrize(("size", "side", "number"), [((28, 28), 28, 1), ((793, 1123), 28, 28 * 40), ((5, 5), 32, 1)])
def test_a_token_is_a_square_of_pixels_and_no_picture_has_none(size: tuple[int, int], side: int, number: int) -> None:
    assert tokens(*size, side) == number
