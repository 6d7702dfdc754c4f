"""What a page shows of an image: a link to its file, a small picture, and a note if one is missing."""

import hashlib
import io
import os
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from vqa_client.errors import DataError
from vqa_client.reports.logged_run import LoggedRun
from vqa_client.tables.inside import open_image, split_name
from vqa_client.tables.pictures import is_address
from vqa_client.types import Record, SentImage

SIDE_PIXELS = 360
_QUALITY = 62
MOST_PIXELS = 120_000_000
"""Larger images are not decoded: a file of a few kilobytes may decode to gigabytes."""


def thumbnail(path: Path, side_pixels: int = SIDE_PIXELS) -> bytes | None:
    """A WebP whose sides have at most `side_pixels`; None for a file that can't be shown."""
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
    except Exception:  # decoders raise errors of all kinds for broken files, and a report only lacks a picture then
        return None


def _webp(image: object) -> bytes:
    from PIL import Image

    assert isinstance(image, Image.Image)
    plain = image if image.mode in ("RGB", "RGBA") else image.convert("RGBA" if "transparency" in image.info else "RGB")
    file = io.BytesIO()
    plain.save(file, "WEBP", quality=_QUALITY, method=2)
    return file.getvalue()


_SETTINGS = ("images_dir", "images", "input", "data_root", "data_dir", "results_dir")
"""Settings of any command that name folders of images."""
_MOST_FILES = 500_000
"""How many names below the folders are searched for images that are not directly in them."""


class ImageFiles:
    """Finds the file of an image; `roots`, the folders that the run names, are searched with all below them, once."""

    def __init__(self, run: LoggedRun) -> None:
        self.roots = [root for root in dict.fromkeys(_roots(run)) if root.is_dir()]
        self._folders = [folder for root in self.roots for folder in _likely(root, run.folder)]
        self._below: dict[str, list[str]] | None = None

    def find(self, image: SentImage) -> Path | None:
        """The file with the image's name and size, None if there is none.

        Of several such files with the same image inside, as on the hub, the one with the right bytes is preferred.
        """
        name, size_bytes = image.name, image.file_size_bytes or image.size_bytes
        file, hash_sign, place = name.partition("#")
        if not file or os.path.basename(file) != file:  # a name with a path is not an image's
            return None
        for folder in self._folders:
            if _has_size(folder / name, size_bytes):
                return folder / name
        if self._below is None:
            self._below = _names_below(self.roots)
        known = *self._below.get(name, ()), *(path + hash_sign + place for path in self._below.get(file, ()))
        paths = [path for path in map(Path, known) if _has_size(path, size_bytes)]
        if place and len(paths) > 1:
            paths = [path for path in paths if _has_bytes(path, image)] or paths
        return paths[0] if paths else None


def _has_bytes(path: Path, image: SentImage) -> bool:
    try:
        return is_unchanged(path, image)
    except (OSError, ValueError, DataError):
        return False


def is_unchanged(path: Path, image: SentImage) -> bool:
    """Whether an image still has the digest in the record; raises OSError, ValueError or DataError."""
    with open_image(str(path)) as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == (image.file_sha256 or image.sha256)


def _roots(run: LoggedRun) -> Iterator[Path]:
    described: dict[str, Any] = run.facts.described
    for value in (described.get("images_dir"), *map(run.facts.settings.get, _SETTINGS)):
        for folder in value if isinstance(value, list) else [value]:
            if isinstance(folder, str) and folder:
                yield Path(os.path.abspath(folder))


def _likely(root: Path, variant: str) -> list[Path]:
    folders = [root, root / "images"]
    if variant and os.path.basename(variant) == variant:
        folders = [root / variant / "images", root / variant, *folders]
    return [folder for folder in folders if folder.is_dir()]


def _names_below(roots: list[Path]) -> dict[str, list[str]]:
    paths: dict[str, list[str]] = {}
    n_files = 0
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in names:
                paths.setdefault(name, []).append(os.path.join(folder, name))
            n_files += len(names)
            if n_files > _MOST_FILES:
                return paths
    return paths


def _has_size(path: Path, size_bytes: int) -> bool:
    """Whether a file exists and has this size; an image inside another file is checked when it is shown."""
    try:
        if split_name(str(path))[1]:
            return True
        return path.stat().st_size == size_bytes and path.is_file()
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return False


NOT_FOUND = "the file is not where the run found it"
CHANGED = "the file has changed since it was sent"
NOT_ASKED = "a small picture is left out (--html_images)"
CANT_SHOW = "the file can't be shown"


class ShownImage(Struct, frozen=True, kw_only=True):
    """A link and a small picture, each "" if missing, and a note on why it is missing."""

    href: str = ""
    picture: str = ""
    note: str = ""


Show = Callable[[SentImage], ShownImage]


class Embedded(Struct, frozen=True, kw_only=True):
    """How many pictures a page embeds, and their longest side in pixels for questions with many and with few images."""

    most: int
    of_many: int = 0
    of_few: int = 0


EMBEDDED = {
    "thumbs": Embedded(most=30, of_many=220, of_few=SIDE_PIXELS),
    "full": Embedded(most=2_000, of_many=1_400, of_few=1_400),
    "none": Embedded(most=0),
}
"""By --html_images. A thumbnail of a dense page takes 10 ms: more than 30 would take longer than the rest."""
FEW = 3


class EmbeddedImages:
    """Embeds pictures of the images in `sides`; others are shown from their files, by links relative to the page."""

    def __init__(self, runs: Iterable[LoggedRun], folder: Path, sides: Mapping[SentImage, int]) -> None:
        self._files = list(map(ImageFiles, runs))
        self._folder = folder.resolve()
        self._sides = sides

    def __call__(self, image: SentImage) -> ShownImage:
        """What the page shows of an image."""
        path = next(filter(None, (files.find(image) for files in self._files)), None)
        if path is None:
            return _missing(image)
        inside_another = split_name(str(path))[1]
        href = "" if inside_another else quote(os.path.relpath(path.resolve(), self._folder))
        if image not in self._sides:
            return ShownImage(href=href, note="" if href else NOT_ASKED)
        return _pictured(path, href, image, self._sides[image])


def _missing(image: SentImage) -> ShownImage:
    return ShownImage(note=f"at {image.name}, which the page doesn't fetch" if is_address(image.name) else NOT_FOUND)


def _pictured(path: Path, href: str, image: SentImage, side_pixels: int) -> ShownImage:
    try:
        if not is_unchanged(path, image):
            return ShownImage(href=href, note=CHANGED)
    except (OSError, ValueError, DataError):
        return ShownImage(note=NOT_FOUND)
    if (picture := thumbnail(path, side_pixels)) is None:
        return ShownImage(href=href, note=CANT_SHOW)
    return ShownImage(href=href, picture=f"data:image/webp;base64,{b64encode(picture).decode()}")


class ServedImages:
    """Pictures that a server makes on request; `files` are those that it may send, each with the image that was sent.

    A file that is no longer that image must not be sent.
    """

    def __init__(self, run: LoggedRun) -> None:
        self._finder = ImageFiles(run)
        self._numbers: dict[tuple[Path, str], int] = {}
        self.files: list[tuple[Path, SentImage]] = []

    def __call__(self, image: SentImage) -> ShownImage:
        """What the page shows of an image."""
        path = self._finder.find(image)
        if path is None:
            return _missing(image)
        number = self._numbers.setdefault((path, image.file_sha256 or image.sha256), len(self.files))
        if number == len(self.files):
            self.files.append((path, image))
        return ShownImage(href=f"image/{number}", picture=f"thumbnail/{number}")


def chosen(
    records: Iterable[Record], kept: Embedded, *, later: Callable[[Record], bool] = lambda record: record.score >= 1.0
) -> dict[SentImage, int]:
    """The images to embed, and the longest sides of their pictures in pixels.

    First pages come before second ones, and among these the images of records for which `later` is false.
    """
    best: dict[SentImage, tuple[int, bool, int]] = {}
    sides: dict[SentImage, int] = {}
    for number, record in enumerate(records):
        for page, image in enumerate(record.images):
            rank = page, later(record), number
            best[image] = min(rank, best.get(image, rank))
            side = kept.of_few if len(record.images) <= FEW else kept.of_many
            sides[image] = max(side, sides.get(image, 0))
    return {image: sides[image] for image in sorted(best, key=best.__getitem__)[: kept.most]}
