"""`vqa-client perturb`, `pages-preview`, `legibility`: damaged pages, a contact sheet, and how legible they are."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from vqa_client.cli.files_progress import files_progress, pages_progress, resumable
from vqa_client.cli.streams import emit, emit_json, emit_lines, safe
from vqa_client.errors import UsageError
from vqa_client.files import check_output, natural_key, replacing
from vqa_client.images.find import PageFolder, page_folders
from vqa_client.pages.documents import shown
from vqa_client.pages.estimate import ExpectedPages, PageEstimate, estimate, estimate_forms
from vqa_client.pages.legibility import Legibility, check_reader
from vqa_client.pages.legibility import legibility as legibility_of
from vqa_client.pages.page_files import IMAGES, PageFiles, png
from vqa_client.pages.perturb import (
    Perturbed,
    Variants,
    changed,
    clean_style,
    lacking,
    low_folder,
    perturb_pages,
    rerender,
    variants,
)
from vqa_client.pages.perturbations import Perturbation
from vqa_client.pages.sheet import chosen, column, contact_sheet
from vqa_client.reports.names import count, percent
from vqa_client.settings.pages import LegibilitySettings, PagesPreviewSettings, PerturbSettings


@resumable
def perturb(settings: PerturbSettings) -> int:
    """Make the folders of all perturbations and print what each contains."""
    check_output(settings.output)
    text = settings.data_json if settings.legibility else None
    if settings.legibility and text is None:
        raise UsageError("--legibility compares the pages with their text", hint="give the text with --data")
    if text is not None:
        check_reader()
    selection = variants(settings.images, settings.perturbation, settings.data_json)
    if settings.dry_run:
        emit_lines(*_estimate_lines(selection, settings))
        return 0
    for made in _make_all(selection, settings):
        size_mb = made.size_bytes / 1e6
        emit_lines(f"{made.folder}: {count(made.pages, 'page')}, {made.made:,} of them new, {size_mb:,.1f} MB")
    if text is not None:
        clean = PageFolder(name=selection.clean.name, path=selection.clean.path)
        perturbed = (PageFolder(name=name, path=settings.output / name / IMAGES) for name in selection.folders)
        emit(as_table(measure((clean, *perturbed), text, workers=settings.workers, limit=settings.limit)))
    return 0


def _estimate_lines(selection: Variants, settings: PerturbSettings) -> Iterator[str]:
    for perturbation in selection.drawn:
        expected = _estimate_layout(selection, perturbation, settings)
        what = f"{count(expected.pages, 'page')} of {count(expected.documents, 'document')} to be drawn again"
        yield _estimate_line(settings.output / perturbation.folder, what, expected)
    damaged = (*selection.damaged, *selection.enlarged)
    for perturbation, form in zip(damaged, estimate_forms(selection.clean, damaged, seed=settings.seed), strict=True):
        lacks, n = lacking(selection.clean, settings.output / perturbation.folder), len(selection.clean.names)
        what = f"{count(lacks, 'page')} to be made, {n - lacks:,} there"
        yield _estimate_line(settings.output / perturbation.folder, what, form)


def _estimate_layout(selection: Variants, perturbation: Perturbation, settings: PerturbSettings) -> PageEstimate:
    documents = selection.documents
    assert documents  # variants() has looked for them
    style = changed(clean_style(selection.clean), perturbation)
    with files_progress(f"lay out {perturbation.folder}", len(documents.pages), noun="documents") as advance:
        return estimate(documents, style, workers=settings.workers, advance=advance)


def _estimate_line(folder: Path, what: str, expected: ExpectedPages) -> str:
    tokens = ", ".join(f"{n:,} ({rule})" for rule, n in expected.tokens.items())
    return f"{folder}: {what}; all about {expected.size_bytes / 1e6:,.1f} MB, image tokens {tokens}"


def _make_all(selection: Variants, settings: PerturbSettings) -> Iterator[Perturbed]:
    for perturbation in selection.drawn:
        yield _draw_again(selection, perturbation, settings)
    if selection.damaged:
        yield from _damage(selection.clean, selection.damaged, settings)
    for perturbation in selection.enlarged:
        yield from _damage(PageFiles.of(settings.output / low_folder(perturbation)), (perturbation,), settings)


def _draw_again(selection: Variants, perturbation: Perturbation, settings: PerturbSettings) -> Perturbed:
    documents = selection.documents
    assert documents  # variants() has looked for them
    with pages_progress(
        perturbation.folder, documents=len(documents.pages), characters=documents.characters
    ) as advance:
        return rerender(
            selection.clean, documents, settings.output, perturbation, workers=settings.workers, advance=advance
        )


def _damage(source: PageFiles, perturbations: tuple[Perturbation, ...], settings: PerturbSettings) -> list[Perturbed]:
    title = perturbations[0].folder if len(perturbations) == 1 else f"{len(perturbations)} perturbations"
    with files_progress(title, len(source.names) * len(perturbations), noun="pages") as advance:
        return perturb_pages(
            source, settings.output, perturbations, seed=settings.seed, workers=settings.workers, advance=advance
        )


def pages_preview(settings: PagesPreviewSettings) -> int:
    """Write the contact sheet and print what is on it."""
    if settings.output.suffix.lower() != ".png":
        raise UsageError(f"--output is {settings.output}: the sheet is a PNG", hint="name a file that ends in .png")
    columns = [column(folder) for folder in clean_first(settings.images)]
    pages = chosen(list(columns[0].files), settings.page, settings.limit)
    sheet = png(contact_sheet(columns, pages))
    with replacing(settings.output) as file:
        file.write(sheet)
    folders = ", ".join(form.name for form in columns)
    emit_lines(f"{settings.output}: {count(len(pages), 'page')} in {count(len(columns), 'form')}: {folders}")
    return 0


def clean_first(roots: Iterable[Path]) -> list[PageFolder]:
    """The page folders of several places, each once, perturbed ones last; raises DataError for a place without any."""
    by_path = {folder.path.resolve(): folder for root in roots for folder in page_folders(root)}
    return sorted(by_path.values(), key=lambda folder: (folder.name.startswith("adv_"), natural_key(folder.name)))


@resumable
def legibility(settings: LegibilitySettings) -> int:
    """Read the pages of every folder and print a line for each."""
    by_folder = measure(
        clean_first(settings.images), settings.data_json, workers=settings.workers, limit=settings.limit
    )
    if settings.json:
        emit_json(as_json(by_folder))
    else:
        emit(as_table(by_folder))
    return 0


def measure(
    folders: Iterable[PageFolder], data_json: Path, *, workers: int, limit: int | None = None
) -> dict[str, Legibility]:
    """Read the pages of each folder's first `limit` documents, with a progress bar per folder."""
    by_folder = {}
    for folder in folders:
        pages = shown(data_json, folder.path, limit=limit)
        with files_progress(f"reading {folder.name}", pages.page_count, noun="pages") as advance:
            by_folder[folder.name] = legibility_of(pages, workers=workers, advance=advance)
    return by_folder


def as_json(by_folder: dict[str, Legibility]) -> list[dict[str, Any]]:
    """An object per folder, shares in [0, 1]."""
    return [
        {"folder": name, **msgspec.to_builtins(form), "worst_share": form.worst.share}
        for name, form in by_folder.items()
    ]


def as_table(by_folder: dict[str, Legibility]) -> str:
    """One line per folder."""
    lines = ["words that an OCR reader reads back, in %"]
    width = max(map(len, by_folder))
    for name, form in by_folder.items():
        lines.append(
            f"{safe(name):{width}}  mean {percent(form.mean):>5}  worst {percent(form.worst.share):>5}"
            f" ({safe(form.worst.id)})  n = {count(form.documents, 'document')}, {count(form.pages, 'page')}"
        )
    return "\n".join(lines) + "\n"
