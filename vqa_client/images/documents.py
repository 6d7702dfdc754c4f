"""Finds the images that belong to a file: the pages of a document, or the image beside a text file."""

import os
from functools import lru_cache
from pathlib import Path

from vqa_client.files import natural_key
from vqa_client.images.find import IMAGE_SUFFIXES, PageIndex, entries, is_named_as_image
from vqa_client.tables.pdf_pages import page_count


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
