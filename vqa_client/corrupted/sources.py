"""The images of a folder and its sub-folders, and the name that each one's copies get."""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from vqa_client.errors import DataError, UsageError
from vqa_client.files import natural_key
from vqa_client.images.find import IMAGE_SUFFIXES

_HIDDEN = (".", "~")


class Source(Struct, frozen=True):
    """An image file, and its path inside the folder without the suffix."""

    path: str
    stem: str


def find_sources(images: Path, output: Path) -> list[Source]:
    """Find all images below `images` in natural order, hidden files and `output` left out.

    Raises DataError where there is none or two would get the same name, UsageError where `output` is `images`.
    """
    if not images.is_dir():
        raise DataError(f"{images}: is not a folder", hint="give the folder with the images")
    if os.path.realpath(images) == os.path.realpath(output):
        raise UsageError(f"--output {output} is the folder of images itself", hint="give a folder of its own")
    paths = sorted(_paths(images, os.path.realpath(output)), key=natural_key)
    if not paths:
        raise DataError(f"{images}: no image in it or its folders", hint="give the folder with the images")
    return _named(images, paths)


def _paths(images: Path, output: str) -> Iterator[str]:
    for folder, folders, names in os.walk(images, onerror=_unreadable):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(_HIDDEN) and os.path.realpath(os.path.join(folder, name)) != output
        ]
        for name in names:
            if name.lower().endswith(IMAGE_SUFFIXES) and not name.startswith(_HIDDEN):
                yield os.path.join(folder, name)


def _unreadable(error: OSError) -> None:
    raise DataError(f"{error.filename}: {error.strerror}", hint="give this user the right to read it") from None


def _named(images: Path, paths: list[str]) -> list[Source]:
    found: dict[str, Source] = {}
    for path in paths:
        stem = os.path.splitext(os.path.relpath(path, images))[0]
        if stem in found:
            raise DataError(
                f"{found[stem].path} and {path} would both be called {stem}", hint="rename one, or move it elsewhere"
            )
        found[stem] = Source(path, stem)
    return list(found.values())
