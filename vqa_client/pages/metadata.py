"""metadata.json beside the page images: what they were made from, how, and what the folder contains."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vqa_client.errors import UNDECODABLE, IdentityError, UsageError
from vqa_client.files import encode, write_json
from vqa_client.pages.fonts import chain
from vqa_client.pages.layout import Style
from vqa_client.shipped import install

RENDERER = 1
"""Increased when the same text and style give other pixels."""
_HINT = "give another --output, or delete that folder to make its pages again"


class DocumentPages(Struct, frozen=True, kw_only=True):
    """One rendered document; `cut` if `max_pages` left text out; `fonts` are the digests of the fonts it needs."""

    id: str
    text_sha256: str
    fonts: dict[str, str] = {}
    pages: int = 0
    size_bytes: int = 0
    cut: bool = False
    missing: dict[str, int] = {}
    removed: dict[str, int] = {}


class Making(Struct, frozen=True, kw_only=True):
    """What decides the pixels, except the text and the fonts that it needs.

    RENDERER is part of it; this package's version isn't.
    """

    style: Style
    versions: dict[str, str]

    def sha256(self, fonts: Mapping[str, str] = {}) -> str:
        """The digest of all of it and of a document's fonts; of a font file the bytes count, not the path."""
        style = msgspec.structs.replace(self.style, font="")
        return hashlib.sha256(encode([style, self.versions, fonts])).hexdigest()


class _Kept(Struct, frozen=True, kw_only=True):
    style: dict[str, Any]
    settings_sha256: str
    documents: list[DocumentPages]


def making(style: Style) -> Making:
    """Describe this installation; raises UsageError if the extra is missing or the font can't be used."""
    drawn_by = versions() | {"renderer": str(RENDERER)}
    chain(style.font, "chinese")
    return Making(style=style, versions=drawn_by)


def read_metadata(path: Path, made: Making, *, has_pages: bool) -> dict[str, DocumentPages]:
    """The documents, by id, that an earlier run finished in the same way; empty if the versions differ.

    Raises IdentityError if the folder's pages have another style, or if no metadata says which.
    """
    if not path.exists():
        if has_pages:
            raise IdentityError(f"{path.parent} has page images and no {path.name} that says how", hint=_HINT)
        return {}
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}", hint=_HINT) from None
    except UNDECODABLE:
        raise IdentityError(f"{path} was not written by this command", hint=_HINT) from None
    now = msgspec.to_builtins(made.style)
    differing = [name for name in now if kept.style.get(name) != now[name]]
    if differing and has_pages:
        changes = ", ".join(f"{name} {kept.style.get(name)!r}, now {now[name]!r}" for name in differing)
        raise IdentityError(f"the pages in {path.parent} were made with {changes}", hint=_HINT)
    return {document.id: document for document in kept.documents} if kept.settings_sha256 == made.sha256() else {}


def write_metadata(
    path: Path, made: Making, documents: Mapping[str, DocumentPages], about: Mapping[str, Any], *, complete: bool
) -> None:
    """Write the file; `about` comes first: what the pages are for, with the keys of the published form."""
    listed = documents.values()
    write_json(
        path,
        {
            **about,
            "complete": complete,
            "pages": sum(document.pages for document in listed),
            "size_bytes": sum(document.size_bytes for document in listed),
            "missing": totals(document.missing for document in listed),
            "removed": totals(document.removed for document in listed),
            "style": made.style,
            "fonts": {name: sha256 for document in listed for name, sha256 in document.fonts.items()},
            "versions": made.versions,
            "settings_sha256": made.sha256(),
            "documents": list(listed),
        },
    )


def totals(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add up counts by character, most frequent first."""
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))


PACKAGES = ("pypdfium2", "uharfbuzz", "python-bidi", "pymupdf-fonts", "pillow")


def versions() -> dict[str, str]:
    """The version of each package; raises UsageError if one is missing."""
    try:
        return {name: version(name) for name in PACKAGES}
    except PackageNotFoundError as error:
        raise UsageError(f"drawing pages needs the package {error.name}", hint=install("render")) from None
