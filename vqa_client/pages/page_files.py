"""Reads page images of any format as grey or RGB pixels, and writes PNG files with a stamp of what they were made from.

Also names page files and checks whether they are whole.
"""

import hashlib
import io
import os
import re
import struct
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec import Struct

from vqa_client.errors import UNDECODABLE, DataError, QuestionFailed, UsageError
from vqa_client.files import natural_key, replacing
from vqa_client.images.find import entries, is_named_as_image
from vqa_client.images.recode import decoded

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.PngImagePlugin import PngInfo

COMPRESSION = {"compress_level": 4, "compress_type": 0}
"""On pages of text as small as Pillow's default and a quarter faster: 10.3 instead of 14.1 ms for 129 KB at dpi 96."""
COMPRESS_LEVEL = 6
"""For perturbed pages: 11 ms and 70 KB a page; level 3 takes 7 ms and 82 KB, level 9 73 ms and 68 KB."""
_KEYWORD = "vqa-client"
_CHUNK = b"tEXt" + _KEYWORD.encode() + b"\0"
_STAMP_WITHIN_BYTES = 256
_END = b"IEND\xaeB`\x82"
_NUMBERED = re.compile(r"(.+)_page_(\d+)\.png", re.DOTALL)


def read_page(data: bytes, path: str) -> "Image":
    """Decode an image file: upright, opaque, 8 bits per channel, mode L if it is stored in greys, else RGB.

    Raises DataError that names the file.
    """
    try:
        pixels = decoded(data, path)
    except QuestionFailed as error:
        raise DataError(str(error), hint=error.hint) from None
    pixels.info = {}
    return pixels.convert("L" if _is_grey(pixels) else "RGB")


def _is_grey(pixels: "Image") -> bool:
    palette = pixels.getpalette() if pixels.mode == "P" else None
    return pixels.mode in ("1", "L") or bool(palette and palette[::3] == palette[1::3] == palette[2::3])


def png(pixels: "Image", stamped: str = "") -> bytes:
    """Encode a page as PNG, always to the same bytes, with a text chunk that `stamp_of` reads."""
    buffer = io.BytesIO()
    pixels.save(buffer, "PNG", compress_level=COMPRESS_LEVEL, pnginfo=_png_info(stamped))
    return buffer.getvalue()


def _png_info(stamped: str) -> "PngInfo":
    from PIL.PngImagePlugin import PngInfo

    about = PngInfo()
    if stamped:
        about.add_text(_KEYWORD, stamped)
    return about


def stamp_of(data: bytes) -> str | None:
    """The stamp in a PNG; "" if the file is cut, None if `png` didn't write it."""
    at = data.find(_CHUNK, 0, _STAMP_WITHIN_BYTES)
    if at < 0:
        return None if data else ""
    (length,) = struct.unpack_from(">I", data, at - 4)
    text = data[at + len(_CHUNK) : at + 4 + length].decode("latin-1")
    return text if data.endswith(_END) else ""


def page_name(document_id: str, number: int) -> str:
    """The file name of a page; numbers count from 1."""
    return f"{document_id}_page_{number:03d}.png"


def stamp(made_sha256: str, text_sha256: str, number: int) -> str:
    """The stamp of a page: a digest of style, fonts and versions, the document's text, and the page number."""
    return hashlib.sha256(f"{made_sha256} {text_sha256} {number}".encode()).hexdigest()[:32]


def write_page(path: Path, image: "Image", dpi: int, stamped: str) -> int:
    """Write a PNG with its stamp and return its size in bytes; raises OutputError if it can't be written."""
    with replacing(path) as file:
        image.save(file, "PNG", **COMPRESSION, dpi=(dpi, dpi), pnginfo=_png_info(stamped))
        return file.tell()


def whole_page_bytes(path: Path, stamped: str) -> int:
    """The size in bytes of a page that is whole and has this stamp, else 0."""
    try:
        with open(path, "rb") as file:
            head = file.read(_STAMP_WITHIN_BYTES)
            size_bytes = file.seek(-len(_END), os.SEEK_END) + len(_END)
            return size_bytes if stamped.encode() in head and file.read() == _END else 0
    except OSError:
        return 0


def last_pages(folder: Path) -> dict[str, int]:
    """The highest page number of each document in a folder."""
    highest: dict[str, int] = {}
    for name in _names(folder):
        if match := _NUMBERED.fullmatch(name):
            highest[match[1]] = max(highest.get(match[1], 0), int(match[2]))
    return highest


def remove_pages(folder: Path, document_id: str, first: int, last: int) -> None:
    """Delete pages that an earlier, longer text had; raises UsageError if they can't be deleted."""
    for number in range(first, last + 1):
        path = folder / page_name(document_id, number)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(f"can't remove {path}: {error.strerror}", hint="give another --output") from None


def whole_pages(folder: Path, document_id: str, made_sha256: str, text_sha256: str) -> Iterator[int]:
    """The sizes in bytes of a document's pages, from the first to the last before one that isn't whole."""
    for number in count(1):
        size_bytes = whole_page_bytes(folder / page_name(document_id, number), stamp(made_sha256, text_sha256, number))
        if not size_bytes:
            return
        yield size_bytes


def _names(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as listed:
            yield from (entry.name for entry in listed)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"can't read {folder}: {error.strerror}", hint="give another --output") from None


METADATA = "metadata.json"
IMAGES = "images"


class PageFiles(Struct, frozen=True, kw_only=True):
    """The image files of one folder in natural order, and its metadata.json ({} if there is none)."""

    path: Path
    names: tuple[str, ...]
    metadata: dict[str, Any]

    @classmethod
    def of(cls, folder: Path) -> Self:
        """The pages in `folder/images` or in the folder itself; raises DataError if there are none."""
        inner = folder / IMAGES
        path = inner if inner.is_dir() and image_names(inner) else folder
        names = image_names(path)
        if not names:
            hint = "give the folder with images/ID_page_001.png, or those files themselves"
            raise DataError(f"{folder}: no image in it or in its `{IMAGES}` folder", hint=hint)
        return cls(path=path, names=names, metadata=read_metadata(_parent_of(path)))

    @property
    def root(self) -> Path:
        """The folder that gives the name: the parent of `images`."""
        return _parent_of(self.path)

    @property
    def name(self) -> str:
        """The name of `root`, also if that is "."."""
        return os.path.basename(os.path.abspath(self.root))

    @property
    def task(self) -> str:
        """The benchmark that the pages were made for, "" if the metadata doesn't say."""
        task = self.metadata.get("task")
        return task if isinstance(task, str) else ""


def image_names(folder: Path) -> tuple[str, ...]:
    """The names of the image files in a folder, without hidden and temporary files; raises DataError."""
    return tuple(sorted((entry.name for entry in entries(folder) if is_named_as_image(entry)), key=natural_key))


def page_bytes(path: Path) -> bytes:
    """The bytes of a page file; raises DataError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"can't read {path}: {error.strerror}", hint="the page is gone or not readable") from None


def beside(folder: Path, output: Path) -> str:
    """A folder's path for the metadata of a folder in `output`: relative, so that it isn't this machine's."""
    whole, around = Path(os.path.abspath(folder)), Path(os.path.abspath(output)).parent
    return whole.relative_to(around).as_posix() if whole.is_relative_to(around) else whole.name


def _parent_of(images: Path) -> Path:
    return images.parent if images.name == IMAGES else images


def read_metadata(folder: Path) -> dict[str, Any]:
    """The metadata.json of a folder, {} if there is none; raises DataError if it can't be read."""
    path = folder / METADATA
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except FileNotFoundError:
        return {}
    except (OSError, *UNDECODABLE) as error:
        raise DataError(f"can't read {path}: {error}", hint="mend it or take it away") from None
