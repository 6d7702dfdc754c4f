"""Page images on disk: which folders hold some, and which files are the pages of a document, in reading order."""

import heapq
import mmap
import os
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from unicodedata import normalize

from msgspec import Struct

from vqa_client.errors import DataError
from vqa_client.files import natural_key
from vqa_client.tables.objects import Entry, objects_in
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
_CHUNK_NAMES = 8192
_BLOCK_ENTRIES = 16
_RELEASE_BYTES = 64 << 10
_END, _TIMES = b"\0", b"/"
"""Neither can stand in a file name."""


class Row(Struct, frozen=True):
    """A name, and `count` - 1 that follow it, where only the number before the suffix grows, each time by one."""

    first: str
    count: int = 1

    def names(self) -> list[str]:
        if self.count == 1:
            return [self.first]
        head, number, suffix = self._parts()
        return [f"{head}{page:0{len(number)}}{suffix}" for page in range(int(number), int(number) + self.count)]

    def named(self, stem: str) -> str | None:
        """The one that is `stem` and a suffix, however many there are."""
        head, number, suffix = self._parts()
        if stem == head + number:
            return self.first
        own = stem.removeprefix(head)
        follows = len(own) == len(number) and own.isascii() and own.isdigit() and head + own == stem
        return stem + suffix if follows and 0 < int(own) - int(number) < self.count else None

    def _parts(self) -> tuple[str, str, str]:
        """What stands before the number, the number, and the suffix; without a number it is empty."""
        stem, dot, suffix = self.first.rpartition(".")
        head = stem.rstrip("0123456789")
        return head, stem[len(head) :], dot + suffix


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
        self._start = os.path.join(self._folder, "")
        self._apart: dict[str, list[str]] = {}
        self._names = SortedNames(self._compose(entry.name) for entry in entries(folder) if is_named_as_image(entry))
        self.missing: dict[str, tuple[int, ...]] = {}

    @property
    def count(self) -> int:
        """The number of image files in the folder."""
        return len(self._names)

    def pages(self, document_id: str) -> tuple[str, ...]:
        """Give the paths of a document's pages in reading order; none for an id that has no file.

        Raises `DataError` where two files are the same page.
        """
        owner = normalize("NFC", document_id)
        rows = list(self._names.after(owner)) if owner else []
        pages = _numbered_pages(owner, rows) or self._single_file(owner, rows)
        for (numbers, name), (next_numbers, next_name) in pairwise(pages):
            if numbers == next_numbers:
                name, next_name = self._spellings([name, next_name])
                raise DataError(
                    f"{self._folder}: {name} and {next_name} are the same page of {document_id!r}",
                    hint="move one of them out of the folder",
                )
        if missing := _missing_numbers(pages):
            self.missing[document_id] = missing
        return tuple([self._start + name for name in self._spellings([name for _, name in pages])])

    def _single_file(self, owner: str, rows: list[Row]) -> list[Page]:
        """Give the file that is the id and a suffix; it may stand amid a row that begins before it."""
        before = self._names.before(owner + ".")
        every = rows if before is None else [before, *rows]
        return sorted(((), name) for row in every if (name := row.named(owner)) is not None)

    def _compose(self, name: str) -> str:
        """Give the form of a name under which it is looked up, and keep how it is spelt where that differs."""
        composed = normalize("NFC", name)
        if composed != name:
            self._apart.setdefault(composed, []).append(name)
        return composed

    def _spellings(self, names: list[str]) -> list[str]:
        """Give names as they are on disk; of two that are composed alike, each once."""
        if not self._apart:
            return names
        spelt = []
        for place, name in enumerate(names):
            spellings = self._apart.get(name, [])
            earlier = names[:place].count(name)
            spelt.append(spellings[earlier] if earlier < len(spellings) else name)
        return spelt


def _numbered_pages(owner: str, rows: list[Row]) -> list[Page]:
    """Give the numbered pages in order; a row of names is one claim."""
    claims = [(form, numbers, row) for row in rows for form, numbers in _claims(owner, row.first)]
    first_form = min((form for form, _, _ in claims), default=0)
    return sorted(
        ((*numbers[:-1], number), name)
        for form, numbers, row in claims
        if form == first_form
        for number, name in enumerate(row.names(), numbers[-1])
    )


def _missing_numbers(pages: list[Page]) -> tuple[int, ...]:
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
    return any(is_named_as_image(entry) and entry.is_file() for entry in entries(folder))


def entries(folder: Path) -> Iterator[os.DirEntry[str] | Entry]:
    """What is in a folder but for hidden files; raises DataError where it can't be listed."""
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


def is_named_as_image(entry: os.DirEntry[str] | Entry) -> bool:
    """Whether a name ends as those of images do."""
    return entry.name.lower().endswith(IMAGE_SUFFIXES)


def _claims(owner: str, name: str) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield as which numbered page of `owner` a file that begins with this id counts: the form and its numbers."""
    stem, _, _ = name.rpartition(".")
    if match := _NUMBERED.fullmatch(stem, len(owner)):
        yield 1 if match[1] else 2, tuple(map(int, _DIGITS.findall(match[1] or match[2])))


class SortedNames:
    """Names that are found again by how they begin; one that is given twice is kept twice.

    Sorted and packed: 40 bytes a name, or 40 for all the numbered pages of a document.
    """

    def __init__(self, names: Iterable[str]) -> None:
        chunks = list(_chunks(names))
        self._count = 0
        self._firsts: list[bytes] = []
        self._starts = array("Q")
        self._packed = mmap.mmap(-1, 1 + sum(map(len, chunks)))
        self._packed.write(_END)
        for number, (first, count) in enumerate(_rows(heapq.merge(*map(_names_of, chunks)))):
            if number % _BLOCK_ENTRIES == 0:
                self._firsts.append(first)
                self._starts.append(self._packed.tell() - 1)
            self._packed.write(first + (_TIMES + b"%d" % count if count > 1 else b"") + _END)
            self._count += count
        self._starts.append(self._packed.tell() - 1)

    def __len__(self) -> int:
        return self._count

    def after(self, start: str) -> Iterator[Row]:
        """The rows whose first name goes on behind `start` with "-", "." or "_", in order."""
        prefix = _END + _encode(start)
        at = self._find(prefix, b"-", 0)
        passed = False
        while at >= 0 and self._packed[at : at + len(prefix)] == prefix:
            end = self._packed.find(_END, at + 1)
            behind = self._packed[at + len(prefix)]
            if behind in b"-._":
                yield _row(self._packed[at + 1 : end])
            elif behind > ord("_"):
                return
            elif behind > ord(".") and not passed:  # up to "_" may lie the names of all other documents
                passed = True
                end = self._find(prefix, b"_", end)
            at = end

    def _find(self, prefix: bytes, behind: bytes, start: int) -> int:
        """Where a name begins as `prefix` does, from `start` or shortly before `behind` would stand; -1 for none."""
        block = self._block(prefix[1:] + behind)
        upto = self._starts[min(block + 2, len(self._starts) - 1)]  # the first may be that of the block behind
        return self._packed.find(prefix, max(self._starts[block], start), upto)

    def before(self, name: str) -> Row | None:
        """The last row whose first name is less than `name`."""
        encoded = _encode(name)
        block = self._block(encoded)
        entries = self._packed[self._starts[block] + 1 : self._starts[min(block + 1, len(self._starts) - 1)]].split(
            _END
        )
        at = bisect_right(entries, encoded)
        return _row(entries[at - 1]) if at and entries[at - 1] else None

    def _block(self, name: bytes) -> int:
        return max(bisect_right(self._firsts, name) - 1, 0)


def _chunks(names: Iterable[str]) -> Iterator[mmap.mmap]:
    """Sort some thousand names at a time: a list of them all would be larger than anything that is kept.

    Mapped memory goes back to the system at once; what a thread frees of the heap stays with the process.
    """
    left = map(_encode, names)
    while chunk := sorted(islice(left, _CHUNK_NAMES)):
        text = _END.join(chunk) + _END
        memory = mmap.mmap(-1, len(text), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.write(text)
        yield memory


def _names_of(chunk: mmap.mmap) -> Iterator[bytes]:
    start = read = 0
    while (end := chunk.find(_END, start)) >= 0:
        yield chunk[start:end]
        start = end + 1
        if start - read > _RELEASE_BYTES:
            read = start - start % mmap.PAGESIZE
            chunk.madvise(mmap.MADV_DONTNEED, 0, read)
    chunk.close()


def _rows(names: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    first, count, following = b"", 0, b""
    for name in names:
        if count and name == following:
            count += 1
        else:
            if count:
                yield first, count
            first, count = name, 1
        following = _next_name(name)
    if count:
        yield first, count


def _next_name(name: bytes) -> bytes:
    """The name with the next number in as many digits; none where it has no number or the next one is longer."""
    stem, _, suffix = name.rpartition(b".")
    head = stem.rstrip(b"0123456789")
    digits = len(stem) - len(head)
    after = b"%0*d" % (digits, int(stem[-digits:]) + 1) if digits else b""
    return b"%b%b.%b" % (head, after, suffix) if len(after) == digits > 0 else b""


def _row(entry: bytes) -> Row:
    first, _, count = entry.partition(_TIMES)
    return Row(first.decode("utf-8", "surrogatepass"), int(count or 1))


def _encode(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")  # whatever a system or a data file calls a name
