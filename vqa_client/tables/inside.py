"""Opens data files by their content, and images by their names: an image is a file, or at a place inside a file.

`test.parquet#5310:image[0]` is a cell of a table, `shard.tar#0001.jpg` a member of a tar, `a.pdf#3@144` a page, and
`rows.tsv#7:image#3@144` a page of the document in a cell.
"""

import hashlib
import os
from functools import lru_cache
from io import BufferedReader, BytesIO
from pathlib import Path
from threading import RLock
from urllib.parse import urlsplit

from vqa_client.errors import DataError, reading
from vqa_client.files import FileState, state_of
from vqa_client.tables.pdf_pages import PdfPages, document_of, page_in_cell
from vqa_client.tables.pictures import is_address
from vqa_client.tables.rows import FORMS_HINT, Table

MOST_OPEN = 16
_HEAD_BYTES = 4096
_IMAGE = "give the file with the questions, or a folder of images"
_OTHERS = (
    (b"\x1f\x8b", "gzip", "gunzip it first"),
    (b"\x28\xb5\x2f\xfd", "Zstandard", "unpack it first by `unzstd`"),
    (b"PK\3\4", "a ZIP archive, or a spreadsheet", "unpack it, or save the sheet as CSV in UTF-8"),
    (b"ARROW1", "an Arrow file", "save it as Parquet"),
    (b"\xff\xfe", "text in UTF-16", "save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "save it as UTF-8"),
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself", "run `git lfs pull` where it came from"),
    (b"\xff\xd8\xff", "a JPEG image", _IMAGE),
    (b"\x89PNG", "a PNG image", _IMAGE),
    (b"<", "markup", "the server may have sent a page in its place; fetch it again"),
)


def open_table(path: Path, records: str = "", header: tuple[str, ...] = ()) -> Table:
    """Open a data file in the form that its content has, independent of its name.

    `records` is the key of a JSON file's rows, `header` names the columns of text that has no header line. A reader is
    imported when a file of its kind is opened.
    """
    if header:
        return _delimited(path, header)
    with reading(path), path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(b"PAR1"):
        from vqa_client.tables.parquet_table import ParquetTable

        return ParquetTable(path)
    if head[257:262] == b"ustar":
        from vqa_client.tables.tar_table import TarTable

        return TarTable(path)
    if head.startswith(b"%PDF"):
        return PdfPages(path)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] in (b"[", b"{"):
        from vqa_client.tables.json_table import JsonTable

        return JsonTable(path, records)
    for magic, what, hint in _OTHERS:
        if text.startswith(magic):
            raise DataError(f"{path} is {what}: these are not rows", hint=hint)
    if not text:
        raise DataError(f"{path} is empty", hint=FORMS_HINT)
    return _delimited(path)


def _delimited(path: Path, header: tuple[str, ...] = ()) -> Table:
    from vqa_client.tables.delimited import DelimitedTable

    return DelimitedTable(path, header)


_CONTAINERS: set[str] = set()
"""Files with images inside: the system isn't asked again for each of a million images."""
_MOST_CONTAINERS = 10_000


def split_name(name: str) -> tuple[str, str]:
    """The file that an image is in, and its place there; "" if the image is the file."""
    at = name.find("#")
    if at < 0 or (name[:at] not in _CONTAINERS and os.path.isfile(name)):
        return name, ""
    while at >= 0:
        path = name[:at]
        if path in _CONTAINERS or os.path.isfile(path):
            if len(_CONTAINERS) >= _MOST_CONTAINERS:
                _CONTAINERS.clear()
            _CONTAINERS.add(path)
            return path, name[at + 1 :]
        at = name.find("#", at + 1)
    return name, ""


def short_name(name: str) -> str:
    """An image's name without the folder of its file; an address without user, query and fragment, which may be secret.

    The digest of a query is added, since it may name the image.
    """
    if is_address(name):
        try:
            parts = urlsplit(name)
        except ValueError:  # a bracket that isn't closed
            scheme, _, rest = name.partition("://")
            return f"{scheme}://{rest.partition('?')[0].partition('#')[0].rpartition('@')[2]}"
        query = f"?{hashlib.sha256(parts.query.encode()).hexdigest()[:8]}" if parts.query else ""
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{query}"
    path, place = split_name(name)
    return os.path.basename(path) + (f"#{place}" if place else "")


_LOCK = RLock()
"""Held while a table of `opened_table` is read: all threads share the tables."""


def opened_table(path: str) -> tuple[Table, FileState]:
    """A file's table, which stays open for the next image, and the file's state; a changed file is opened again."""
    state = state_of(os.stat(path))
    return _open_in_state(path, state), state


@lru_cache(maxsize=MOST_OPEN)
def _open_in_state(path: str, state: FileState) -> Table:
    del state
    return open_table(Path(path))


def image_inside(path: str, place: str) -> tuple[bytes, FileState]:
    """The bytes of the image at a place in a file, and the file's state; raises DataError, ValueError or OSError."""
    document, page = document_of(f"{path}#{place}")
    if page and document != path:
        content, state = image_inside(path, document[len(path) + 1 :])
        return page_in_cell(f"{path}#{place}", content), state
    with _LOCK:
        table, state = opened_table(path)
        if not isinstance(table, PdfPages):
            return _image(table, place), state
    return table.image(place), state  # without the lock: threads wait for several processes


def image_at_once(path: str, place: str) -> tuple[bytes, FileState] | None:
    """As `image_inside`; None if that takes longer than reading a file of the image's size."""
    with _LOCK:
        table, state = opened_table(path)
        is_near = table.is_near(place) and not document_of(f"{path}#{place}")[1]
        return (_image(table, place), state) if is_near else None


def _image(table: Table, place: str) -> bytes:
    try:
        return table.image(place)
    except LookupError as error:
        raise ValueError(str(error.args[0] if error.args else error)) from None


def open_image(name: str) -> BufferedReader | BytesIO:
    """Open an image wherever it is; raises DataError, ValueError or OSError."""
    path, place = split_name(name)
    return BytesIO(image_inside(path, place)[0]) if place else open(path, "rb")
