"""Small pictures of images, as text that stands in the page itself."""

import io
import warnings
from base64 import b64encode
from pathlib import Path

from vqa_client.tables.inside import open_image

SIDE_PIXELS = 360
_QUALITY = 62
MOST_PIXELS = 120_000_000
"""Larger images are not decoded: a picture of a few kilobytes may unfold to gigabytes."""


def thumbnail(path: Path, side_pixels: int = SIDE_PIXELS) -> bytes | None:
    """A WebP of at most `side_pixels` a side; None for a file that can't be shown."""
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with open_image(str(path)) as file, Image.open(file) as image:
                if image.width * image.height > MOST_PIXELS:
                    return None
                image.draft("RGB", (side_pixels, side_pixels))
                small = ImageOps.exif_transpose(image)
                small.thumbnail((side_pixels, side_pixels), reducing_gap=1.5)
                return _webp(small)
    except Exception:  # what a decoder raises for broken files is of every kind, and a report lacks only a picture
        return None


def as_data_url(picture: bytes) -> str:
    """The picture as a `data:` URL."""
    return f"data:image/webp;base64,{b64encode(picture).decode()}"


def _webp(image: object) -> bytes:
    from PIL import Image

    assert isinstance(image, Image.Image)
    plain = image if image.mode in ("RGB", "RGBA") else image.convert("RGBA" if "transparency" in image.info else "RGB")
    file = io.BytesIO()
    plain.save(file, "WEBP", quality=_QUALITY, method=2)
    return file.getvalue()
