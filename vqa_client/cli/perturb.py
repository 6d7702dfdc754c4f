"""`vqa-client perturb`: folders of damaged pages beside a folder of clean ones."""

from collections.abc import Iterator
from pathlib import Path

from vqa_client.cli.files_progress import files_progress, pages_progress, resumable
from vqa_client.cli.legibility import as_table, measure
from vqa_client.cli.streams import emit
from vqa_client.cli.text import count
from vqa_client.errors import UsageError
from vqa_client.images.find import PageFolder
from vqa_client.pages.estimate import Estimate, Expected, estimate, estimate_forms
from vqa_client.pages.folders import IMAGES, PageFiles
from vqa_client.pages.legibility import check_reader
from vqa_client.pages.perturb import Perturbed, lacking, perturb_pages
from vqa_client.pages.perturbations import Perturbation
from vqa_client.pages.rerender import changed, clean_style, rerender
from vqa_client.pages.variants import Variants, low_folder, variants
from vqa_client.settings.perturb import PerturbSettings


def perturb(settings: PerturbSettings) -> int:
    """Make every folder that is asked for and say what is in it."""
    return resumable(lambda: _perturb(settings))


def _perturb(settings: PerturbSettings) -> int:
    if settings.legibility and settings.data_json is None:
        raise UsageError("--legibility compares the pages with their text", hint="give the text with --data")
    if settings.legibility:
        check_reader()
    wanted = variants(settings.images, settings.perturbation, settings.data_json)
    if settings.dry_run:
        emit("\n".join(_would_make(wanted, settings)) + "\n")
        return 0
    for made in _made(wanted, settings):
        size_mb = made.size_bytes / 1e6
        emit(f"{made.folder}: {count(made.pages, 'page')}, {made.made:,} of them new, {size_mb:,.1f} MB\n")
    if settings.legibility:
        emit(_legibility(wanted, settings))
    return 0


def _would_make(wanted: Variants, settings: PerturbSettings) -> Iterator[str]:
    for each in wanted.drawn:
        expected = _laid_out(wanted, each, settings)
        told = f"{count(expected.pages, 'page')} of {count(expected.documents, 'document')} to be drawn again"
        yield _expected(settings.output / each.folder, told, expected)
    damaged = (*wanted.damaged, *wanted.enlarged)
    for each, form in zip(damaged, estimate_forms(wanted.clean, damaged, seed=settings.seed), strict=True):
        lacks, n = lacking(wanted.clean, settings.output / each.folder), len(wanted.clean.names)
        told = f"{count(lacks, 'page')} to be made, {n - lacks:,} there"
        yield _expected(settings.output / each.folder, told, form)


def _laid_out(wanted: Variants, perturbation: Perturbation, settings: PerturbSettings) -> Estimate:
    documents = wanted.documents
    assert documents, "variants() has looked for them"
    style = changed(clean_style(wanted.clean), perturbation)
    with files_progress(f"lay out {perturbation.folder}", len(documents.pages), noun="documents") as advance:
        return estimate(documents, style, workers=settings.workers, advance=advance)


def _expected(folder: Path, told: str, expected: Expected) -> str:
    tokens = ", ".join(f"{n:,} ({rule})" for rule, n in expected.tokens.items())
    return f"{folder}: {told}; all about {expected.size_bytes / 1e6:,.1f} MB, image tokens {tokens}"


def _made(wanted: Variants, settings: PerturbSettings) -> Iterator[Perturbed]:
    for each in wanted.drawn:
        yield _drawn(wanted, each, settings)
    if wanted.damaged:
        yield from _damaged(wanted.clean, wanted.damaged, settings)
    for each in wanted.enlarged:
        yield from _damaged(PageFiles.of(settings.output / low_folder(each)), (each,), settings)


def _drawn(wanted: Variants, perturbation: Perturbation, settings: PerturbSettings) -> Perturbed:
    documents = wanted.documents
    assert documents, "variants() has looked for them"
    with pages_progress(
        perturbation.folder, documents=len(documents.pages), characters=documents.characters
    ) as advance:
        return rerender(
            wanted.clean,
            documents,
            settings.output,
            perturbation,
            workers=settings.workers,
            advance=advance,
        )


def _damaged(source: PageFiles, perturbations: tuple[Perturbation, ...], settings: PerturbSettings) -> list[Perturbed]:
    title = perturbations[0].folder if len(perturbations) == 1 else f"{len(perturbations)} perturbations"
    with files_progress(title, len(source.names) * len(perturbations), noun="pages") as advance:
        return perturb_pages(
            source,
            settings.output,
            perturbations,
            seed=settings.seed,
            workers=settings.workers,
            advance=advance,
        )


def _legibility(wanted: Variants, settings: PerturbSettings) -> str:
    assert settings.data_json, "asked for with --legibility"
    clean = PageFolder(name=wanted.clean.name, path=wanted.clean.path)
    made = (PageFolder(name=name, path=settings.output / name / IMAGES) for name in wanted.folders)
    return as_table(measure((clean, *made), settings.data_json, workers=settings.workers, limit=settings.limit))
