"""Small picture files of every kind, made here so that no file has to be kept."""

import io
import struct
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

from PIL import Image, features

from vqa_client.images.prepare import ImagePreparer
from vqa_client.types import Image as PreparedImage

WIDTH, HEIGHT = 24, 16


def spotted(mode: str = "RGB") -> Image.Image:
    """No two corners alike, so that every one of the eight orientations shows."""
    picture = Image.linear_gradient("L").resize((WIDTH, HEIGHT)).convert("RGB")
    picture.paste((200, 30, 60), (0, 0, 8, 8))
    picture.paste((20, 180, 90), (16, 0, 24, 8))
    picture.paste((40, 60, 220), (0, 8, 8, 16))
    return picture.convert(mode)


def veiled(mode: str = "RGBA", alpha: int = 0) -> Image.Image:
    """The left third of the picture has this alpha, the rest is opaque."""
    picture = spotted("RGBA")
    mask = Image.new("L", picture.size, 255)
    mask.paste(alpha, (0, 0, 8, HEIGHT))
    picture.putalpha(mask)
    return picture.convert(mode)


def encoded(picture: Image.Image, kind: str, **options: Any) -> bytes:
    """Encode as Pillow does; `kind` is Pillow's name of the format."""
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def opened(data: bytes) -> Image.Image:
    """Decode fully."""
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


def keyed(kind: str) -> bytes:
    """A palette picture whose upper left corner's colour is transparent."""
    picture = spotted("P")
    return encoded(picture, kind, transparency=picture.getpixel((0, 0)))


def turned(kind: str, orientation: int, **options: Any) -> bytes:
    """The picture with an EXIF orientation, losslessly where the format can."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    lossless = {"lossless": True} if kind == "WEBP" else {}
    return encoded(spotted(), kind, exif=exif, **lossless, **options)


def png_chunk(kind: bytes, body: bytes) -> bytes:
    """One PNG chunk with its length and CRC."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def raw_png(width: int, depth: int, colour: int, row: bytes, *before: bytes) -> bytes:
    """A PNG of one row, of any depth and colour type, with these chunks before its pixels."""
    header = struct.pack(">IIBBBBB", width, 1, depth, colour, 0, 0, 0)
    chunks = (png_chunk(b"IHDR", header), *before, png_chunk(b"IDAT", zlib.compress(b"\0" + row)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + png_chunk(b"IEND", b"")


def frames() -> list[Image.Image]:
    """Two pictures for files that move."""
    return [spotted(), spotted().transpose(Image.Transpose.ROTATE_180)]


def moving(kind: str) -> bytes:
    """An animation (GIF, PNG, WEBP) or several pictures in one file (MPO, TIFF)."""
    first, second = frames()
    options = {"lossless": True} if kind == "WEBP" else {}
    return encoded(first, kind, save_all=True, append_images=[second], **options)


def segments_between_scans(progressive: bytes, comment: bytes) -> bytes:
    """Put a comment before the second scan of a progressive JPEG."""
    first = progressive.index(b"\xff\xda")
    second = min(at for at in (progressive.find(m, first + 2) for m in (b"\xff\xda", b"\xff\xc4")) if at > 0)
    return progressive[:second] + b"\xff\xfe" + struct.pack(">H", len(comment) + 2) + comment + progressive[second:]


def with_segment(jpeg: bytes, marker: int, body: bytes) -> bytes:
    """Put a segment right after the start of a JPEG."""
    return jpeg[:2] + bytes((0xFF, marker)) + struct.pack(">H", len(body) + 2) + body + jpeg[2:]


@cache
def corpus() -> dict[str, bytes]:
    """Valid files of every kind, by name."""
    return dict(_corpus())


def _corpus() -> Iterator[tuple[str, bytes]]:
    for mode in ("1", "L", "P", "RGB"):
        yield f"png {mode}", encoded(spotted(mode), "PNG")
    yield "png RGBA opaque", encoded(spotted("RGBA"), "PNG")
    yield "png RGBA", encoded(veiled(), "PNG")
    yield "png LA", encoded(veiled("LA"), "PNG")
    yield "png P tRNS", keyed("PNG")
    yield "png 16", raw_png(4, 16, 0, struct.pack(">4H", 0, 255, 32768, 65535))
    yield "jpeg", encoded(spotted(), "JPEG", quality=90)
    yield "jpeg grey", encoded(spotted("L"), "JPEG")
    yield "jpeg progressive", encoded(spotted(), "JPEG", progressive=True)
    yield (
        "jpeg progressive comment",
        segments_between_scans(encoded(spotted(), "JPEG", progressive=True), b"a\xff\xd9b"),
    )
    yield "jpeg restarts", encoded(spotted(), "JPEG", restart_marker_blocks=1)
    yield "jpeg cmyk", encoded(spotted("CMYK"), "JPEG")
    yield "jpeg thumbnail", with_segment(encoded(spotted(), "JPEG"), 0xE0, b"JFXX\0\x10" + encoded(spotted(), "JPEG"))
    yield "jpeg trailer", encoded(spotted(), "JPEG") + b"\0" * 20 + b"a trailer\xff\xd9 of the maker"
    yield "gif", encoded(spotted(), "GIF")
    yield "gif transparent", keyed("GIF")
    yield "webp", encoded(spotted(), "WEBP")
    yield "webp lossless", encoded(spotted(), "WEBP", lossless=True)
    yield "webp RGBA", encoded(veiled(), "WEBP")
    yield "webp RGBA lossless", encoded(veiled(), "WEBP", lossless=True)
    for kind in ("GIF", "PNG", "WEBP", "MPO", "TIFF"):
        yield f"moving {kind}", moving(kind)
    for kind in ("JPEG", "PNG", "WEBP"):
        yield f"turned {kind}", turned(kind, 6)
    for kind in ("BMP", "TIFF", "ICO", "PPM"):
        yield kind.lower(), encoded(spotted(), kind)
    yield "tiff lzw", encoded(spotted(), "TIFF", compression="tiff_lzw")
    if features.check("avif"):
        yield "avif", encoded(spotted(), "AVIF", quality=100, subsampling="4:4:4")
    if features.check("jpg_2000"):
        yield "jp2", encoded(spotted(), "JPEG2000")


async def prepared(preparer: ImagePreparer, path: str) -> PreparedImage:
    """Prepare a single image."""
    [image] = await preparer.prepare((path,))
    return image
