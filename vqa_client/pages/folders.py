"""Folders of page images: the files in them, and what their metadata.json says."""

import os
from pathlib import Path
from typing import Any, Self

import msgspec
from msgspec import Struct

from vqa_client.errors import UNDECODABLE, DataError
from vqa_client.files import natural_key
from vqa_client.images.find import IMAGE_SUFFIXES

METADATA = "metadata.json"
IMAGES = "images"


class PageFiles(Struct, frozen=True, kw_only=True):
    """The image files of one folder in natural order, and its metadata.json ({} where there is none)."""

    path: Path
    names: tuple[str, ...]
    metadata: dict[str, Any]

    @classmethod
    def of(cls, folder: Path) -> Self:
        """The pages of a folder laid out as `folder/images` or flat; raises DataError where it has none."""
        inner = folder / IMAGES
        path = inner if inner.is_dir() and image_names(inner) else folder
        names = image_names(path)
        if not names:
            hint = "give the folder with images/ID_page_001.png, or those files themselves"
            raise DataError(f"{folder}: no image in it or in its `{IMAGES}` folder", hint=hint)
        return cls(path=path, names=names, metadata=read_metadata(_around(path)))

    @property
    def root(self) -> Path:
        """The folder that people name it by: the one around `images`."""
        return _around(self.path)

    @property
    def name(self) -> str:
        """The name of `root`, also where that is "."."""
        return os.path.basename(os.path.abspath(self.root))

    @property
    def task(self) -> str:
        """The benchmark that the pages were made for, "" where nothing says it."""
        task = self.metadata.get("task")
        return task if isinstance(task, str) else ""


def image_names(folder: Path) -> tuple[str, ...]:
    """The names of the image files in a folder, hidden and temporary ones left out; raises DataError."""
    try:
        with os.scandir(folder) as entries:
            found = [
                e.name for e in entries if e.name.lower().endswith(IMAGE_SUFFIXES) and not e.name.startswith((".", "~"))
            ]
    except OSError as error:
        raise DataError(f"{folder}: {error.strerror}", hint="give the folder with the page images") from None
    return tuple(sorted(found, key=natural_key))


def page_bytes(path: Path) -> bytes:
    """A page file as it is; raises DataError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"can't read {path}: {error.strerror}", hint="the page is gone or not readable") from None


def beside(folder: Path, output: Path) -> str:
    """How a folder is called in the metadata of one in `output`: never by where this machine keeps it."""
    whole, around = Path(os.path.abspath(folder)), Path(os.path.abspath(output)).parent
    return whole.relative_to(around).as_posix() if whole.is_relative_to(around) else whole.name


def _around(images: Path) -> Path:
    return images.parent if images.name == IMAGES else images


def read_metadata(folder: Path) -> dict[str, Any]:
    """What the metadata.json of a folder says, {} where there is none; raises DataError for one that can't be read."""
    path = folder / METADATA
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except FileNotFoundError:
        return {}
    except (OSError, *UNDECODABLE) as error:
        raise DataError(f"can't read {path}: {error}", hint="mend it or take it away") from None
