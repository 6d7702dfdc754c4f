from io import BytesIO
from pathlib import Path

import msgspec
import pytest
from PIL import Image

from tests.pages.typefaces import SMALL, images, render
from vqa_client.pages.documents import Document
from vqa_client.pages.estimate import PageEstimate, estimate, tokens

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
    for rule, side in (("qwen2.5-vl", 28), ("qwen3-vl", 32)):
        assert found.tokens[rule] == pytest.approx(sum(tokens(*size, side) for size in made), rel=0.1)


def test_max_pages_counts() -> None:
    assert expected(msgspec.structs.replace(SMALL, max_pages=2)).pages == 5


@pytest.mark.parametrize(("size", "side", "number"), [((28, 28), 28, 1), ((793, 1123), 28, 28 * 40), ((5, 5), 32, 1)])
def test_a_token_is_a_square_of_pixels_and_no_picture_has_none(size: tuple[int, int], side: int, number: int) -> None:
    assert tokens(*size, side) == number
