"""What perturbations ask for, and those that draw the text again, in the style of the clean pages but for one thing.

The others damage the clean pages, or enlarge pages that were drawn smaller.
"""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from vqa_client.errors import DataError, UsageError
from vqa_client.pages.documents import Document, Shown, shown
from vqa_client.pages.layout import Style
from vqa_client.pages.page_files import METADATA, PageFiles
from vqa_client.pages.perturb import Perturbed, about
from vqa_client.pages.perturbations import Perturbation, parse, parse_all
from vqa_client.pages.render import Step, render_documents

_HINT = "render the clean pages with `vqa-client render`, which notes their style"


def clean_style(source: PageFiles) -> Style:
    """The style that a folder's metadata.json notes; raises DataError where it notes none."""
    noted = source.metadata.get("style")
    if noted is None:
        raise DataError(f"{source.root / METADATA} is missing or doesn't say in which style the pages are", hint=_HINT)
    try:
        return msgspec.convert(noted, Style)
    except msgspec.ValidationError as error:
        raise DataError(f"{source.root / METADATA}: the style can't be read: {error}", hint=_HINT) from None


class Variants(Struct, frozen=True, kw_only=True):
    """The folders to be made of clean pages.

    `drawn` come from `documents`, `damaged` from the clean pages, `enlarged` from the drawn folder that
    `low_folder` names.
    """

    clean: PageFiles
    drawn: tuple[Perturbation, ...]
    damaged: tuple[Perturbation, ...]
    enlarged: tuple[Perturbation, ...]
    documents: Shown | None

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple(each.folder for each in (*self.drawn, *self.damaged, *self.enlarged))


def variants(images: Path, perturbations: tuple[str, ...], documents: Path | None) -> Variants:
    """Sort out what is asked for; raises UsageError and DataError before anything is made."""
    wanted = parse_all(perturbations)
    clean = PageFiles.of(images)
    enlarged = tuple(each for each in wanted if each.kind == "upscale")
    drawn = {each.folder: each for each in wanted if each.by_rendering}
    drawn |= {low.folder: low for low in map(_low, enlarged)}
    if drawn and documents is None:
        first = next(each for each in wanted if each.by_rendering or each in enlarged)
        raise UsageError(f"--perturbation {first.spec} draws the text again", hint="give the text with --data")
    return Variants(
        clean=clean,
        drawn=tuple(drawn.values()),
        damaged=tuple(each for each in wanted if not each.by_rendering and each not in enlarged),
        enlarged=tuple(_to_clean_size(each, clean) for each in enlarged),
        documents=shown(documents, clean.path) if drawn and documents else None,
    )


def low_folder(enlarged: Perturbation) -> str:
    """The folder of pages that an upscaled one is made of."""
    return _low(enlarged).folder


def _low(enlarged: Perturbation) -> Perturbation:
    return parse(f"dpi:{enlarged.values['dpi']}")


def _to_clean_size(enlarged: Perturbation, clean: PageFiles) -> Perturbation:
    low, high = int(enlarged.values["dpi"]), clean_style(clean).dpi
    if low >= high:
        hint = f"give fewer than {high}, as in upscale:{high // 2}"
        raise UsageError(f"--perturbation upscale:{low}: the clean pages have {high} dpi", hint=hint)
    return replace(enlarged, values={"dpi": low, "to_dpi": high, "method": "bilinear"})


def changed(style: Style, perturbation: Perturbation) -> Style:
    """The style of a perturbation: another resolution, or a type with a line height of one point more."""
    value = int(next(iter(perturbation.values.values())))
    if perturbation.kind == "dpi":
        return replace(style, dpi=value)
    return replace(style, font_size_pt=value, line_height_pt=value + 1)


def rerender(
    source: PageFiles,
    documents: Shown,
    output: Path,
    perturbation: Perturbation,
    *,
    workers: int,
    advance: Callable[[Step], None],
) -> Perturbed:
    """Draw the documents of the clean pages into `output/{adv_x}`; `advance` hears of every few pages.

    Raises DataError where a document's text is not the one that its clean pages show, and what `render_documents`
    raises.
    """
    drawn = render_documents(
        _same(source, documents),
        output / perturbation.folder,
        changed(clean_style(source), perturbation),
        workers=workers,
        advance=advance,
        about=about(source, output, perturbation),
    )
    return Perturbed(folder=perturbation.folder, pages=drawn.pages, made=drawn.pages_made, size_bytes=drawn.size_bytes)


def _same(source: PageFiles, documents: Shown) -> Iterator[Document]:
    noted = {each.get("id"): each.get("text_sha256") for each in source.metadata.get("documents", ())}
    for document in documents:
        digest = hashlib.sha256(document.text.encode("utf-8", "surrogatepass")).hexdigest()
        if noted.get(document.id, digest) != digest:
            hint = "give the data file that the clean pages were rendered from, or render them again"
            raise DataError(f"{documents.place}: the pages of {document.id!r} show another text", hint=hint)
        yield document
