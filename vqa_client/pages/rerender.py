"""Perturbations that draw the text again, in the style of the clean pages but for one thing."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from vqa_client.errors import DataError
from vqa_client.pages.documents import Document, Shown
from vqa_client.pages.folders import METADATA, PageFiles
from vqa_client.pages.layout import Style
from vqa_client.pages.perturb import Perturbed, about
from vqa_client.pages.perturbations import Perturbation
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


def changed(style: Style, perturbation: Perturbation) -> Style:
    """The style of a perturbation: another resolution, or a type with a line height of one point more."""
    value = int(next(iter(perturbation.values.values())))
    if perturbation.kind == "dpi":
        return msgspec.structs.replace(style, dpi=value)
    return msgspec.structs.replace(style, font_size_pt=value, line_height_pt=value + 1)


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
