"""Opens images with Pillow, with our limit on pixels instead of Pillow's limit and warning."""

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image as PillowImage

    Pixels = PillowImage.Image

_HEAD_BYTES = 16
_lock = Lock()
_decoding: list[int] = []
"""The number of pixels of each image that a thread is decoding now."""
_usual: list[int | None] = []
"""Pillow's limit before it was raised."""


class NoDecoder(Exception):
    """Pillow knows the format but was built without its decoder."""


def opened(file: IO[bytes], formats: Sequence[str] | None = None) -> "Pixels":
    """Open an image of one of these formats as `PIL.Image.open` does; nothing is decoded yet.

    Raises PIL.UnidentifiedImageError, NoDecoder, and any error that a decoder raises for a damaged file.
    """
    from PIL import Image, UnidentifiedImageError

    Image.init()
    head = file.read(_HEAD_BYTES)
    lacking = ""
    for name in Image.ID if formats is None else formats:
        factory, accept = Image.OPEN[name]
        try:
            accepted = accept(head) if accept else True
        except (IndexError, struct.error):  # it reads more bytes than these
            continue
        if isinstance(accepted, str):
            lacking = accepted
        elif accepted:
            file.seek(0)
            try:
                return factory(file, "")
            except (SyntaxError, IndexError, TypeError, struct.error):
                continue
    if lacking:
        raise NoDecoder(lacking)
    raise UnidentifiedImageError("its header is broken")


@contextmanager
def limited_to(n_pixels: int) -> Iterator[None]:
    """Raise Pillow's limit to this number of pixels, which has been checked, while an image is decoded.

    Pillow's decoders check it too. It isn't raised further: a file may contain more pixels than its header says.
    """
    from PIL import Image

    with _lock:
        usual = Image.MAX_IMAGE_PIXELS if not _decoding else _usual[0]
        _usual[:] = [usual]
        _decoding.append(n_pixels)
        Image.MAX_IMAGE_PIXELS = _highest(usual)
    try:
        yield
    finally:
        with _lock:
            _decoding.remove(n_pixels)
            Image.MAX_IMAGE_PIXELS = _highest(usual)


def _highest(usual: int | None) -> int | None:
    return None if usual is None else max(usual, *_decoding, 0)
