"""Any size from one pixel up, any file: uint8 RGB of the same size comes out."""

import io
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.images.corruptions.drawings import corrupted_png, drawn
from tests.images.pictures import encoded, spotted, turned, veiled
from vqa_client.errors import QuestionFailed, UsageError
from vqa_client.images.corruptions.codec import corrupt
from vqa_client.images.corruptions.table import CORRUPTIONS, PROFILES, Profile

SIZES = ((1, 1), (1, 2), (2, 1), (3, 3), (5, 4), (7, 300), (300, 7), (33, 33), (224, 224), (321, 241))
ROWS = [(profile, name) for profile in PROFILES for name in CORRUPTIONS]


def check(pixels: Any, profile: Profile, name: str, level: int) -> None:
    made = corrupt(pixels, name, level, profile=profile, seed=level)
    assert made.dtype == np.uint8
    height, width = pixels.shape[:2]
    if (profile, name) == ("vqa-vrb", "pixelate"):
        scale = (0.6, 0.5, 0.4, 0.3, 0.15)[level - 1]
        assert made.shape == (max(1, int(height * scale)), max(1, int(width * scale)), 3)
    else:
        assert made.shape == pixels.shape


@pytest.mark.parametrize(("profile", "name"), ROWS)
def test_the_size_stays(profile: Profile, name: str) -> None:
    for width, height in SIZES:
        before = drawn(width, height)
        kept = before.copy()
        for level in CORRUPTIONS[name].levels(profile):
            check(before, profile, name, level)
        assert (before == kept).all()


@settings(max_examples=60)
@given(
    st.integers(1, 40), st.integers(1, 40), st.sampled_from(ROWS), st.integers(1, 5), st.sampled_from([0, 1, 128, 255])
)
def test_no_small_or_even_picture_is_too_odd(
    width: int, height: int, row: tuple[Profile, str], level: int, value: int
) -> None:
    profile, name = row
    check(np.full((height, width, 3), value, np.uint8), profile, name, min(level, CORRUPTIONS[name].levels()[-1]))


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_level_0_is_the_picture_itself(name: str) -> None:
    assert (corrupt(drawn(), name, 0, seed=1) == drawn()).all()


def pixels_of(png: bytes) -> Any:
    with Image.open(io.BytesIO(png)) as picture:
        assert (picture.format, picture.mode) == ("PNG", "RGB")
        return np.asarray(picture)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "I;16"])
def test_files_of_all_kinds_of_pixels_become_rgb(mode: str) -> None:
    picture = veiled(mode, 255) if mode in ("RGBA", "LA") else spotted("L" if mode == "I;16" else mode)
    if mode == "I;16":
        picture = Image.fromarray(np.asarray(picture).astype(np.uint16) * 257)
    data = encoded(picture, "PNG")
    made = pixels_of(corrupted_png(data, name="gaussian_noise", level=0, seed=0))
    expected = spotted({"LA": "L", "I;16": "L", "RGBA": "RGB"}.get(mode, mode))
    assert (made == np.asarray(expected.convert("RGB"))).all()
    assert pixels_of(corrupted_png(data, name="snow", level=5, seed=0)).shape == made.shape


def test_a_turned_photograph_is_corrupted_upright() -> None:
    upright = pixels_of(corrupted_png(encoded(spotted(), "PNG"), name="contrast", level=1, seed=0))
    made = pixels_of(corrupted_png(turned("PNG", 6), name="contrast", level=1, seed=0))
    assert (made == np.rot90(upright, -1)).all()


def test_what_can_be_seen_through_is_white() -> None:
    made = pixels_of(corrupted_png(encoded(veiled(), "PNG"), name="defocus_blur", level=0, seed=0))
    assert (made[:, 0] == 255).all()


@pytest.mark.parametrize(("data", "told"), [(b"", "empty"), (b"%PDF-1.7", "PDF"), (encoded(spotted(), "PNG")[:80], "")])
def test_a_file_that_is_no_image_is_named(data: bytes, told: str) -> None:
    with pytest.raises(QuestionFailed, match=rf"page_7\.png.*{told}") as failed:
        corrupted_png(data, name="snow", level=1, seed=0, path="page_7.png")
    assert failed.value.status == "bad_image"


def test_a_side_that_the_library_cannot_take_makes_a_bad_image_of_it() -> None:
    data = encoded(Image.new("RGB", (33_000, 1)), "PNG")
    with pytest.raises(QuestionFailed, match="elastic can't be made at 33000x1"):
        corrupted_png(data, name="elastic", level=1, seed=0)
    assert corrupted_png(data, name="gaussian_noise", level=1, seed=0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": "gausian_noise"}, "gaussian_noise"),
        ({"name": "fog"}, "fog"),
        ({"level": 6}, "from 0 to 5"),
        ({"level": -1}, "level -1"),
        ({"name": "grayscale", "level": 2}, "from 0 to 1"),
        ({"profile": "imagenet"}, "imagenet-c"),
        ({"pixels": np.zeros((4, 4), np.uint8)}, r"\(4, 4\)"),
        ({"pixels": np.zeros((4, 4, 4), np.uint8)}, r"\(4, 4, 4\)"),
        ({"pixels": np.zeros((4, 4, 3))}, "float64"),
        ({"pixels": np.zeros((0, 4, 3), np.uint8)}, r"\(0, 4, 3\)"),
    ],
)
def test_what_there_is_not_is_said(change: dict[str, Any], told: str) -> None:
    asked: dict[str, Any] = {"pixels": drawn(), "name": "snow", "level": 1, "seed": 0, **change}
    with pytest.raises(UsageError) as error:
        corrupt(asked.pop("pixels"), asked.pop("name"), asked.pop("level"), **asked)
    assert re.search(told, f"{error.value} {error.value.hint}")
