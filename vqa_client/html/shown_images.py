"""What a page shows of an image: a link to its file, a small picture, and what to know of them."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from vqa_client.errors import DataError
from vqa_client.html.image_files import SIDE_PIXELS, ImageFiles, as_data_url, is_unchanged, thumbnail
from vqa_client.reports.logged_run import LoggedRun
from vqa_client.tables.inside import split_name
from vqa_client.tables.pictures import is_address
from vqa_client.types import Record, SentImage

NOT_FOUND = "the file is not where the run found it"
CHANGED = "the file has changed since it was sent"
NOT_ASKED = "a small picture is left out (--html_images)"
CANT_SHOW = "the file can't be shown"


class Shown(Struct, frozen=True, kw_only=True):
    """A link and a small picture, each "" where there is none, and a note on why not."""

    href: str = ""
    picture: str = ""
    note: str = ""


Show = Callable[[SentImage], Shown]


class Kept(Struct, frozen=True, kw_only=True):
    """How many pictures a page has inside it, and their longest side in pixels, where a question has many and few."""

    most: int
    of_many: int = 0
    of_few: int = 0


KEPT = {
    "thumbs": Kept(most=30, of_many=220, of_few=SIDE_PIXELS),
    "full": Kept(most=2_000, of_many=1_400, of_few=1_400),
    "none": Kept(most=0),
}
"""By --html_images. A thumbnail of a dense page takes 10 ms: more than some 30 would cost more than the rest."""
FEW = 3


class EmbeddedImages:
    """Pictures of the `sides` inside the page; others are linked relative to the page's folder and shown from there."""

    def __init__(self, runs: Iterable[LoggedRun], folder: Path, sides: Mapping[SentImage, int]) -> None:
        self._files = list(map(ImageFiles, runs))
        self._folder = folder.resolve()
        self._sides = sides

    def __call__(self, image: SentImage) -> Shown:
        """What is shown of an image."""
        path = next(filter(None, (files.find(image) for files in self._files)), None)
        if path is None:
            return _missing(image)
        href = link_to(path, self._folder)
        if image not in self._sides:
            return Shown(href=href, note="" if href else NOT_ASKED)
        return _pictured(path, href, image, self._sides[image])


def _missing(image: SentImage) -> Shown:
    return Shown(note=f"at {image.name}, which the page doesn't fetch" if is_address(image.name) else NOT_FOUND)


def link_to(path: Path, folder: Path) -> str:
    """The address of an image's file relative to a folder; "" for one inside another file."""
    return "" if split_name(str(path))[1] else quote(os.path.relpath(path.resolve(), folder))


def _pictured(path: Path, href: str, image: SentImage, side_pixels: int) -> Shown:
    try:
        if not is_unchanged(path, image):
            return Shown(href=href, note=CHANGED)
    except (OSError, ValueError, DataError):
        return Shown(note=NOT_FOUND)
    picture = thumbnail(path, side_pixels)
    return Shown(href=href, picture=as_data_url(picture)) if picture else Shown(href=href, note=CANT_SHOW)


class ServedImages:
    """Pictures that a server makes when they are looked at; `files` are those it may give out, by number.

    A file that is no longer the image that was `sent` must not be given out for it.
    """

    def __init__(self, run: LoggedRun) -> None:
        self._finder = ImageFiles(run)
        self._numbers: dict[tuple[Path, str], int] = {}
        self.files: list[Path] = []
        self.sent: list[SentImage] = []

    def __call__(self, image: SentImage) -> Shown:
        """What is shown of an image."""
        path = self._finder.find(image)
        if path is None:
            return _missing(image)
        number = self._numbers.setdefault((path, image.file_sha256 or image.sha256), len(self.files))
        if number == len(self.files):
            self.files.append(path)
            self.sent.append(image)
        return Shown(href=f"image/{number}", picture=f"thumbnail/{number}")


def chosen(
    records: Iterable[Record], kept: Kept, *, later: Callable[[Record], bool] = lambda record: record.score >= 1.0
) -> dict[SentImage, int]:
    """The images that are pictured, and their sides: first pages before second ones, those of wrong answers first.

    `later` says of which records the images come after those of others.
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
