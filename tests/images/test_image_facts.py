import struct
import subprocess
import sys
import warnings
from contextlib import suppress
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

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
    segments_between_scans,
    spotted,
    turned,
    veiled,
    with_segment,
)
from vqa_client.errors import QuestionFailed
from vqa_client.images.facts import facts
from vqa_client.images.headers import Oddity

XMP = b"http://ns.adobe.com/xap/1.0/\0<x><rdf:Description tiff:Orientation='%d'/></x>"


def loads(data: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            opened(data)
        except Exception:
            return False
    return True


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_common_picture_has_no_oddities_and_its_true_size(kind: str) -> None:
    found = facts(encoded(spotted(), kind))
    assert (found.format, found.mime) == (kind.lower(), f"image/{kind.lower()}")
    assert (found.width, found.height, found.oddities) == (WIDTH, HEIGHT, ())


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_an_exif_orientation_other_than_one_is_odd(kind: str, orientation: int) -> None:
    assert facts(turned(kind, orientation)).oddities == (() if orientation == 1 else ("orientation",))


@pytest.mark.parametrize("orientation", [0, 9, 300])
def test_an_orientation_that_does_not_exist_means_upright(orientation: int) -> None:
    assert facts(turned("JPEG", orientation)).oddities == ()


@pytest.mark.parametrize("orientation", [1, 6])
def test_an_orientation_in_xmp_counts_like_one_in_exif(orientation: int) -> None:
    expected = () if orientation == 1 else ("orientation",)
    text = b"XML:com.adobe.xmp\0\0\0\0\0" + XMP % orientation
    assert facts(with_segment(encoded(spotted(), "JPEG"), 0xE1, XMP % orientation)).oddities == expected
    assert facts(raw_png(1, 8, 0, b"a", png_chunk(b"iTXt", text))).oddities == expected
    assert facts(encoded(spotted(), "WEBP", xmp=XMP % orientation)).oddities == expected


@pytest.mark.parametrize("keyword", [b"Raw profile type exif", b"Raw profile type APP1"])
def test_exif_written_as_text_needs_a_look(keyword: bytes) -> None:
    assert facts(raw_png(1, 8, 0, b"a", png_chunk(b"tEXt", keyword + b"\0..."))).oddities == ("orientation",)


@pytest.mark.parametrize("exif", [b"Exif\0\0", b"Exif\0\0garbage", b"Exif\0\0II*\0\xff\xff\0\0", b"Exif\0x"])
def test_exif_that_cant_be_read_needs_a_look(exif: bytes) -> None:
    assert facts(with_segment(encoded(spotted(), "JPEG"), 0xE1, exif)).oddities == ("orientation",)


@pytest.mark.parametrize(("kind", "form"), [(1, "B"), (3, "H"), (4, "I")])
@pytest.mark.parametrize(("order", "mark"), [("<", b"II*\0"), (">", b"MM\0*")])
def test_the_orientation_is_read_in_both_byte_orders_and_any_integer_type(
    order: str, mark: bytes, kind: int, form: str
) -> None:
    value = struct.pack(order + form, 8).ljust(4, b"\0")
    entry = struct.pack(order + "HHI", 0x0112, kind, 1) + value
    tiff = mark + struct.pack(order + "IH", 8, 1) + entry + bytes(4)
    assert facts(with_segment(encoded(spotted(), "JPEG"), 0xE1, b"Exif\0\0" + tiff)).oddities == ("orientation",)


PNG_HEAD = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", b"\0\0\0\1\0\0\0\1\x08\0\0\0\0")
ODD = {
    "cmyk": (encoded(spotted("CMYK"), "JPEG"), "cmyk"),
    "grey 16": (raw_png(1, 16, 0, b"ab"), "16bit"),
    "colour 16": (raw_png(1, 16, 2, b"abcdef"), "16bit"),
    "grey with alpha": (encoded(veiled("LA"), "PNG"), "alpha"),
    "colour with alpha": (encoded(veiled("RGBA"), "PNG"), "alpha"),
    "palette with tRNS": (keyed("PNG"), "alpha"),
    "colour key": (encoded(spotted(), "PNG", transparency=(1, 2, 3)), "alpha"),
    "webp lossy alpha": (encoded(veiled(), "WEBP"), "alpha"),
    "webp lossless alpha": (encoded(veiled(), "WEBP", lossless=True), "alpha"),
    "gif transparent": (keyed("GIF"), "alpha"),
    "gif moving": (moving("GIF"), "alpha animated"),
    "png moving": (moving("PNG"), "animated"),
    "webp moving": (moving("WEBP"), "animated"),
    "webp that lacks its frames": (
        encoded(spotted(), "WEBP", xmp=XMP % 1).replace(b"VP8X\n\0\0\0\4", b"VP8X\n\0\0\0\6"),
        "animated",
    ),
    "mpo": (moving("MPO"), "mpo"),
    "bmp": (encoded(spotted(), "BMP"), "format"),
    "tiff": (encoded(spotted(), "TIFF"), "format"),
    "jpeg trailer": (encoded(spotted(), "JPEG") + b"\0\0", "trailer"),
    "png without pixels": (PNG_HEAD + png_chunk(b"IEND", b""), "damaged"),
    "gif without a picture": (b"GIF89a\1\0\1\0\0\0\0\x3b", "damaged"),
    "webp without a picture": (b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0" + bytes(10), "damaged"),
    "apple png": (raw_png(1, 8, 0, b"a", png_chunk(b"CgBI", b"\0\0\0\0")), "coding"),
}


@pytest.mark.parametrize("name", ODD)
def test_what_servers_read_differently_is_odd(name: str) -> None:
    data, oddities = ODD[name]
    assert facts(data).oddities == tuple(oddities.split())


@pytest.mark.parametrize("marker", [0xC3, 0xC9])
def test_a_rare_coding_of_jpeg_is_odd(marker: int) -> None:
    data = encoded(spotted(), "JPEG").replace(b"\xff\xc0", bytes((0xFF, marker)))
    assert "coding" in facts(data).oddities


def test_a_flipped_bit_in_a_png_is_found_by_its_checksum() -> None:
    data = bytearray(encoded(spotted(), "PNG"))
    data[-20] ^= 1
    assert facts(bytes(data)).oddities == ("damaged",)


BRANDS = {
    "avif": (b"\0\0\0\x1cftypavif\0\0\0\0mif1miaf", "avif"),
    "avif by a compatible brand": (b"\0\0\0\x1cftypmif1\0\0\0\0avifmiaf", "avif"),
    "heic": (b"\0\0\0\x18ftypheic\0\0\0\0mif1", "heic"),
    "heic of several pictures": (b"\0\0\0\x18ftypmsf1\0\0\0\0msf1", "heic"),
    "avif that moves": (b"\0\0\0\x18ftypavis\0\0\0\0avis", "avif"),
    "heic by its codec": (b"\0\0\0\x18ftyphevc\0\0\0\0hevc", "heic"),
    "heic by its common brand": (b"\0\0\0\x18ftypmif1\0\0\0\0mif1", "heic"),
    "jpeg 2000": (b"\0\0\0\x0cjP  \r\n\x87\n", "jp2"),
    "jpeg xl": (b"\xff\x0a123", "jxl"),
    "ico": (b"\0\0\1\0\1\0", "ico"),
    "ppm": (b"P6\n3 3\n255\n", "ppm"),
    "a bitmap behind a tab": (b"P1\t3 3", "ppm"),
    "bmp": (b"BM\x8a\0", "bmp"),
    "tiff, little end first": (b"II*\0\x08", "tiff"),
    "tiff, big end first": (b"MM\0*\0", "tiff"),
    "big tiff, little end first": (b"II+\0\x08\0", "tiff"),
    "big tiff, big end first": (b"MM\0+\0", "tiff"),
    "jpeg 2000 without a box": (b"\xff\x4f\xff\x51", "jp2"),
    "jpeg xl in a box": (b"\0\0\0\x0cJXL \r\n\x87\n", "jxl"),
    "qoi": (b"qoif\0\0\0\1", "qoi"),
    "psd": (b"8BPS\0\1", "psd"),
}
UNUSUAL_MIMES = {"ico": "image/x-icon", "ppm": "image/x-portable-anymap", "psd": "image/vnd.adobe.photoshop"}


@pytest.mark.parametrize("name", BRANDS)
def test_formats_that_not_every_server_takes_are_known_by_their_first_bytes(name: str) -> None:
    data, expected = BRANDS[name]
    assert (facts(data).format, facts(data).oddities) == (expected, ("format",))
    assert facts(data).mime == UNUSUAL_MIMES.get(expected, f"image/{expected}")


PAGE = "fetch the image again: the server sent a page in its place"
DRAWING = "render it to PNG first"
NO_IMAGES = {
    "empty": (b"", "is empty (0 bytes)", "fetch or render it again"),
    "html": (b"\n<!DOCTYPE html><html><body>404</body></html>", "is an HTML page", PAGE),
    "svg": (b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>", "is an SVG drawing", DRAWING),
    "svg of another program": (
        b"<!-- made by hand -->\n<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN'>",
        "is an SVG drawing",
        DRAWING,
    ),
    "svg in UTF-16": ("<svg id='é'/>".encode("utf-16"), "is an SVG drawing", DRAWING),
    "html with a drawing": (b"<html><body><svg></svg></body></html>", "is an HTML page", PAGE),
    "page without a kind": (b"<html></html>", "is an HTML page", PAGE),
    "drawing": (b"<svg></svg>", "is an SVG drawing", DRAWING),
    "xml": (b"<?xml version='1.0'?><a/>", "is markup, not an image", ""),
    "text": ("gr\u00fcn \u4e16\u754c\n".encode() * 2000, "is a text file, not an image", ""),
    "json": (b'{"error": "not found"}', "is a text file, not an image", ""),
    "pdf": (b"%PDF-1.7\n", "is a PDF document", "render its pages to images first"),
    "lfs": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
        "is a Git LFS pointer, not the file itself",
        "run `git lfs pull` where it came from",
    ),
    "zip": (b"PK\3\4....", "is a ZIP archive", "unpack it first"),
    "gzip": (b"\x1f\x8b\x08", "is gzip-compressed", "unpack it first"),
    "zeros": (bytes(1000), "contains nothing but 1000 zero bytes", "fetch or render it again"),
    "noise": (b"\x93\x01\x02\xff\xfe", "is in no known image format", ""),
    "video": (b"\0\0\0\x20ftypisom\0\0\2\0isomiso2", "is in no known image format", ""),
    "audio": (b"RIFF\x10\0\0\0WAVEfmt ", "is in no known image format", ""),
}


@pytest.mark.parametrize("name", NO_IMAGES)
def test_what_is_no_image_is_refused_with_its_path_and_what_it_is(name: str) -> None:
    data, reason, hint = NO_IMAGES[name]
    with pytest.raises(QuestionFailed) as caught:
        facts(data, "pages/a.png")
    assert caught.value.status == "bad_image"
    assert (str(caught.value), caught.value.hint) == (f"pages/a.png: {reason}", hint)


@pytest.mark.parametrize("name", corpus())
def test_a_file_cut_anywhere_is_odd_or_still_whole_for_a_decoder(name: str) -> None:
    data = corpus()[name]
    for length in range(len(data)):
        try:
            found = facts(data[:length])
        except QuestionFailed:
            continue
        assert found.oddities or loads(data[:length]), length
        assert {*found.oddities} <= {*get_args(Oddity)}


def test_a_jpeg_cut_behind_the_end_of_its_thumbnail_is_cut() -> None:
    data = corpus()["jpeg thumbnail"]
    behind = data.index(b"\xff\xd9") + 2
    assert facts(data).oddities == ()
    assert facts(data[:behind]).oddities == ("cut",)


def test_a_jpeg_cut_in_a_comment_that_looks_like_its_end_is_cut() -> None:
    data = segments_between_scans(encoded(spotted(), "JPEG", progressive=True), b"a\xff\xd9b")
    assert facts(data).oddities == ()
    assert facts(data[: data.index(b"\xff\xd9") + 2]).oddities == ("cut",)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(sorted(corpus())), st.data())
def test_no_damage_makes_facts_fail_in_another_way(name: str, data: st.DataObject) -> None:
    damaged = bytearray(corpus()[name])
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(QuestionFailed):
        facts(bytes(damaged))


MAGICS = [
    b"",
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8",
    b"GIF89a",
    b"RIFF\x20\0\0\0WEBP",
    b"RIFF\0\0\0\0WEBPVP8X",
    b"<",
    b"P6 ",
]


@settings(deadline=None, max_examples=500)
@given(st.sampled_from(MAGICS), st.binary(max_size=300))
def test_any_bytes_are_facts_or_a_bad_image(magic: bytes, rest: bytes) -> None:
    with suppress(QuestionFailed):
        assert facts(magic + rest).oddities or loads(magic + rest)


def test_reading_facts_imports_no_decoder(request: pytest.FixtureRequest) -> None:
    code = "import sys, vqa_client.images.prepare, vqa_client.images.find; print('PIL' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=request.config.rootpath, check=True)
    assert told.stdout.strip() == b"False"


def test_the_size_of_a_large_picture_is_read_without_its_pixels() -> None:
    assert facts(encoded(Image.new("1", (9000, 7000)), "PNG")).width == 9000
