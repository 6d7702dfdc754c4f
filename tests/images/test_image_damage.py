"""A bad file is one bad record: never another exception, and never a file sent that a decoder could not read."""

import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from tests.images.pictures import corpus, encoded, opened, raw_png, spotted
from vqa_client.images.decide import RefusedImage, read_and_decide
from vqa_client.images.steps import Recipe
from vqa_client.types import Image

RECIPES = (Recipe(), Recipe(max_pixels=100, image_format="jpeg", image_quality=70))


def decided(folder: Path, data: bytes, recipe: Recipe = RECIPES[0]) -> Image | RefusedImage:
    path = folder / "page.png"
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdict = read_and_decide(str(path), recipe, decode=True)[1]
    assert verdict is not None
    return verdict


def loads(data: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            opened(data)
        except Exception:
            return False
    return True


@pytest.mark.parametrize("name", ["jpeg", "png RGB", "webp", "gif", "bmp", "tiff lzw"])
def test_half_a_file_is_refused_with_its_path(tmp_path: Path, name: str) -> None:
    verdict = decided(tmp_path, corpus()[name][: len(corpus()[name]) // 2])
    assert isinstance(verdict, RefusedImage)
    assert verdict.message.startswith(f"{tmp_path / 'page.png'}: can't be decoded: ")
    assert verdict.hint == "the file is damaged or cut; fetch it again"


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(corpus())), st.data())
def test_a_file_cut_anywhere_is_refused_or_sent_whole(tmp_path: Path, name: str, data: st.DataObject) -> None:
    whole = corpus()[name]
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    verdict = decided(tmp_path, cut, data.draw(st.sampled_from(RECIPES)))
    assert isinstance(verdict, RefusedImage) or loads(verdict.data or cut)


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(corpus())), st.data())
def test_a_damaged_file_is_refused_or_sent(tmp_path: Path, name: str, data: st.DataObject) -> None:
    damaged = bytearray(corpus()[name])
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    decided(tmp_path, bytes(damaged), data.draw(st.sampled_from(RECIPES)))


def test_a_png_with_a_flipped_bit_is_never_sent_as_it_is(tmp_path: Path) -> None:
    whole = encoded(spotted(), "PNG")
    for at in range(8, len(whole), 7):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        verdict = decided(tmp_path, bytes(damaged))
        assert isinstance(verdict, RefusedImage) or verdict.data is not None


@pytest.mark.parametrize(
    "data",
    [
        raw_png(60_000, 8, 0, b"").replace(b"\0\0\xea\x60\0\0\0\1", b"\0\0\xea\x60\0\0\xea\x60"),
        b"P5\n60000 60000\n255\n",
    ],
    ids=["PNG", "PPM"],
)
def test_a_decompression_bomb_is_refused(tmp_path: Path, data: bytes) -> None:
    verdict = decided(tmp_path, data)
    assert isinstance(verdict, RefusedImage)
    assert verdict.message.endswith(": has 60000x60000 pixels; servers take at most 178,956,970")
    assert verdict.hint == "make it smaller first; a run shrinks it with --max_pixels N"


def test_a_format_without_a_decoder_here_says_so(tmp_path: Path) -> None:
    verdict = decided(tmp_path, b"\xff\x0a" + bytes(100))
    assert isinstance(verdict, RefusedImage)
    assert verdict.message.endswith(": is JXL, which can't be decoded here")
    assert verdict.hint == "convert it to PNG or JPEG"


@pytest.mark.parametrize(
    ("data", "recipe", "said", "hint"),
    [
        (
            encoded(Pillow.new("LAB", (3, 3)), "TIFF"),
            RECIPES[0],
            "has pixels of a rare kind (LAB)",
            "convert it to 8-bit RGB",
        ),
        (
            encoded(Pillow.new("L", (16_384, 1)), "PNG"),
            Recipe(image_format="webp"),
            "can't be encoded as webp at 16384x1: encoding error 5: Image size exceeds WebP limit of 16383 pixels",
            "ask for another image format or fewer pixels",
        ),
    ],
)
def test_pixels_that_can_not_be_sent_are_named(
    tmp_path: Path, data: bytes, recipe: Recipe, said: str, hint: str
) -> None:
    verdict = decided(tmp_path, data, recipe)
    assert isinstance(verdict, RefusedImage)
    assert (verdict.message, verdict.hint) == (f"{tmp_path / 'page.png'}: {said}", hint)


@pytest.mark.skipif(sys.platform != "linux", reason="a file of Linux whose size is 0")
def test_a_file_that_grows_while_it_is_read_is_asked_again() -> None:
    key, verdict = read_and_decide("/proc/version", RECIPES[0], decode=True)
    assert isinstance(verdict, RefusedImage)
    size = len(Path("/proc/version").read_bytes())
    assert verdict.message == f"/proc/version: can't be read: it changed from 0 to {size} bytes meanwhile"
    assert (key, verdict.hint, verdict.transient) == (None, "the same command asks this question again", True)


def test_what_takes_too_much_memory_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("vqa_client.images.recode._decode", full)
    verdict = decided(tmp_path, corpus()["bmp"])
    assert isinstance(verdict, RefusedImage)
    assert verdict.message.endswith(": can't be decoded: memory ran out")
    assert (verdict.hint, verdict.transient) == ("free some memory, or make the image smaller first", True)


@pytest.mark.parametrize("recipe", RECIPES, ids=["unasked", "smaller"])
def test_the_first_page_of_a_tiff_is_sent_though_a_later_one_is_cut(tmp_path: Path, recipe: Recipe) -> None:
    whole = corpus()["moving TIFF"]
    verdicts = [decided(tmp_path, whole[:length], recipe) for length in range(len(whole) // 2, len(whole), 40)]
    sent = [verdict for verdict in verdicts if isinstance(verdict, Image)]
    assert sent
    assert all(image.transforms[0] == "first_frame" and image.data and loads(image.data) for image in sent)
