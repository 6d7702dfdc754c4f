"""The orientation that a camera wrote down, read without a decoder: EXIF (TIFF) bytes and XMP packets."""

import re
import struct

_TAG_ORIENTATION = 0x0112
_BYTE_ORDERS = {b"II*\0": "<", b"MM\0*": ">"}
_XMP_ORIENTATION = re.compile(rb"tiff:Orientation(?:=\s*[\"']|>)\s*([0-9])")
"""The same places that Pillow looks at, a little wider: what is found here is looked at again with the pixels."""
_TURNED = range(2, 9)


def exif_turns(exif: bytes) -> bool:
    """Say whether these EXIF bytes ask for another orientation than 1, or can't be read to the end.

    `exif` may begin with "Exif\\0\\0". Values outside 1..8 mean 1, as in Pillow and in browsers.
    """
    while exif.startswith(b"Exif\0\0"):
        exif = exif[6:]
    try:
        return _orientation(exif) in _TURNED
    except (struct.error, KeyError):
        return True


def xmp_turns(xmp: bytes) -> bool:
    """Say whether an XMP packet names an orientation other than 1; Pillow heeds it where EXIF names none."""
    return any(int(found) in _TURNED for found in _XMP_ORIENTATION.findall(xmp))


def _orientation(tiff: bytes) -> int:
    order = _BYTE_ORDERS[tiff[:4]]
    (offset,) = struct.unpack_from(order + "I", tiff, 4)
    (count,) = struct.unpack_from(order + "H", tiff, offset)
    for entry in range(offset + 2, offset + 2 + 12 * count, 12):
        tag, kind = struct.unpack_from(order + "HH", tiff, entry)
        if tag == _TAG_ORIENTATION:
            # A wrong type is read as the pixels' reader would: SHORT (3) and BYTE (1) at the front, LONG (4) whole.
            form = {1: "B", 3: "H", 4: "I"}[kind]
            return int(struct.unpack_from(order + form, tiff, entry + 8)[0])
    return 1
