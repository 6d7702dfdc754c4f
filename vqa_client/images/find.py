"""Page images on disk: which folders hold some, and which files are the pages of a document, in reading order."""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from unicodedata import normalize

from msgspec import Struct

from vqa_client.errors import DataError
from vqa_client.files import natural_key
from vqa_client.images.sorted_names import Row, SortedNames
from vqa_client.tables.objects import Entry, objects_in
from vqa_client.tables.pdf_pages import page_count
from vqa_client.tables.pictures import is_address, url_of

IMAGE_SUFFIXES = (
    *(".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".mpo"),
    *(".avif", ".heic", ".heif", ".jp2", ".jxl", ".ppm", ".pgm", ".pbm", ".qoi"),
)
"""Compared in lower case. The suffix only says that a file is meant as an image; its bytes say what it is."""
_HIDDEN = (".", "~")
_DIGITS = re.compile("([0-9]+)")
_NUMBERED = re.compile(r"[_-](?:(?:page|pg|p)[_-]?([0-9]+(?:[_-][0-9]+)*)|([0-9]+))", re.IGNORECASE)
Page = tuple[tuple[int, ...], str]
"""The numbers and the name of a page."""


class PageFolder(Struct, frozen=True, kw_only=True):
    """A folder that directly holds page images, and the name that its results go by."""

    name: str
    path: Path


def page_folders(root: Path) -> list[PageFolder]:
    """Find the image folders of `root`: itself, `images` in it, and each of its folders or the `images` in that.

    A folder called "images" goes by its parent's name; a name that is taken gets the folder's own name behind it.
    `root` comes first, then its folders in natural order; hidden ones (".x", "~x") are left out. Raises `DataError`
    where `root` is no folder, a folder can't be listed, or none holds an image.
    """
    folders = sorted((entry.path for entry in _entries(root) if _is_folder(entry)), key=natural_key)
    found: dict[str, PageFolder] = {}
    for path in (root, *(_with_pages(Path(folder)) for folder in folders)):
        if _holds_images(path):
            name = folder_name(path)
            while name in found:
                name += f"_{path.name}"
            found[name] = PageFolder(name=name, path=path)
    if not found:
        raise DataError(
            f"{url_of(root)}: no image in it, in its `images` folder or in its folders",
            hint="give the folder with images/ID_page_001.png, or a folder of such folders",
        )
    return list(found.values())


class PageIndex:
    """The pages of every document in one folder, found by exact id with one look at the folder.

    `missing` names, for each document that was asked for, the page numbers that a gap leaves out.

    A page of document ID is a file called, with any image suffix in any case and "-" for "_" anywhere:

    1. ID_page_1, ID_page_001, ID_page1, ID_pg_1, ID_p1, or with more numbers ID_p-001-2 (part 1, page 2);
    2. ID_1, ID_001;
    3. ID alone, for a document of one page.

    Only the first of these three forms that a document has counts, so that ID_page_1 is never a page of both ID and
    of a document "ID_page". Pages come in the order of their numbers (2 before 10). Nothing else matches: neither ID1
    nor IDf_page_1 nor ID_1_page_1. The id is compared letter by letter (after Unicode NFC: some systems take the
    accents in file names apart). Left out are hidden and temporary files (names that begin with "." or "~") and files
    without an image suffix. A page that is a folder or a link to nothing stays a page, and fails as one: a document
    is never asked without it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = url_of(folder)
        self._apart: dict[str, list[str]] = {}
        self._names = SortedNames(self._composed(entry.name) for entry in _entries(folder) if _is_named_as_image(entry))
        self.missing: dict[str, tuple[int, ...]] = {}

    @property
    def count(self) -> int:
        """The number of image files in the folder."""
        return len(self._names)

    def pages(self, document_id: str) -> tuple[str, ...]:
        """Give the paths of a document's pages in reading order; none for an id that has no file.

        Raises `DataError` where two files are the same page.
        """
        wanted = normalize("NFC", document_id)
        rows = list(self._names.after(wanted)) if wanted else []
        found = _numbered(wanted, rows) or self._alone(wanted, rows)
        for (numbers, name), (next_numbers, next_name) in pairwise(found):
            if numbers == next_numbers:
                name, next_name = self._spelt([name, next_name])
                raise DataError(
                    f"{self._folder}: {name} and {next_name} are the same page of {document_id!r}",
                    hint="move one of them out of the folder",
                )
        if missing := _missing(found):
            self.missing[document_id] = missing
        start = os.path.join(self._folder, "")
        return tuple([start + name for name in self._spelt([name for _, name in found])])

    def _alone(self, wanted: str, rows: list[Row]) -> list[Page]:
        """Give the file that is the id and a suffix; it may stand amid a row that begins before it."""
        before = self._names.before(wanted + ".")
        every = rows if before is None else [before, *rows]
        return sorted(((), name) for row in every if (name := row.named(wanted)) is not None)

    def _composed(self, name: str) -> str:
        """Give the form of a name under which it is looked up, and keep how it is spelt where that differs."""
        composed = normalize("NFC", name)
        if composed != name:
            self._apart.setdefault(composed, []).append(name)
        return composed

    def _spelt(self, names: list[str]) -> list[str]:
        """Give names as they are on disk; of two that are composed alike, each once."""
        if not self._apart:
            return names
        spelt = []
        for place, name in enumerate(names):
            spellings = self._apart.get(name, [])
            earlier = names[:place].count(name)
            spelt.append(spellings[earlier] if earlier < len(spellings) else name)
        return spelt


def pages_of(document: str, dpi: int = 144) -> tuple[str, ...]:
    """The pages of a document that is named by its path, such as documents/report.pdf, in reading order.

    They are the images in the folder documents/report, else report_page_001.png and so on, as `PageIndex` finds them,
    in documents or its `images`, or in the folder above; else the pages of the PDF itself, as they are drawn at `dpi`.
    Without pages it is the path itself.
    """
    return _drawn_before(document) or _in_document(document, dpi)


def picture_of(text: str, apart: str) -> tuple[str, str]:
    """The image of the same name as a text file, and the name of the folder that both are in.

    They are side by side, or the text is in a folder that is called `apart` and the image in `images` beside that.
    """
    folder, name = Path(text).parent, Path(text).stem
    pictures = folder.parent / "images" if folder.name == apart else folder
    paths = (pictures / f"{name}{suffix}" for suffix in IMAGE_SUFFIXES)
    image = next((path for path in paths if path.is_file()), pictures / f"{name}.jpg")
    return str(image), (folder.parent if folder.name == apart else folder).name


def _in_document(document: str, dpi: int) -> tuple[str, ...]:
    try:
        count = page_count(document)
    except (ValueError, OSError):
        return (document,)  # the question fails by its image, which says why
    return tuple(f"{document}#{number}@{dpi}" for number in range(1, count + 1))


def _drawn_before(document: str) -> tuple[str, ...]:
    folder, name = os.path.split(document.removesuffix(".pdf"))
    for place in (folder, os.path.dirname(folder)):
        inside = os.path.join(place, name)
        if os.path.isdir(inside):
            names = [entry.name for entry in _entries(Path(inside)) if _is_named_as_image(entry)]
            return tuple(os.path.join(inside, each) for each in sorted(names, key=natural_key))
        for where in (place, os.path.join(place, "images")):
            if os.path.isdir(where) and (pages := _index_of(where).pages(name)):
                return pages
    return ()


@lru_cache(maxsize=4)
def _index_of(folder: str) -> PageIndex:
    return PageIndex(Path(folder))


def _numbered(wanted: str, rows: list[Row]) -> list[Page]:
    """Give the numbered pages in order; a row of names is one claim."""
    claims = [(form, numbers, row) for row in rows for form, numbers in _claims(wanted, row.first)]
    first_form = min((form for form, _, _ in claims), default=0)
    return sorted(
        ((*numbers[:-1], number), name)
        for form, numbers, row in claims
        if form == first_form
        for number, name in enumerate(row.names(), numbers[-1])
    )


def _missing(pages: list[Page]) -> tuple[int, ...]:
    """The numbers between the first page (0 or 1) and the last that no page has; pages of parts are not counted."""
    if not pages or any(len(numbers) != 1 for numbers, _ in pages):
        return ()
    there = [numbers[0] for numbers, _ in pages]
    first = min(1, there[0])
    gapless = there[-1] - first == len(there) - 1
    return () if gapless else tuple(sorted({*range(first, there[-1])} - {*there}))


def _with_pages(folder: Path) -> Path:
    """Step into the `images` of a folder where there are some."""
    inner = folder / "images"
    is_there = is_address(inner) or inner.is_dir()
    return inner if folder.name != "images" and is_there and _holds_images(inner) else folder


def folder_name(path: Path) -> str:
    """What the images of a folder go by: its name, or its parent's where it is called "images"."""
    whole = Path(os.path.abspath(path))
    return (whole.parent.name if whole.name == "images" else whole.name) or "images"


def _holds_images(folder: Path) -> bool:
    return any(_is_named_as_image(entry) and entry.is_file() for entry in _entries(folder))


def _entries(folder: Path) -> Iterator[os.DirEntry[str] | Entry]:
    if is_address(folder):
        yield from (entry for entry in objects_in(url_of(folder)) if not entry.name.startswith(_HIDDEN))
        return
    try:
        with os.scandir(folder) as entries:
            yield from (entry for entry in entries if not entry.name.startswith(_HIDDEN))
    except OSError as error:
        raise DataError(f"{folder}: {error.strerror}", hint="give the folder with the page images") from None


def _is_folder(entry: os.DirEntry[str] | Entry) -> bool:
    """A link that leads round to itself is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_named_as_image(entry: os.DirEntry[str] | Entry) -> bool:
    return entry.name.lower().endswith(IMAGE_SUFFIXES)


def _claims(owner: str, name: str) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield as which numbered page of `owner` a file that begins with this id counts: the form and its numbers."""
    stem, _, _ = name.rpartition(".")
    if found := _NUMBERED.fullmatch(stem, len(owner)):
        yield 1 if found[1] else 2, tuple(map(int, _DIGITS.findall(found[1] or found[2])))
