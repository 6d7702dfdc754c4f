"""The images that a page shows: their files and thumbnails."""

import hashlib
import io
import os
import warnings
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vqa_client.reports.logged_run import LoggedRun
from vqa_client.tables.inside import open_image, split_name
from vqa_client.types import SentImage

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


_SETTINGS = ("images_dir", "images", "input", "data_root", "data_dir", "results_dir")
"""Settings that name folders of images, of whatever command."""
_MOST_FILES = 500_000
"""How many names are looked at below a folder that doesn't contain an image itself."""


class ImageFiles:
    """Finds the file that an image was read from; folders below those that the run names are looked through once."""

    def __init__(self, run: LoggedRun) -> None:
        self._roots = [root for root in dict.fromkeys(_roots(run)) if root.is_dir()]
        self._folders = [folder for root in self._roots for folder in _likely(root, run.variant)]
        self._below: dict[str, list[str]] | None = None
        self._found: dict[tuple[str, int], Path | None] = {}

    @property
    def places(self) -> list[Path]:
        """The folders that are there to be searched."""
        return self._roots

    def find(self, image: SentImage) -> Path | None:
        """The file of that name and size, None where there is none."""
        key = image.name, image.file_size_bytes or image.size_bytes
        if key not in self._found:
            self._found[key] = self._search(*key)
        return self._found[key]

    def _search(self, name: str, size_bytes: int) -> Path | None:
        file, hash_sign, place = name.partition("#")
        if not file or os.path.basename(file) != file:  # a name that leads elsewhere is not an image's
            return None
        for folder in self._folders:
            if _has_size(folder / name, size_bytes):
                return folder / name
        if self._below is None:
            self._below = _names_below(self._roots)
        known = *self._below.get(name, ()), *(path + hash_sign + place for path in self._below.get(file, ()))
        return next((Path(path) for path in known if _has_size(Path(path), size_bytes)), None)


def is_unchanged(path: Path, image: SentImage) -> bool:
    """Whether an image still has the digest that the record keeps; raises OSError, ValueError or DataError."""
    with open_image(str(path)) as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == (image.file_sha256 or image.sha256)


def _roots(run: LoggedRun) -> Iterator[Path]:
    described: dict[str, Any] = run.facts.described
    for value in (described.get("images_dir"), *map(run.facts.settings.get, _SETTINGS)):
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and one:
                yield Path(os.path.abspath(one))


def _likely(root: Path, variant: str) -> list[Path]:
    folders = [root, root / "images"]
    if variant and os.path.basename(variant) == variant:
        folders = [root / variant / "images", root / variant, *folders]
    return [folder for folder in folders if folder.is_dir()]


def _names_below(roots: list[Path]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    seen = 0
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in names:
                found.setdefault(name, []).append(os.path.join(folder, name))
            seen += len(names)
            if seen > _MOST_FILES:
                return found
    return found


def _has_size(path: Path, size_bytes: int) -> bool:
    """Whether a file is there and has this size; an image inside another file is looked at when it is shown."""
    try:
        if split_name(str(path))[1]:
            return True
        return path.stat().st_size == size_bytes and path.is_file()
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return False
