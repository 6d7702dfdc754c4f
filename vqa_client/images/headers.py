"""Reads the headers of PNG, JPEG, GIF and WEBP files block by block, without decoding pixels.

Each function returns the width and height in pixels (0 if the file ends before them) and a set of oddities. A block
that runs past the end of the bytes raises `struct.error` or `IndexError`: the file is cut.
"""

import re
import struct
import zlib
from collections.abc import Iterator
from typing import Literal

Oddity = Literal[
    "orientation",  # EXIF or XMP asks for another orientation than 1, or the EXIF bytes can't be read
    "16bit",  # more than 8 bits a channel: a plain conversion clips everything above 255 to white
    "cmyk",  # four-colour JPEG
    "alpha",  # there may be pixels that are not opaque
    "animated",  # more than one frame
    "mpo",  # several JPEGs in one file (CIPA DC-007)
    "format",  # a format that not every server takes
    "coding",  # a rare coding of a common format: 12-bit, lossless or arithmetic JPEG, unknown critical PNG chunk
    "cut",  # the end is missing
    "damaged",  # a checksum or the order of blocks is wrong
    "trailer",  # something follows the end of the picture
]
Header = tuple[int, int, set[Oddity]]

_CHUNK = struct.Struct(">I4s")
_PNG_CRITICAL = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND"})
_PNG_EXIF_TEXT = (b"Raw profile type exif", b"Raw profile type APP1")
"""Where ImageMagick keeps EXIF as hexadecimal text."""


def png(data: bytes) -> Header:
    """Walk the chunks of a PNG (W3C PNG, section 5) and check each one's CRC."""
    odd: set[Oddity] = set()
    width = height = depth = colour = 0
    kinds: set[bytes] = set()
    for kind, body in _png_chunks(memoryview(data), odd):
        if not kinds:
            width, height, depth, colour = struct.unpack_from(">IIBB", body)
        kinds.add(kind)
        if kind[0] & 0x20 == 0 and kind not in _PNG_CRITICAL:
            odd.add("coding")
        elif _png_turns(kind, body):
            odd.add("orientation")
    if not {b"IHDR", b"IDAT"} <= kinds:
        odd.add("damaged")
    if depth == 16:
        odd.add("16bit")
    if colour in (4, 6) or b"tRNS" in kinds:
        odd.add("alpha")
    if b"acTL" in kinds:
        odd.add("animated")
    return width, height, odd


def _png_chunks(view: memoryview, odd: set[Oddity]) -> Iterator[tuple[bytes, memoryview]]:
    start, kind = 8, b""
    while kind != b"IEND":
        if start + 12 > len(view):
            odd.add("cut")
            return
        length, kind = _CHUNK.unpack_from(view, start)
        end = start + 12 + length
        if end > len(view):
            odd.add("cut")
            return
        (crc,) = struct.unpack_from(">I", view, end - 4)
        if zlib.crc32(view[start + 4 : end - 4]) != crc:
            odd.add("damaged")
        yield kind, view[start + 8 : end - 4]
        start = end


def _png_turns(kind: bytes, body: memoryview) -> bool:
    if kind == b"eXIf":
        return exif_turns(bytes(body))
    if kind in (b"tEXt", b"zTXt", b"iTXt"):
        keyword, _, text = bytes(body).partition(b"\0")
        compressed = kind == b"iTXt" and text[:1] == b"\1"
        return keyword in _PNG_EXIF_TEXT or (keyword == b"XML:com.adobe.xmp" and (compressed or xmp_turns(text)))
    return False


_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_COMMON_FRAMES = frozenset({0xC0, 0xC1, 0xC2})
_JPEG_MARKER = re.compile(rb"(?:\xff++[\x01\xd0-\xd7])*+\xff++[^\x01\xd0-\xd7\xff]")
"""The next marker of a segment, after fill bytes and markers without a segment."""
_JPEG_SEGMENT = re.compile(rb"\xff[\xc0-\xcf\xda-\xef\xfe]")
_JPEG_END = b"\xff\xd9"


def jpeg(data: bytes) -> Header:
    """Walk the segments of a JPEG up to its first scan (ITU T.81, annex B), then look for its end."""
    odd: set[Oddity] = set()
    width = height = components = frame = 0
    start, marker = 2, 0
    body = b""
    while marker != 0xDA:
        match = _JPEG_MARKER.match(data, start)
        if match is None:
            raise IndexError("no marker where one must be")
        start = match.end()
        marker = data[start - 1]
        (length,) = struct.unpack_from(">H", data, start)
        body = data[start + 2 : start + length]
        if length < 2 or len(body) != length - 2:
            return width, height, odd | {"cut"}
        start += length
        if marker in _JPEG_FRAMES:
            frame = marker
            precision, height, width, components = struct.unpack_from(">BHHB", body)
            if precision != 8 or marker not in _JPEG_COMMON_FRAMES or components == 2:
                odd.add("coding")
        elif marker in (0xE1, 0xE2):
            odd |= _jpeg_application(body)
    if components == 4:
        odd.add("cmyk")
    if not (width and height):
        odd.add("damaged")
    all_in_one_scan = frame in (0xC0, 0xC1) and body[0] == components
    return width, height, odd | _jpeg_end(data, start, all_in_one_scan)


def _jpeg_application(body: bytes) -> set[Oddity]:
    if body.startswith(b"MPF\0"):
        return {"mpo"}
    turned = exif_turns(body) if body.startswith(b"Exif\0") else xmp_turns(body)
    return {"orientation"} if turned else set()


def _jpeg_end(data: bytes, start: int, all_in_one_scan: bool) -> set[Oddity]:
    """Look for the end marker, FF D9, which can't occur in coded data but can in a table between two scans."""
    end = len(data) - 2
    if end < start or not data.endswith(_JPEG_END):
        return {"trailer"} if data.find(_JPEG_END, start) >= 0 else {"cut"}
    tail = end if all_in_one_scan else max(start, end - 0x10002)
    for match in _JPEG_SEGMENT.finditer(data, tail, end):
        if match.end() + int.from_bytes(data[match.end() : match.end() + 2]) > end:
            return {"cut"}
    return set()


def gif(data: bytes) -> Header:
    """Walk the blocks of a GIF (GIF89a, appendix A) up to its trailer or second picture."""
    odd: set[Oddity] = set()
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    start = 13 + _gif_colours(flags)
    pictures = 0
    while (block := data[start]) != 0x3B:
        if block == 0x21:
            if data[start + 1] == 0xF9 and data[start + 3] & 1:
                odd.add("alpha")
            start = _gif_sub_blocks(data, start + 2)
        elif block == 0x2C:
            pictures += 1
            if pictures > 1:
                return width, height, odd | {"animated"}
            start = _gif_sub_blocks(data, start + 11 + _gif_colours(data[start + 9]))
        else:
            return width, height, odd | {"damaged"}
    return width, height, odd if pictures else odd | {"damaged"}


def _gif_colours(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _gif_sub_blocks(data: bytes, start: int) -> int:
    while size := data[start]:
        start += size + 1
    return start + 1


_WEBP_KINDS: dict[bytes, Oddity] = {b"ANIM": "animated", b"ANMF": "animated", b"ALPH": "alpha"}


def webp(data: bytes) -> Header:
    """Walk the chunks of a WEBP (Google's WebP container specification)."""
    odd: set[Oddity] = set()
    width = height = 0
    end = 8 + int.from_bytes(data[4:8], "little")
    if end > len(data):
        odd.add("cut")
    kinds: set[bytes] = set()
    start = 12
    while start + 8 <= min(end, len(data)):
        kind, length = struct.unpack_from("<4sI", data, start)
        body = memoryview(data)[start + 8 : start + 8 + length]
        if len(body) != length:
            odd.add("cut")
        if not kinds:
            width, height = _webp_size(kind, body)
        kinds.add(kind)
        odd |= _webp_chunk(kind, body)
        start += 8 + length + (length & 1)
    if not kinds & {b"VP8 ", b"VP8L", b"ANMF"}:
        odd.add("damaged")
    return width, height, odd


def _webp_size(kind: bytes, body: memoryview) -> tuple[int, int]:
    if kind == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", body, 1)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<HH", body, 6)
    return width & 0x3FFF, height & 0x3FFF


def _webp_chunk(kind: bytes, body: memoryview) -> set[Oddity]:
    if kind in _WEBP_KINDS:
        return {_WEBP_KINDS[kind]}
    if kind == b"VP8L":
        return {"alpha"} if body[4] >> 4 & 1 else set()
    if kind == b"VP8X":  # no decoder opens an animation without its chunks
        return {"animated"} if body[0] & 2 else set()
    turned = (kind == b"EXIF" and exif_turns(bytes(body))) or (kind == b"XMP " and xmp_turns(bytes(body)))
    return {"orientation"} if turned else set()


_TAG_ORIENTATION = 0x0112
_BYTE_ORDERS = {b"II*\0": "<", b"MM\0*": ">"}
_XMP_ORIENTATION = re.compile(rb"tiff:Orientation(?:=\s*[\"']|>)\s*([0-9])")
"""Matches a little more than Pillow does; the pixels decide afterwards."""
_TURNED = range(2, 9)


def exif_turns(exif: bytes) -> bool:
    """Whether these EXIF bytes ask for another orientation than 1, or can't be read to the end.

    `exif` may begin with "Exif\\0\\0". Values outside 1..8 mean 1, as in Pillow and in browsers.
    """
    while exif.startswith(b"Exif\0\0"):
        exif = exif[6:]
    try:
        return _orientation(exif) in _TURNED
    except (struct.error, KeyError):
        return True


def xmp_turns(xmp: bytes) -> bool:
    """Whether an XMP packet names an orientation other than 1; Pillow uses it if EXIF names none."""
    return any(int(orientation) in _TURNED for orientation in _XMP_ORIENTATION.findall(xmp))


def _orientation(tiff: bytes) -> int:
    order = _BYTE_ORDERS[tiff[:4]]
    (offset,) = struct.unpack_from(order + "I", tiff, 4)
    (count,) = struct.unpack_from(order + "H", tiff, offset)
    for entry in range(offset + 2, offset + 2 + 12 * count, 12):
        tag, kind = struct.unpack_from(order + "HH", tiff, entry)
        if tag == _TAG_ORIENTATION:
            # A wrong type is read as Pillow reads it: SHORT (3) and BYTE (1) from the first bytes, LONG (4) whole.
            form = {1: "B", 3: "H", 4: "I"}[kind]
            return int(struct.unpack_from(order + form, tiff, entry + 8)[0])
    return 1
