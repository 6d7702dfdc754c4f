import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter

from tests.pages.sheets_of_paper import paper
from vqa_client.errors import DataError
from vqa_client.pages.page_files import png, read_page, stamp_of
from vqa_client.pages.perturbations import parse, perturbed

CHANCE = bytes(range(32))


def after(spec: str, page: Image.Image, chance: bytes = CHANCE) -> Image.Image:
    return perturbed(page, parse(spec), chance)


def reencoded(page: Image.Image, kind: str, quality: int) -> Image.Image:
    buffer = io.BytesIO()
    page.save(buffer, kind, quality=quality)
    return Image.open(buffer).convert(page.mode)


@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize(("spec", "kind", "quality"), [("jpeg:10", "JPEG", 10), ("webp:20", "WEBP", 20)])
def test_compression_is_that_of_the_format_at_its_quality(spec: str, kind: str, quality: int, mode: str) -> None:
    page = paper(mode=mode)
    made = after(spec, page)
    assert (made.mode, made.size, made.tobytes()) == (mode, page.size, reencoded(page, kind, quality).tobytes())
    assert made.tobytes() != page.tobytes()


def test_binary_is_one_bit_white_above_128() -> None:
    ramp = Image.frombytes("L", (256, 1), bytes(range(256)))
    made = after("binary", ramp)
    assert made.mode == "1"
    assert list(made.convert("L").tobytes()) == [0] * 129 + [255] * 127


def test_gaussian_noise_has_the_published_spread() -> None:
    page = Image.new("L", (400, 400), 128)
    noise = np.asarray(after("noise:gaussian:0.2", page), float) - 128
    assert noise.std() == pytest.approx(0.2 * 128, rel=0.01)
    assert abs(noise.mean()) < 0.2


def test_salt_and_pepper_turns_half_of_the_share_black_and_half_white() -> None:
    values = np.asarray(after("noise:salt_and_pepper:0.2", Image.new("RGB", (300, 300), (120, 130, 140))))
    assert {tuple(pixel) for pixel in values.reshape(-1, 3).tolist()} == {(0, 0, 0), (120, 130, 140), (255, 255, 255)}
    assert (values[..., 0] == 0).mean() == pytest.approx(0.1, abs=0.01)
    assert (values[..., 0] == 255).mean() == pytest.approx(0.1, abs=0.01)


def test_noise_is_decided_by_its_digest_alone() -> None:
    page = paper()
    assert after("noise", page).tobytes() == after("noise", page).tobytes()
    assert after("noise", page).tobytes() != after("noise", page, CHANCE[::-1]).tobytes()


@pytest.mark.parametrize(
    ("grey", "noisy"), [(128, [147, 201, 129, 110, 255, 125, 197, 188]), (0, [19, 73, 1, 0, 137, 0, 69, 60])]
)
def test_noise_is_the_same_with_every_numpy_and_ends_at_black_and_white(grey: int, noisy: list[int]) -> None:
    assert list(after("noise:gaussian:0.5", Image.new("L", (4, 2), grey)).tobytes()) == noisy


def test_blur_and_resampling_keep_the_size() -> None:
    page = paper()
    assert after("blur", page).tobytes() == page.filter(ImageFilter.GaussianBlur(1.25)).tobytes()
    small = page.resize((120, 60), Image.Resampling.BICUBIC)
    assert after("resample:bicubic:0.5", page).tobytes() == small.resize(page.size, Image.Resampling.BICUBIC).tobytes()
    assert after("resample:nearest:0.01", Image.new("L", (9, 9))).size == (9, 9)


@pytest.mark.parametrize(
    ("stored", "read"), [("1", "L"), ("L", "L"), ("P", "RGB"), ("RGB", "RGB"), ("RGBA", "RGB"), ("LA", "RGB")]
)
def test_pages_of_any_mode_are_read_as_grey_or_rgb(stored: str, read: str) -> None:
    buffer = io.BytesIO()
    paper(mode="RGB").convert(stored).save(buffer, "PNG")
    page = read_page(buffer.getvalue(), "page.png")
    assert page.mode == read
    assert page.getpixel((239, 119)) in (255, (255, 255, 255))


def test_a_palette_of_greys_is_grey() -> None:
    page = Image.frombytes("P", (2, 1), b"\0\1")
    page.putpalette([0, 0, 0, 200, 200, 200])
    buffer = io.BytesIO()
    page.save(buffer, "PNG")
    assert (read_page(buffer.getvalue(), "p").mode, read_page(buffer.getvalue(), "p").tobytes()) == ("L", b"\0\xc8")


@pytest.mark.parametrize("data", [b"", b"no image", png(paper())[:-40], b"%PDF-1.4"])
def test_a_file_that_is_no_whole_image_is_named(data: bytes) -> None:
    with pytest.raises(DataError, match=r"dir/page\.png"):
        read_page(data, "dir/page.png")


def test_a_png_says_what_it_was_made_from_unless_it_is_cut() -> None:
    data = png(paper(), "made of this")
    assert stamp_of(data) == "made of this"
    assert png(paper(), "made of this") == data
    assert stamp_of(data[:-1]) == ""
    assert stamp_of(b"") == ""
    assert stamp_of(png(paper())) is None
    assert stamp_of(Path(__file__).read_bytes()) is None
