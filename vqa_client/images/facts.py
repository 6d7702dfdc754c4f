"""Reads from an image file's bytes its format, its size in pixels, and why it can't be sent unchanged."""

import struct
from collections.abc import Callable

from msgspec import Struct

from vqa_client.errors import QuestionFailed
from vqa_client.images import headers
from vqa_client.images.headers import Header, Oddity


class ImageFacts(Struct, frozen=True, kw_only=True):
    """The facts in a file's header; `width` and `height` are in pixels as stored, 0 if only a decoder knows.

    Without `oddities` all servers decode the file to the same pixels. With an oddity the pixels have to be looked at,
    and then may turn out to be fine.
    """

    format: str
    mime: str
    width: int = 0
    height: int = 0
    oddities: tuple[Oddity, ...] = ()


MIMES = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "bmp": "image/bmp",
    "tiff": "image/tiff",
    "avif": "image/avif",
    "heic": "image/heic",
    "jp2": "image/jp2",
    "jxl": "image/jxl",
    "ico": "image/x-icon",
    "ppm": "image/x-portable-anymap",
    "qoi": "image/qoi",
    "psd": "image/vnd.adobe.photoshop",
}
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"BM", "bmp"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
    (b"II+\0", "tiff"),
    (b"MM\0+", "tiff"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "jp2"),
    (b"\xff\x4f\xff\x51", "jp2"),
    (b"\0\0\0\x0cJXL \r\n\x87\n", "jxl"),
    (b"\xff\x0a", "jxl"),
    (b"\0\0\1\0", "ico"),
    (b"qoif", "qoi"),
    (b"8BPS", "psd"),
    *((b"P%c%c" % (digit, space), "ppm") for digit in b"123456" for space in b" \t\r\n"),
)
_HEIF_BRANDS = (
    (b"avif", "avif"),
    (b"avis", "avif"),
    (b"hei", "heic"),
    (b"hev", "heic"),
    (b"mif1", "heic"),
    (b"msf1", "heic"),
)
_WALKERS: dict[str, Callable[[bytes], Header]] = {
    "png": headers.png,
    "jpeg": headers.jpeg,
    "gif": headers.gif,
    "webp": headers.webp,
}
"""The formats that every server takes; all others have the oddity "format"."""

_NO_IMAGE = (
    (b"%PDF", "is a PDF document", "render its pages to images first"),
    (b"version https://git-lfs", "is a Git LFS pointer, not the file itself", "run `git lfs pull` where it came from"),
    (b"PK\3\4", "is a ZIP archive", "unpack it first"),
    (b"\x1f\x8b", "is gzip-compressed", "unpack it first"),
)
_MARKUP = (
    (b"<svg", "is an SVG drawing", "render it to PNG first"),
    (b"<!doctype svg", "is an SVG drawing", "render it to PNG first"),
    (b"<html", "is an HTML page", "fetch the image again: the server sent a page in its place"),
    (b"<!doctype html", "is an HTML page", "fetch the image again: the server sent a page in its place"),
)
_HEAD_BYTES = 4096
_CONTROL = bytes({*range(9), *range(14, 27), *range(28, 32), 127})
"""Bytes that no text file contains."""


def facts(data: bytes, path: str = "the image") -> ImageFacts:
    """Read the header of an image file without decoding its pixels.

    Raises `QuestionFailed` "bad_image", naming `path` and the reason, if the bytes are not an image.
    """
    name = _format(data)
    if name is None:
        reason, hint = _what_else(data)
        raise QuestionFailed("bad_image", f"{path}: {reason}", hint=hint)
    walk = _WALKERS.get(name)
    if walk is None:
        return ImageFacts(format=name, mime=MIMES[name], oddities=("format",))
    try:
        width, height, odd = walk(data)
    except (struct.error, IndexError):
        width, height, odd = 0, 0, {"cut"}
    return ImageFacts(format=name, mime=MIMES[name], width=width, height=height, oddities=tuple(sorted(odd)))


def _format(data: bytes) -> str | None:
    for magic, name in _MAGIC:
        if data.startswith(magic):
            return name
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    if data[4:8] == b"ftyp":
        brands = data[8 : min(int.from_bytes(data[:4], "big"), _HEAD_BYTES)]
        return next((name for brand, name in _HEIF_BRANDS if brand in brands), None)
    return None


def _what_else(data: bytes) -> tuple[str, str]:
    """Name what these bytes are instead of an image: the reason and a hint."""
    head = data[:_HEAD_BYTES]
    for magic, reason, hint in _NO_IMAGE:
        if head.startswith(magic):
            return reason, hint
    text = _markup(head).lstrip().lower()
    if text.startswith(b"<"):
        first = min(((at, reason, hint) for tag, reason, hint in _MARKUP if (at := text.find(tag)) >= 0), default=None)
        return first[1:] if first else ("is markup, not an image", "")
    if not data:
        return "is empty (0 bytes)", "fetch or render it again"
    if not data.strip(b"\0"):
        return f"contains nothing but {len(data)} zero bytes", "fetch or render it again"
    if _is_text(head):
        return "is a text file, not an image", ""
    return "is in no known image format", ""


def _markup(head: bytes) -> bytes:
    """The text without its byte order mark; for UTF-16, its ASCII characters."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return head.decode("utf-16", "ignore").encode("ascii", "ignore")
    return head.removeprefix(b"\xef\xbb\xbf")


def _is_text(head: bytes) -> bool:
    if head.translate(None, _CONTROL) != head:
        return False
    # The end of the head may cut one character of up to four bytes.
    return len(head.decode("utf-8", "ignore").encode()) >= len(head) - 3
