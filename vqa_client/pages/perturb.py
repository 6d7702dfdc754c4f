"""Makes perturbed forms of pages, a folder for each: changed pixels, or the text drawn again in another style."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from vqa_client.errors import DataError, OutputError, UsageError
from vqa_client.files import replacing, write_json
from vqa_client.pages.documents import Document, ShownDocuments, shown
from vqa_client.pages.layout import Style
from vqa_client.pages.page_files import (
    IMAGES,
    METADATA,
    PageFiles,
    beside,
    image_names,
    page_bytes,
    png,
    read_metadata,
    read_page,
    stamp_of,
)
from vqa_client.pages.perturbations import Perturbation, parse, parse_all, perturbed
from vqa_client.pages.render import PageStep, render_documents
from vqa_client.parallel import in_processes
from vqa_client.reports.names import count

if TYPE_CHECKING:
    from PIL.Image import Image

RULES = 1
"""Increased when the same perturbation of the same page gives other pixels."""


class PerturbedForm(Struct, frozen=True, kw_only=True):
    """A perturbed form of a page, on disk."""

    sha256: bytes
    size_bytes: int
    is_new: bool


class PerturbedPage(Struct, frozen=True, kw_only=True):
    """A clean page's digest and its forms, in the order of the perturbations."""

    source_sha256: bytes
    forms: tuple[PerturbedForm, ...]


def page_name(name: str) -> str:
    """The file name of the page's perturbed forms."""
    return os.path.splitext(name)[0] + ".png"


def make_page(
    name: str, *, source: Path, output: Path, perturbations: tuple[Perturbation, ...], seed: int
) -> PerturbedPage:
    """Make the missing forms of one page; raises DataError for a page that can't be read, UsageError for the output."""
    path = source / name
    data = page_bytes(path)
    digest = hashlib.sha256(data)
    pixels: Image | None = None
    forms = []
    for perturbation in perturbations:
        target = output / perturbation.folder / IMAGES / page_name(name)
        stamp = _stamp(perturbation, seed, digest.hexdigest())
        made = _finished_page(target, stamp)
        if is_new := made is None:
            pixels = pixels or read_page(data, os.fspath(path))
            made = png(form(pixels, perturbation, seed, path), stamp)
            with replacing(target) as file:
                file.write(made)
        forms.append(PerturbedForm(sha256=hashlib.sha256(made).digest(), size_bytes=len(made), is_new=is_new))
    return PerturbedPage(source_sha256=digest.digest(), forms=tuple(forms))


def form(pixels: "Image", perturbation: Perturbation, seed: int, path: Path) -> "Image":
    """Perturb the pixels of a page; its file name and the seed give the random numbers; raises DataError."""
    chance = hashlib.sha256(f"{seed}/{page_name(path.name)}/{perturbation.spec}".encode()).digest()
    try:
        return perturbed(pixels, perturbation, chance)
    except (OSError, ValueError, MemoryError) as error:  # WebP allows at most 16,383 pixels
        message = f"{path}: {perturbation.spec} can't be made of {pixels.width}x{pixels.height} pixels: {error}"
        raise DataError(message, hint="render smaller pages, or leave this perturbation out") from None


def _stamp(perturbation: Perturbation, seed: int, source: str) -> str:
    """Everything that decides a form, so that a finished form is recognised and an outdated one is made again."""
    return (
        f"perturbed {RULES}; {perturbation.spec}"
        + (f"; seed {seed}" if perturbation.by_chance else "")
        + f"; of {source}"
    )


def _finished_page(target: Path, stamp: str) -> bytes | None:
    try:
        data = target.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"can't read {target}: {error.strerror}", hint="choose another --output") from None
    page_stamp = stamp_of(data)
    if page_stamp is None:
        hint = "move its folder away, or choose another --output"
        raise UsageError(f"{target} is there already, and this command hasn't made it", hint=hint)
    return data if page_stamp == stamp else None


DIGEST = "output_sha256"


class Perturbed(Struct, frozen=True, kw_only=True):
    """A folder of perturbed pages, and how many of them are new."""

    folder: str
    pages: int
    made: int
    size_bytes: int


def lacking(source: PageFiles, folder: Path) -> int:
    """The number of missing pages in a perturbed folder; existing pages are checked when they are read.

    Raises UsageError if it contains pages that the clean folder doesn't: a model would see them too.
    """
    images = folder / IMAGES
    there = set(image_names(images)) if images.is_dir() else set()
    wanted = {page_name(name) for name in source.names}
    if others := there - wanted:
        message = f"{images} contains {count(len(others), 'image')} that {source.name} hasn't, {min(others)} for one"
        raise UsageError(message, hint="move them away, or choose another --output")
    return len(wanted - there)


def perturb_pages(
    source: PageFiles,
    output: Path,
    perturbations: tuple[Perturbation, ...],
    *,
    seed: int,
    workers: int,
    advance: Callable[[int], None],
) -> list[Perturbed]:
    """Make the missing files of `output/{adv_x}/images/*.png`, then `output/{adv_x}/metadata.json`.

    `advance` gets finished files. Raises OutputError for an output that can't be written or was written by another
    program, DataError for a page that can't be read.
    """
    _check(source, output, perturbations)
    tallies = [_Tally(output / perturbation.folder) for perturbation in perturbations]
    make = partial(make_page, source=source.path, output=output, perturbations=perturbations, seed=seed)
    with closing(in_processes(make, source.names, workers=workers)) as pages:
        for page in pages:
            for tally, form in zip(tallies, page.forms, strict=True):
                tally.add(page.source_sha256, form)
            advance(len(tallies))
    for tally, perturbation in zip(tallies, perturbations, strict=True):
        write_json(tally.folder / METADATA, about(source, output, perturbation) | tally.about(seed, perturbation))
    return [tally.perturbed() for tally in tallies]


def about(source: PageFiles, output: Path, perturbation: Perturbation) -> dict[str, Any]:
    """The published part of a perturbed folder's metadata.json; paths of folders are relative."""
    return {
        "perturbation_type": perturbation.kind,
        "params": dict(perturbation.values),
        "input_dir": beside(source.root, output),
        "output_dir": beside(output / perturbation.folder, output),
        "task": source.task or Path(os.path.abspath(output)).name,
    }


def _check(source: PageFiles, output: Path, perturbations: tuple[Perturbation, ...]) -> None:
    names: dict[str, str] = {}
    for name in source.names:
        other = names.setdefault(page_name(name), name)
        if other != name:
            hint = "a perturbed page is a PNG of the same name: move one of them away"
            raise DataError(f"{source.path}: {other} and {name} would become one page", hint=hint)
    for perturbation in perturbations:
        folder = output / perturbation.folder
        if os.path.realpath(folder) == os.path.realpath(source.root):
            raise UsageError(f"{folder} can't be perturbed into itself", hint="choose another --output")
        lacking(source, folder)
        if (folder / METADATA).exists() and DIGEST not in read_metadata(folder):
            hint = "move it away, or choose another --output"
            raise UsageError(f"{folder} is there already, and this command hasn't made it", hint=hint)


class _Tally:
    """The results for one perturbed folder; its metadata.json is written last, as a sign that the folder is whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources, self.files = hashlib.sha256(), hashlib.sha256()
        self.pages = self.made = self.size_bytes = 0
        try:
            (folder / METADATA).unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"can't write in {folder}: {error.strerror}", hint="choose another --output") from None

    def add(self, source_sha256: bytes, form: PerturbedForm) -> None:
        self.sources.update(source_sha256)
        self.files.update(form.sha256)
        self.pages += 1
        self.made += form.is_new
        self.size_bytes += form.size_bytes

    def about(self, seed: int, perturbation: Perturbation) -> dict[str, Any]:
        """Our part of metadata.json; a folder's digest is that of its files' SHA-256 digests, in natural order."""
        packages = ("pillow", "numpy") if perturbation.by_chance else ("pillow",)
        return {
            "seed": seed,
            "files": self.pages,
            "input_sha256": self.sources.hexdigest(),
            DIGEST: self.files.hexdigest(),
            "versions": {package: version(package) for package in packages} | {"perturbations": str(RULES)},
        }

    def perturbed(self) -> Perturbed:
        return Perturbed(folder=self.folder.name, pages=self.pages, made=self.made, size_bytes=self.size_bytes)


_HINT = "render the clean pages with `vqa-client render`, which notes their style"


def clean_style(source: PageFiles) -> Style:
    """The style in a folder's metadata.json; raises DataError if there is none."""
    noted = source.metadata.get("style")
    if noted is None:
        raise DataError(f"{source.root / METADATA} is missing or doesn't say in which style the pages are", hint=_HINT)
    try:
        return msgspec.convert(noted, Style)
    except msgspec.ValidationError as error:
        raise DataError(f"{source.root / METADATA}: the style can't be read: {error}", hint=_HINT) from None


class Variants(Struct, frozen=True, kw_only=True):
    """The folders to make.

    `drawn` are made from `documents`, `damaged` from the clean pages, `enlarged` from the drawn folder that
    `low_folder` names.
    """

    clean: PageFiles
    drawn: tuple[Perturbation, ...]
    damaged: tuple[Perturbation, ...]
    enlarged: tuple[Perturbation, ...]
    documents: ShownDocuments | None

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple(perturbation.folder for perturbation in (*self.drawn, *self.damaged, *self.enlarged))


def variants(images: Path, perturbations: tuple[str, ...], documents: Path | None) -> Variants:
    """Plan the folders to make; raises UsageError and DataError before anything is made."""
    parsed = parse_all(perturbations)
    clean = PageFiles.of(images)
    enlarged = tuple(form for form in parsed if form.kind == "upscale")
    drawn = {form.folder: form for form in parsed if form.by_rendering}
    drawn |= {low.folder: low for low in map(_low_resolution, enlarged)}
    if drawn and documents is None:
        first = next(form for form in parsed if form.by_rendering or form in enlarged)
        raise UsageError(f"--perturbation {first.spec} draws the text again", hint="give the text with --data")
    return Variants(
        clean=clean,
        drawn=tuple(drawn.values()),
        damaged=tuple(form for form in parsed if not form.by_rendering and form not in enlarged),
        enlarged=tuple(_to_clean_size(form, clean) for form in enlarged),
        documents=shown(documents, clean.path) if drawn and documents else None,
    )


def low_folder(enlarged: Perturbation) -> str:
    """The folder of pages from which an enlarged one is made."""
    return _low_resolution(enlarged).folder


def _low_resolution(enlarged: Perturbation) -> Perturbation:
    return parse(f"dpi:{enlarged.values['dpi']}")


def _to_clean_size(enlarged: Perturbation, clean: PageFiles) -> Perturbation:
    low, high = int(enlarged.values["dpi"]), clean_style(clean).dpi
    if low >= high:
        hint = f"give fewer than {high}, as in upscale:{high // 2}"
        raise UsageError(f"--perturbation upscale:{low}: the clean pages have {high} dpi", hint=hint)
    return replace(enlarged, values={"dpi": low, "to_dpi": high, "method": "bilinear"})


def changed(style: Style, perturbation: Perturbation) -> Style:
    """The style of a perturbation: another resolution, or another type size with a line height of one point more."""
    value = int(next(iter(perturbation.values.values())))
    if perturbation.kind == "dpi":
        return replace(style, dpi=value)
    return replace(style, font_size_pt=value, line_height_pt=value + 1)


def rerender(
    source: PageFiles,
    documents: ShownDocuments,
    output: Path,
    perturbation: Perturbation,
    *,
    workers: int,
    advance: Callable[[PageStep], None],
) -> Perturbed:
    """Draw the documents of the clean pages into `output/{adv_x}`; `advance` is called after every few pages.

    Raises DataError if a document's text isn't the text of its clean pages, and the errors of `render_documents`.
    """
    drawn = render_documents(
        _with_same_text(source, documents),
        output / perturbation.folder,
        changed(clean_style(source), perturbation),
        workers=workers,
        advance=advance,
        about=about(source, output, perturbation),
    )
    return Perturbed(folder=perturbation.folder, pages=drawn.pages, made=drawn.pages_made, size_bytes=drawn.size_bytes)


def _with_same_text(source: PageFiles, documents: ShownDocuments) -> Iterator[Document]:
    noted = {document.get("id"): document.get("text_sha256") for document in source.metadata.get("documents", ())}
    for document in documents:
        digest = document.text_sha256
        if noted.get(document.id, digest) != digest:
            hint = "give the data file that the clean pages were rendered from, or render them again"
            raise DataError(f"{documents.place}: the pages of {document.id!r} show another text", hint=hint)
        yield document
