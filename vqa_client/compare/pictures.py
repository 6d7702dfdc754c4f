"""Small pictures of the images that flipped questions are about, where their files are still found."""

import contextlib
import os
from pathlib import Path

from vqa_client.compare.sides import Side
from vqa_client.compare.tags import Markup, tag
from vqa_client.errors import DataError
from vqa_client.html.image_files import ImageFiles, is_unchanged
from vqa_client.html.shown_images import link_to
from vqa_client.html.thumbnails import as_data_url, thumbnail
from vqa_client.types import SentImage


class Pictures:
    """Makes each picture once, `most` in all; a file that isn't what was sent is not shown."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = Path(os.path.realpath(folder))
        self._left = most
        self._finders: dict[Path, ImageFiles] = {}
        self._made: dict[tuple[Path, SentImage], tuple[str, str]] = {}

    def figure(self, image: SentImage, side: Side) -> Markup:
        """The image's name, with its picture and a link where the file is found."""
        key = side.path, image
        if key not in self._made:
            self._made[key] = self._look_up(image, side)
        href, picture = self._made[key]
        told = " · ".join((image.name, *image.transforms))
        caption = tag("figcaption", tag("a", told, href=href) if href else told)
        return tag("figure", tag("img", src=picture, alt=told, loading="lazy") if picture else "", caption)

    def _look_up(self, image: SentImage, side: Side) -> tuple[str, str]:
        path = self._find(image, side)
        if path is None:
            return "", ""
        href = link_to(path, self._folder)
        if self._left <= 0:
            return href, ""
        self._left -= 1
        small = thumbnail(path)
        return href, as_data_url(small) if small else ""

    def _find(self, image: SentImage, side: Side) -> Path | None:
        for run in side.runs:
            finder = self._finders.setdefault(run.log, ImageFiles(run))
            with contextlib.suppress(OSError, ValueError, DataError):
                path = finder.find(image)
                if path is not None and is_unchanged(path, image):
                    return path
        return None
