"""PNG files of corrupted pictures: without loss, and small where that costs nothing."""

from io import BytesIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from vqa_client.images.corruptions import codec
from vqa_client.images.corruptions.pixels import rounded

NAMES = st.sampled_from(["shot_noise", "snow"])


def read_back(encoded: bytes) -> Any:
    with Image.open(BytesIO(encoded)) as picture:
        return np.asarray(picture)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 40),
    st.sampled_from([1, 7, 256]),
    st.sampled_from(["shot_noise", "snow"]),
    st.integers(0, 9),
)
def test_nothing_is_lost_at_any_size(height: int, width: int, shades: int, name: str, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, shades, (height, width, 3), np.uint8)
    assert (read_back(codec.encoded_png(pixels, name)) == pixels).all()


def test_a_page_is_searched_for_repetitions_and_a_photograph_is_not() -> None:
    page = np.full((400, 300, 3), 255, np.uint8)
    page[50:60, 20:280] = 0
    assert len(codec.encoded_png(page, "snow")) < page.nbytes // 100
    photograph = np.random.default_rng(1).normal(120, 9, (400, 300, 3)).astype(np.uint8)
    assert len(codec.encoded_png(photograph, "snow")) < photograph.nbytes


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (1, 1, 3), (4, 1), (1, 4), (2, 2, 3), (623, 3)])
def test_rounding_is_to_the_nearest_and_halves_to_even(kind: Any, shape: tuple[int, ...]) -> None:
    cycle = np.array([-1e9, -0.6, -0.5, 0.5, 1.5, 2.4999, 2.5, 254.5, 255.4, 255.5, 256, 1e9], kind)
    values = np.resize(cycle, shape)
    made = rounded(values)
    assert made.shape == shape
    assert made.dtype == np.uint8
    assert (made == np.rint(np.clip(values, 0, 255)).astype(np.uint8)).all()
