"""Page images as pixels and back: any file in, grey or RGB pixels; a PNG out that says what it was made from."""

import io
import struct
from typing import TYPE_CHECKING

from vqa_client.errors import DataError, QuestionFailed
from vqa_client.images.facts import facts
from vqa_client.images.pillow import opened
from vqa_client.images.recode import is_plain, recode
from vqa_client.images.steps import Recipe

if TYPE_CHECKING:
    from PIL import Image as PillowImage

    Pixels = PillowImage.Image

COMPRESS_LEVEL = 6
"""A page takes 11 ms and 70 KB, at 3 it takes 7 ms and 82 KB, at 9 73 ms and 68 KB."""
_KEYWORD = "vqa-client"
_CHUNK = b"tEXt" + _KEYWORD.encode() + b"\0"
_STAMP_WITHIN_BYTES = 256
_END = b"\0\0\0\0IEND\xaeB`\x82"


def read_page(data: bytes, path: str) -> "Pixels":
    """The pixels of an image file, upright, opaque, 8 bits a channel: mode L where they are stored as greys, else RGB.

    Raises DataError that names the file.
    """
    try:
        found = facts(data, path)
        made = None if is_plain(found, Recipe()) else recode(data, found, Recipe(), path)
        pixels = opened(io.BytesIO(made.data if made else data))
        pixels.load()
    except QuestionFailed as error:
        raise DataError(str(error), hint=error.hint) from None
    except Exception as error:  # Pillow's decoders raise whatever a damaged file makes them stumble over
        raise DataError(
            f"{path}: can't be decoded: {error}", hint="the file is damaged or cut; make it again"
        ) from None
    pixels.info = {}
    return pixels.convert("L" if _is_grey(pixels) else "RGB")


def _is_grey(pixels: "Pixels") -> bool:
    palette = pixels.getpalette() if pixels.mode == "P" else None
    return pixels.mode in ("1", "L") or bool(palette and palette[::3] == palette[1::3] == palette[2::3])


def png(pixels: "Pixels", stamp: str = "") -> bytes:
    """The page as PNG, always the same bytes, with a text inside that `stamp_of` finds again."""
    from PIL.PngImagePlugin import PngInfo

    said = PngInfo()
    if stamp:
        said.add_text(_KEYWORD, stamp)
    buffer = io.BytesIO()
    pixels.save(buffer, "PNG", compress_level=COMPRESS_LEVEL, pnginfo=said)
    return buffer.getvalue()


def stamp_of(data: bytes) -> str | None:
    """What a PNG says that it was made from; "" where it is cut, None where `png` didn't write it."""
    at = data.find(_CHUNK, 0, _STAMP_WITHIN_BYTES)
    if at < 0:
        return None if data else ""
    (length,) = struct.unpack_from(">I", data, at - 4)
    text = data[at + len(_CHUNK) : at + 4 + length].decode("latin-1")
    return text if data.endswith(_END) else ""
