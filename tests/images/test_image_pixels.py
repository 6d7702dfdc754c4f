"""What arrives must be the same picture on every server; Pillow's own reading is the oracle where it is right."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image as Pillow
from PIL import ImageOps, features

from tests.images.pictures import (
    HEIGHT,
    WIDTH,
    corpus,
    encoded,
    keyed,
    moving,
    opened,
    png_chunk,
    raw_png,
    spotted,
    turned,
    veiled,
    with_segment,
)
from vqa_client.errors import QuestionFailed
from vqa_client.images.decide import RefusedImage, read_and_decide
from vqa_client.images.steps import Recipe
from vqa_client.types import Image

ASK_NOTHING = Recipe()


def sent(folder: Path, data: bytes, recipe: Recipe = ASK_NOTHING) -> Image:
    path = folder / "page"
    path.write_bytes(data)
    verdict = read_and_decide(str(path), recipe, decode=True)[1]
    if isinstance(verdict, RefusedImage):
        raise verdict.error()
    assert verdict is not None
    return verdict


def pixels(image: Image) -> Pillow.Image:
    assert image.data is not None
    return opened(image.data)


def same(picture: Pillow.Image, other: Pillow.Image) -> bool:
    return picture.size == other.size and picture.convert("RGB").tobytes() == other.convert("RGB").tobytes()


@pytest.mark.parametrize("orientation", range(2, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_turned_picture_is_sent_upright_and_without_its_tag(tmp_path: Path, kind: str, orientation: int) -> None:
    data = turned(kind, orientation)
    image = sent(tmp_path, data)
    assert image.transforms == (f"exif_transpose:{orientation}", "png")
    assert same(pixels(image), ImageOps.exif_transpose(opened(data)))
    assert pixels(image).size == ((HEIGHT, WIDTH) if orientation > 4 else (WIDTH, HEIGHT))
    assert 0x0112 not in pixels(image).getexif()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_an_upright_picture_goes_unchanged(tmp_path: Path, kind: str) -> None:
    image = sent(tmp_path, turned(kind, 1))
    assert (image.data, image.transforms, image.file_sha256) == (None, (), "")


def test_an_orientation_in_xmp_is_applied_unless_exif_says_upright(tmp_path: Path) -> None:
    xmp = b'http://ns.adobe.com/xap/1.0/\0<a tiff:Orientation="6"/>'
    assert sent(tmp_path, with_segment(encoded(spotted(), "JPEG"), 0xE1, xmp)).transforms[0] == "exif_transpose:6"
    assert sent(tmp_path, with_segment(turned("JPEG", 1), 0xE1, xmp)).data is None


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_exif_that_a_server_would_stumble_over_is_removed(tmp_path: Path, kind: str) -> None:
    lossless = {"lossless": True} if kind == "WEBP" else {}
    data = encoded(spotted(), kind, exif=b"Exif\0\0garbage and more", **lossless)
    image = sent(tmp_path, data)
    assert image.transforms == ("exif_removed", "png")
    assert same(pixels(image), opened(data))


def test_sixteen_bit_grey_is_scaled_and_not_clipped(tmp_path: Path) -> None:
    image = sent(tmp_path, raw_png(5, 16, 0, struct.pack(">5H", 0, 255, 257 * 7, 32768, 65535)))
    assert image.transforms == ("16bit_to_8bit", "png")
    assert pixels(image).tobytes() == bytes((0, 1, 7, 128, 255))


@pytest.mark.parametrize("kind", ["TIFF", "PPM"])
def test_sixteen_bits_are_scaled_in_other_formats_too(tmp_path: Path, kind: str) -> None:
    wide = opened(raw_png(4, 16, 0, struct.pack(">4H", 0, 255, 32768, 65535)))
    assert pixels(sent(tmp_path, encoded(wide, kind))).tobytes() == bytes((0, 1, 128, 255))


def test_sixteen_bit_colour_keeps_its_brightness(tmp_path: Path) -> None:
    image = sent(tmp_path, raw_png(2, 16, 2, struct.pack(">6H", 0, 65535, 32768, 65280, 511, 0)))
    assert image.transforms == ("16bit_to_8bit", "png")
    assert pixels(image).tobytes() == bytes((0, 255, 128, 255, 1, 0))


def test_sixteen_bit_transparency_is_laid_on_white(tmp_path: Path) -> None:
    key = png_chunk(b"tRNS", struct.pack(">H", 300))
    grey = sent(tmp_path, raw_png(3, 16, 0, struct.pack(">3H", 0, 300, 301), key))
    assert grey.transforms == ("16bit_to_8bit", "alpha_on_white", "png")
    assert pixels(grey).convert("L").tobytes() == bytes((0, 255, 1))
    colour = sent(tmp_path, raw_png(2, 16, 6, struct.pack(">8H", 9, 9, 9, 0, 65535, 0, 0, 65535)))
    assert pixels(colour).tobytes() == bytes((255, 255, 255, 255, 0, 0))
    dark = png_chunk(b"tRNS", struct.pack(">3H", 5, 5, 5))  # Pillow would compare it with the high bytes
    opaque = sent(tmp_path, raw_png(1, 16, 2, struct.pack(">3H", 0x505, 0x505, 0x505), dark))
    assert (opaque.transforms, pixels(opaque).tobytes()) == (("16bit_to_8bit", "png"), bytes((5, 5, 5)))


@pytest.mark.parametrize(
    ("depth", "row", "seen"),
    [
        (1, b"\x50", (0, 255, 0)),
        (2, b"\x1b", (0, 255, 170)),
        (4, b"\x01\x20", (0, 255, 34)),
        (8, b"\x00\x01\x02", (0, 255, 2)),
    ],
)
def test_a_transparent_grey_is_laid_on_white_at_every_depth(
    tmp_path: Path, depth: int, row: bytes, seen: tuple[int, ...]
) -> None:
    key = png_chunk(b"tRNS", struct.pack(">H", 1))
    image = sent(tmp_path, raw_png(3, depth, 0, row, key))
    assert image.transforms == ("alpha_on_white", "png")
    assert tuple(pixels(image).convert("L").tobytes()) == seen


@pytest.mark.parametrize("mode", ["F", "I"])
def test_pixels_without_a_known_white_are_refused_with_the_option_that_names_it(tmp_path: Path, mode: str) -> None:
    data = encoded(Pillow.new(mode, (3, 3), 70_000), "TIFF")
    says = r": has 32-bit pixels \(from 70000 to 70000\), and nothing says which value is white$"
    with pytest.raises(QuestionFailed, match=says) as caught:
        sent(tmp_path, data)
    assert caught.value.hint == "--white_value VALUE says it, such as 1 or 255; or convert it to 8 or 16 bit"
    image = sent(tmp_path, data, Recipe(white_value=100_000))
    assert image.transforms == ("32bit_to_8bit:100000", "png")
    assert set(pixels(image).tobytes()) == {179}


def test_floats_are_scaled_to_white_and_cut_there(tmp_path: Path) -> None:
    picture = Pillow.new("F", (5, 1))
    picture.putdata([-1.0, 0.0, 0.5, 1.0, 9.0])
    image = sent(tmp_path, encoded(picture, "TIFF"), Recipe(white_value=1.0))
    assert list(pixels(image).tobytes()) == [0, 0, 128, 255, 255]


@pytest.fixture
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow warns from 400 pixels on and refuses 800, and we refuse 1,000."""
    monkeypatch.setattr(Pillow, "MAX_IMAGE_PIXELS", 400)
    for module in ("steps", "recode"):
        monkeypatch.setattr(f"vqa_client.images.{module}.MAX_IMAGE_PIXELS", 1_000)


LARGE: dict[str, dict[str, bool]] = {
    **{kind: {} for kind in ("PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP", "AVIF")},
    "JPEG progressive": {"progressive": True},
    "WEBP lossless": {"lossless": True},
}


@pytest.mark.filterwarnings("error")
@pytest.mark.usefixtures("low_limits")
@pytest.mark.parametrize("name", LARGE)
def test_an_image_above_the_limit_is_shrunk_where_that_is_asked_and_said_where_not(tmp_path: Path, name: str) -> None:
    kind = name.partition(" ")[0]
    if kind == "AVIF" and not features.check("avif"):
        pytest.skip("this Pillow has no AVIF")
    picture = Pillow.new("RGB", (60, 40), (200, 60, 30))
    data = encoded(picture, kind, **LARGE[name])
    image = sent(tmp_path, data, Recipe(max_pixels=96))
    assert (image.width, image.height) == (12, 8)
    assert any("60x40->" in step for step in image.transforms)
    red, green, blue = pixels(image).convert("RGB").getpixel((5, 5))  # type: ignore[misc]
    assert abs(red - 200) + abs(green - 60) + abs(blue - 30) < 20
    assert sent(tmp_path, data, Recipe(max_side=15)).width == 15
    with pytest.raises(QuestionFailed, match="60x40 pixels") as caught:
        sent(tmp_path, data)
    assert caught.value.hint == "make it smaller first; a run shrinks it with --max_pixels N"
    assert Pillow.MAX_IMAGE_PIXELS == 400


@pytest.mark.usefixtures("low_limits")
@pytest.mark.parametrize(("size", "alone"), [((60, 40), 1), ((30, 33), 0)])
def test_large_images_are_decoded_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], alone: int
) -> None:
    taken: list[str] = []

    @contextmanager
    def lock() -> Iterator[None]:
        taken.append("the lock")
        yield

    monkeypatch.setattr("vqa_client.images.recode._alone", lock())
    sent(tmp_path, encoded(Pillow.new("RGB", size), "PNG"), Recipe(max_pixels=96))
    assert len(taken) == alone


@pytest.mark.usefixtures("low_limits")
def test_a_large_image_is_decoded_within_a_bound_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.images.recode.MAX_DECODED_BYTES", 5_000)
    of_one_bit, of_colours = (encoded(Pillow.new(mode, (60, 40)), "PNG") for mode in ("1", "RGB"))
    assert sent(tmp_path, of_one_bit, Recipe(max_pixels=96)).width == 12
    says = r": has 60x40 pixels, which take 0\.0 GB to decode; at most 0\.0 GB are taken$"
    with pytest.raises(QuestionFailed, match=says):
        sent(tmp_path, of_colours, Recipe(max_pixels=96))


@pytest.mark.filterwarnings("error")
def test_a_page_of_the_library_s_own_limit_is_decoded_in_silence(tmp_path: Path) -> None:
    side = 9_470  # more than Pillow's limit, half of that from which it refuses
    data = encoded(Pillow.new("1", (side, side), 1), "PNG")
    assert sent(tmp_path, data, Recipe(max_pixels=10_000)).width == 100


def test_a_cmyk_jpeg_is_neither_inverted_nor_sent_as_cmyk(tmp_path: Path) -> None:
    data = encoded(Pillow.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG", quality=100)
    image = sent(tmp_path, data)
    assert image.transforms == ("cmyk_to_rgb", "png")
    assert pixels(image).getpixel((8, 8)) == (255, 0, 0)


@pytest.mark.parametrize(
    "data",
    [encoded(spotted("RGBA"), "PNG"), encoded(spotted("LA"), "PNG"), encoded(veiled(alpha=255), "WEBP", lossless=True)],
    ids=["RGBA", "LA", "WEBP"],
)
def test_a_picture_with_an_opaque_alpha_channel_goes_unchanged(tmp_path: Path, data: bytes) -> None:
    assert sent(tmp_path, data).data is None


@pytest.mark.parametrize(
    "data",
    [
        encoded(veiled("RGBA"), "PNG"),
        encoded(veiled("RGBA"), "WEBP", lossless=True),
        encoded(veiled("RGBA"), "TIFF"),
        encoded(veiled("LA"), "PNG"),
    ],
    ids=["PNG", "WEBP", "TIFF", "LA"],
)
def test_transparent_pixels_are_laid_on_white(tmp_path: Path, data: bytes) -> None:
    image = sent(tmp_path, data)
    assert image.transforms == ("alpha_on_white", "png")
    assert pixels(image).convert("RGB").getpixel((2, 2)) == (255, 255, 255)
    right = (8, 0, WIDTH, HEIGHT)
    assert same(pixels(image).crop(right), opened(data).convert("RGBA").crop(right))


def test_a_half_transparent_pixel_is_half_white(tmp_path: Path) -> None:
    picture = Pillow.new("RGBA", (1, 1), (0, 100, 200, 51))
    assert pixels(sent(tmp_path, encoded(picture, "PNG"))).getpixel((0, 0)) == (204, 224, 244)


@pytest.mark.parametrize("kind", ["PNG", "GIF"])
def test_a_transparent_palette_colour_is_laid_on_white(tmp_path: Path, kind: str) -> None:
    image = sent(tmp_path, keyed(kind))
    assert image.transforms == ("alpha_on_white", "png")
    assert pixels(image).getpixel((0, 0)) == (255, 255, 255)
    assert pixels(image).getpixel((20, 4)) == spotted("P").convert("RGB").getpixel((20, 4))


@pytest.mark.parametrize(("depth", "row"), [(1, 0b01000000), (2, 0b00010000), (4, 0b00000001)])
def test_a_transparent_grey_of_few_bits_is_laid_on_white(tmp_path: Path, depth: int, row: int) -> None:
    data = raw_png(2, depth, 0, bytes((row,)), png_chunk(b"tRNS", struct.pack(">H", 1)))
    assert pixels(sent(tmp_path, data)).convert("L").tobytes() == bytes((0, 255))


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "MPO", "TIFF"])
def test_of_several_pictures_the_first_is_sent(tmp_path: Path, kind: str) -> None:
    data = moving(kind)
    image = sent(tmp_path, data)
    assert image.transforms == ("first_frame", "png")
    assert same(pixels(image), opened(data))
    assert getattr(pixels(image), "n_frames", 1) == 1


@pytest.mark.parametrize("kind", ["BMP", "TIFF", "ICO", "PPM", "AVIF", "JPEG2000", "QOI"])
def test_a_format_that_not_every_server_takes_is_sent_as_png(tmp_path: Path, kind: str) -> None:
    feature = {"AVIF": "avif", "JPEG2000": "jpg_2000"}.get(kind)
    if feature and not features.check(feature):
        pytest.skip(f"this Pillow has no {kind}")
    if kind not in Pillow.SAVE and not Pillow.init() and kind not in Pillow.SAVE:
        pytest.skip(f"this Pillow writes no {kind}")
    data = encoded(spotted(), kind)
    image = sent(tmp_path, data)
    assert (image.mime, image.transforms) == ("image/png", ("png",))
    assert same(pixels(image), opened(data))


def test_a_tiff_is_turned_once(tmp_path: Path) -> None:
    exif = Pillow.Exif()
    exif[0x0112] = 6
    data = encoded(spotted(), "TIFF", exif=exif)
    assert pixels(sent(tmp_path, data)).size == (HEIGHT, WIDTH)
    assert same(pixels(sent(tmp_path, data)), spotted().transpose(Pillow.Transpose.ROTATE_270))


def test_an_avif_is_turned_once(tmp_path: Path) -> None:
    if not features.check("avif"):
        pytest.skip("this Pillow has no AVIF")
    exif = Pillow.Exif()
    exif[0x0112] = 6
    data = encoded(spotted(), "AVIF", exif=exif)
    assert same(pixels(sent(tmp_path, data)), ImageOps.exif_transpose(opened(data)))


@pytest.mark.parametrize("size", [(1240, 1754), (3000, 10), (10, 3000), (2, 7000), (101, 100)])
@pytest.mark.parametrize("limit", [1, 10, 1000, 9999])
def test_max_pixels_is_never_passed_and_the_shape_is_kept(tmp_path: Path, size: tuple[int, int], limit: int) -> None:
    image = sent(tmp_path, encoded(Pillow.new("L", size, 200), "PNG"), Recipe(max_pixels=limit))
    width, height = pixels(image).size
    assert 0 < width * height <= limit
    assert image.transforms == (f"max_pixels:{limit}:lanczos:{size[0]}x{size[1]}->{width}x{height}", "png")
    if limit > 5000:
        assert abs(width - size[0] * height / size[1]) <= max(1, size[0] / size[1])


def test_a_picture_within_max_pixels_goes_unchanged(tmp_path: Path) -> None:
    assert sent(tmp_path, encoded(spotted(), "JPEG"), Recipe(max_pixels=WIDTH * HEIGHT)).data is None


def test_steps_are_named_in_the_order_they_were_done(tmp_path: Path) -> None:
    exif = Pillow.Exif()
    exif[0x0112] = 8
    recipe = Recipe(max_pixels=100, image_format="jpeg", image_quality=70)
    image = sent(tmp_path, encoded(veiled(), "PNG", exif=exif), recipe)
    expected = ("exif_transpose:8", "alpha_on_white", "max_pixels:100:lanczos:16x24->8x12", "jpeg:70")
    assert (image.transforms, image.mime) == (expected, "image/jpeg")
    assert pixels(image).format == "JPEG"


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA"])
@pytest.mark.parametrize("form", ["jpeg", "webp", "png"])
def test_every_mode_can_be_sent_small_in_every_format(tmp_path: Path, mode: str, form: str) -> None:
    recipe = Recipe(max_pixels=99, image_format=form, image_quality=80)  # type: ignore[arg-type]
    image = sent(tmp_path, encoded(spotted(mode), "PNG"), recipe)
    assert (image.mime, pixels(image).format) == (f"image/{form}", form.upper())


def test_a_lossy_format_encodes_every_file_and_png_leaves_a_png(tmp_path: Path) -> None:
    jpeg = encoded(spotted(), "JPEG", quality=95)
    assert sent(tmp_path, jpeg, Recipe(image_format="jpeg", image_quality=30)).transforms == ("jpeg:30",)
    assert sent(tmp_path, jpeg, Recipe(image_format="png")).transforms == ("png",)
    assert sent(tmp_path, encoded(spotted(), "PNG"), Recipe(image_format="png")).data is None


def test_a_picture_too_wide_for_the_asked_format_is_a_bad_image(tmp_path: Path) -> None:
    with pytest.raises(QuestionFailed, match="can't be encoded as webp at 20000x1"):
        sent(tmp_path, encoded(Pillow.new("L", (20_000, 1)), "PNG"), Recipe(image_format="webp"))


def test_the_same_file_always_gives_the_same_bytes(tmp_path: Path) -> None:
    for form in ("png", "jpeg", "webp"):
        recipe = Recipe(image_format=form, max_pixels=200)  # type: ignore[arg-type]
        assert len({sent(tmp_path, turned("JPEG", 5), recipe).sha256 for _ in range(3)}) == 1


def test_a_colour_profile_stays_only_with_the_pixels_it_is_for(tmp_path: Path) -> None:
    profile = b"\0" * 16 + b"RGB " + b"\0" * 108
    assert pixels(sent(tmp_path, turned("JPEG", 3, icc_profile=profile))).info["icc_profile"] == profile
    grey = encoded(spotted("L"), "PNG", icc_profile=profile)
    assert "icc_profile" not in pixels(sent(tmp_path, grey, Recipe(max_pixels=50))).info


def test_nothing_of_the_file_but_its_pixels_is_sent_on(tmp_path: Path) -> None:
    data = turned("JPEG", 3, comment=b"private", dpi=(300, 300))
    for form in ("png", "jpeg", "webp"):
        image = sent(tmp_path, data, Recipe(image_format=form))  # type: ignore[arg-type]
        assert image.data is not None
        assert b"private" not in image.data
        assert b"Exif" not in image.data


@pytest.mark.parametrize("name", corpus())
def test_every_kind_of_file_is_sent_in_a_form_without_oddities(tmp_path: Path, name: str) -> None:
    image = sent(tmp_path, corpus()[name])
    again = sent(tmp_path, image.data or corpus()[name])
    assert (again.data, again.sha256) == (None, image.sha256)
