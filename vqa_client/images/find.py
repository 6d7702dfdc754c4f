"""Images on disk: which folders have page images, which files are a document's pages, and which belongs to a text."""

import os
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from unicodedata import normalize

from msgspec import Struct

from vqa_client.errors import DataError, reading
from vqa_client.files import natural_key
from vqa_client.tables.objects import ListedObject, objects_in
from vqa_client.tables.pdf_pages import page_count
from vqa_client.tables.pictures import is_address, url_of

IMAGE_SUFFIXES = (
    *(".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".mpo"),
    *(".avif", ".heic", ".heif", ".jp2", ".jxl", ".ppm", ".pgm", ".pbm", ".qoi"),
)
"""In lower case. A suffix only selects files; the bytes decide what a file is."""
_HIDDEN = (".", "~")
_nfc = partial(normalize, "NFC")
_DIGITS = re.compile("([0-9]+)")
_NUMBERED = re.compile(r"[_-](?:(?:page|pg|p)[_-]?([0-9]+(?:[_-][0-9]+)*)|([0-9]+))", re.IGNORECASE)
Page = tuple[tuple[int, ...], str]
"""The numbers of a page, and its file name."""


class PageFolder(Struct, frozen=True, kw_only=True):
    """A folder that directly contains page images, and the name of its results."""

    name: str
    path: Path


def page_folders(root: Path) -> list[PageFolder]:
    """Find the image folders of `root`: itself, `images` in it, and each of its folders or the `images` in that.

    A folder called "images" gets its parent's name; if a name is taken, the folder's own name is appended.
    `root` comes first, then its folders in natural order, without hidden ones (".x", "~x"). Raises `DataError`
    if `root` is not a folder, a folder can't be listed, or no folder contains an image.
    """
    folders = sorted((entry.path for entry in entries(root) if _is_folder(entry)), key=natural_key)
    by_name: dict[str, PageFolder] = {}
    for path in (root, *(_with_pages(Path(folder)) for folder in folders)):
        if _holds_images(path):
            name = folder_name(path)
            while name in by_name:
                name += f"_{path.name}"
            by_name[name] = PageFolder(name=name, path=path)
    if not by_name:
        raise DataError(
            f"{url_of(root)}: no image in it, in its `images` folder or in its folders",
            hint="give the folder with images/ID_page_001.png, or a folder of such folders",
        )
    return list(by_name.values())


class PackedNames:
    """File names in one buffer: a million names of 28 characters take 37 MB, 85 in a list."""

    def __init__(self, names: list[str]) -> None:
        self._ends = array("Q", [0])
        self._text = bytearray()
        names.reverse()
        while names:  # frees each name as soon as it is copied
            self._text += names.pop().encode("utf-8", "surrogatepass")
            self._ends.append(len(self._text))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, number: int) -> str:
        return self._text[self._ends[number] : self._ends[number + 1]].decode("utf-8", "surrogatepass")


class PageIndex:
    """The pages of every document in one folder, found by exact id; the folder is listed once.

    `missing` has, for each document that was asked for, the page numbers that are missing between others.

    A page of document ID is a file called, with any image suffix in any case and "-" for "_" anywhere:

    1. ID_page_1, ID_page_001, ID_page1, ID_pg_1, ID_p1, or with more numbers ID_p-001-2 (part 1, page 2);
    2. ID_1, ID_001;
    3. ID alone, for a document of one page.

    Only the first of these three forms that a document has counts, so ID_page_1 is never a page of both ID and a
    document "ID_page". Pages are in the order of their numbers (2 before 10). Nothing else matches: neither ID1
    nor IDf_page_1 nor ID_1_page_1. The id is compared letter by letter, after Unicode NFC, because some systems store
    accents in file names as separate characters. Hidden and temporary files (names that begin with "." or "~") and
    files without an image suffix are left out. A page that is a folder or a broken link still counts as a page, and
    the question fails: a document is never asked without one of its pages.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = url_of(folder)
        self._start = os.path.join(self._folder, "")
        self._names = PackedNames(sorted((file.name for file in entries(folder) if is_named_as_image(file)), key=_nfc))
        self._next = 0  # documents mostly come in the order of their pages' names: a search takes 20 names
        self.missing: dict[str, tuple[int, ...]] = {}

    @property
    def count(self) -> int:
        """The number of image files in the folder."""
        return len(self._names)

    def pages(self, document_id: str) -> tuple[str, ...]:
        """Return the paths of a document's pages in reading order; empty for an id without files.

        Raises `DataError` if two files are the same page.
        """
        owner = _nfc(document_id)
        behind = list(names_behind(self._names, owner, self._next)) if owner else []
        self._next = behind[-1][0] + 1 if behind else self._next
        pages = _pages_of(owner, [name for _, name in behind])
        for (numbers, name), (next_numbers, next_name) in pairwise(pages):
            if numbers == next_numbers:
                raise DataError(
                    f"{self._folder}: {name} and {next_name} are the same page of {document_id!r}",
                    hint="move one of them out of the folder",
                )
        if missing := _missing_numbers(pages):
            self.missing[document_id] = missing
        return tuple([self._start + name for _, name in pages])


def names_behind(names: Sequence[str] | PackedNames, start: str, near: int = 0) -> Iterator[tuple[int, str]]:
    """Select, from names sorted by their NFC, those that begin with `start` (in NFC) and then "-", "." or "_".

    Each name has its place among the names before it. The search begins at the place `near` if no such name is before.
    """
    behind = (start + "-", start + ".", start + "_")  # names of other documents may be between the last two
    at = near if near and _nfc(names[near - 1]) < behind[0] else 0
    while at < len(names):
        key = _nfc(name := names[at])
        if key.startswith(behind):
            yield at, name
            at += 1
        elif key < behind[2]:
            at = bisect_left(names, behind[0] if key < behind[0] else behind[2], at, key=_nfc)
        else:
            return


def _pages_of(owner: str, names: Iterable[str]) -> list[Page]:
    """The pages of a document in order, from the names that begin with its id."""
    by_form: dict[int, list[Page]] = {}
    for name in names:
        stem = _nfc(name).rpartition(".")[0]
        if match := _NUMBERED.fullmatch(stem, len(owner)):
            numbers = tuple(map(int, _DIGITS.findall(match[1] or match[2])))
            by_form.setdefault(1 if match[1] else 2, []).append((numbers, name))
        elif stem == owner:
            by_form.setdefault(3, []).append(((), name))
    return sorted(by_form[min(by_form)]) if by_form else []


def _missing_numbers(pages: list[Page]) -> tuple[int, ...]:
    """The missing numbers between the first page (0 or 1) and the last; pages with part numbers are not counted."""
    if not pages or any(len(numbers) != 1 for numbers, _ in pages):
        return ()
    there = [numbers[0] for numbers, _ in pages]
    first = min(1, there[0])
    gapless = there[-1] - first == len(there) - 1
    return () if gapless else tuple(sorted({*range(first, there[-1])} - {*there}))


def _with_pages(folder: Path) -> Path:
    """Return the folder's `images` if that contains images, else the folder."""
    inner = folder / "images"
    is_there = is_address(inner) or inner.is_dir()
    return inner if folder.name != "images" and is_there and _holds_images(inner) else folder


def folder_name(path: Path) -> str:
    """The name for the images of a folder: the folder's name, or its parent's if it is called "images"."""
    whole = Path(os.path.abspath(path))
    return (whole.parent.name if whole.name == "images" else whole.name) or "images"


def _holds_images(folder: Path) -> bool:
    return any(is_named_as_image(entry) and entry.is_file() for entry in entries(folder))


def entries(folder: Path) -> Iterator[os.DirEntry[str] | ListedObject]:
    """List a folder without its hidden files; raises DataError if it can't be listed."""
    if is_address(folder):
        yield from (entry for entry in objects_in(url_of(folder)) if not entry.name.startswith(_HIDDEN))
        return
    with reading(folder, "give the folder with the page images"), os.scandir(folder) as entries:
        yield from (entry for entry in entries if not entry.name.startswith(_HIDDEN))


def _is_folder(entry: os.DirEntry[str] | ListedObject) -> bool:
    """A link that points to itself is not a folder."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_named_as_image(entry: os.DirEntry[str] | ListedObject) -> bool:
    """Whether a name has an image suffix."""
    return entry.name.lower().endswith(IMAGE_SUFFIXES)


def pages_of(document: str) -> tuple[str, ...]:
    """The pages, in reading order, of a document with a path such as documents/report.pdf.

    They are the images in the folder documents/report; else report_page_001.png and so on, as `PageIndex` finds them,
    in documents, in its `images`, or in the folder above; else the pages of the PDF itself, drawn at 144 dpi.
    Without pages, the path itself is returned.
    """
    return _drawn_before(document) or _in_document(document)


def picture_of(text: str, apart: str) -> tuple[str, str]:
    """The image of the same name as a text file, and the name of the folder that both are in.

    Both are in one folder, or the text is in a folder called `apart` and the image in the folder `images` beside it.
    """
    folder, name = Path(text).parent, Path(text).stem
    pictures = folder.parent / "images" if folder.name == apart else folder
    paths = (pictures / f"{name}{suffix}" for suffix in IMAGE_SUFFIXES)
    image = next((path for path in paths if path.is_file()), pictures / f"{name}.jpg")
    return str(image), (folder.parent if folder.name == apart else folder).name


def _in_document(document: str) -> tuple[str, ...]:
    try:
        count = page_count(document)
    except (ValueError, OSError):
        return (document,)  # the question fails with this image, and its error says why
    return tuple(f"{document}#{number}@144" for number in range(1, count + 1))


def _drawn_before(document: str) -> tuple[str, ...]:
    folder, name = os.path.split(document.removesuffix(".pdf"))
    for place in (folder, os.path.dirname(folder)):
        inside = os.path.join(place, name)
        if os.path.isdir(inside):
            names = [entry.name for entry in entries(Path(inside)) if is_named_as_image(entry)]
            return tuple(os.path.join(inside, image) for image in sorted(names, key=natural_key))
        for where in (place, os.path.join(place, "images")):
            if os.path.isdir(where) and (pages := _index_of(where).pages(name)):
                return pages
    return ()


@lru_cache(maxsize=4)
def _index_of(folder: str) -> PageIndex:
    return PageIndex(Path(folder))
