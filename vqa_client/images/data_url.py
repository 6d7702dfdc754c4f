"""An image as the pieces of a `data:` URL, encoded while they are sent so that no whole copy is ever held."""

import os
from binascii import b2a_base64
from collections.abc import Callable, Iterator
from functools import cache
from io import BytesIO, FileIO

from vqa_client.errors import QuestionFailed
from vqa_client.types import Image

PIECE_BYTES = 73_728
"""98,304 characters once encoded: pieces of 48 to 96 KB measured fastest; a multiple of 3, so none needs padding."""


def encoded_pieces(image: Image, piece_bytes: int = PIECE_BYTES) -> Iterator[bytes]:
    """Read an image and yield its base64 text, four characters for each three bytes begun.

    `piece_bytes` is counted before encoding and must be a multiple of 3. Raises `QuestionFailed` "bad_image" where
    the file is gone or its size is no longer `image.size_bytes`; before the first piece, unless it changes later.
    """
    if piece_bytes < 3 or piece_bytes % 3:
        raise ValueError(f"piece_bytes must be a multiple of 3, not {piece_bytes}")
    encode = _encoder()
    with _opened(image) as file:
        left = image.size_bytes
        while left:
            piece = _exactly(file, min(left, piece_bytes), image)
            left -= len(piece)
            if not left and file.read(1):
                raise _changed(image)
            yield encode(piece)


@cache
def _encoder() -> Callable[[bytes], bytes]:
    try:
        import pybase64
    except ImportError:
        return lambda data: b2a_base64(data, newline=False)
    return pybase64.b64encode


def _opened(image: Image) -> BytesIO | FileIO:
    if image.data is not None:
        return BytesIO(image.data)
    try:
        # Unbuffered: each piece is one read of its own size, and a buffer would only copy it once more.
        file = FileIO(image.path)
    except OSError as error:
        raise QuestionFailed("bad_image", f"{image.path}: {error.strerror}") from None
    if os.fstat(file.fileno()).st_size != image.size_bytes:
        file.close()
        raise _changed(image)
    return file


def _exactly(file: BytesIO | FileIO, size: int, image: Image) -> bytes:
    piece = file.read(size) or b""
    while len(piece) < size:
        more = file.read(size - len(piece))
        if not more:
            raise _changed(image)
        piece += more
    return piece


def _changed(image: Image) -> QuestionFailed:
    return QuestionFailed(
        "bad_image",
        f"{image.path or image.name}: changed while it was being sent; it had {image.size_bytes} bytes",
        hint="ask again once nothing writes to the image folder any more",
    )
