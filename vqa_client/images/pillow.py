"""Opening a picture with Pillow, without its limit on pixels and the warning that comes before it: ours apply."""

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
"""How many pixels the pictures have that are being decoded, a picture for each thread."""
_usual: list[int | None] = []
"""Pillow's limit before."""


class NoDecoder(Exception):
    """Pillow knows the format, and was built without what decodes it."""


def opened(file: IO[bytes], formats: Sequence[str] | None = None) -> "Pixels":
    """Open a picture of one of these formats as `PIL.Image.open` does; nothing is decoded yet.

    Raises PIL.UnidentifiedImageError, NoDecoder, and whatever a damaged file makes a decoder stumble over.
    """
    from PIL import Image, UnidentifiedImageError

    Image.init()
    head = file.read(_HEAD_BYTES)
    lacking = ""
    for name in Image.ID if formats is None else formats:
        factory, accept = Image.OPEN[name]
        try:
            accepted = accept(head) if accept else True
        except (IndexError, struct.error):  # it looks further than so few bytes
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
    """Raise Pillow's limit for a picture of so many pixels, which were checked, while it is decoded.

    Pillow's decoders look at it too. It is raised no further, since a file may hold more than its header says.
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
