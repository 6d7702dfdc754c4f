"""A folder of page images becomes folders of perturbed ones; what is finished is not made again."""

import hashlib
import os
from collections.abc import Callable
from contextlib import closing
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from msgspec import Struct

from vqa_client.errors import DataError, OutputError, UsageError
from vqa_client.files import write_json
from vqa_client.pages.folders import IMAGES, METADATA, PageFiles, beside, image_names, read_metadata
from vqa_client.pages.perturb_page import RULES, Form, Recipe, make_page, page_name
from vqa_client.pages.perturbations import Perturbation
from vqa_client.parallel import in_processes

DIGEST = "output_sha256"


class Perturbed(Struct, frozen=True, kw_only=True):
    """A folder of perturbed pages, and how many of them are new."""

    folder: str
    pages: int
    made: int
    size_bytes: int


def lacking(source: PageFiles, folder: Path) -> int:
    """How many pages a perturbed folder lacks; whether those it has are up to date shows when they are read.

    Raises UsageError where it contains pages that the clean folder hasn't: a model would be shown them too.
    """
    images = folder / IMAGES
    there = set(image_names(images)) if images.is_dir() else set()
    wanted = {page_name(name) for name in source.names}
    if others := there - wanted:
        told = f"{images} contains {len(others):,} images that {source.name} hasn't, {min(others)} for one"
        raise UsageError(told, hint="move them away, or choose another --output")
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
    """Make what is missing of `output/{adv_x}/images/*.png`, then `output/{adv_x}/metadata.json`.

    `advance` hears of finished files. Raises OutputError for an output that can't be written or that something else
    has written, DataError for a page that can't be read.
    """
    _check(source, output, perturbations)
    tallies = [_Tally(output / perturbation.folder) for perturbation in perturbations]
    recipe = Recipe(source=source.path, output=output, perturbations=perturbations, seed=seed)
    with closing(in_processes(partial(make_page, recipe), source.names, workers=workers)) as pages:
        for page in pages:
            for tally, form in zip(tallies, page.forms, strict=True):
                tally.add(page.source_sha256, form)
            advance(len(tallies))
    for tally, perturbation in zip(tallies, perturbations, strict=True):
        write_json(tally.folder / METADATA, about(source, output, perturbation) | tally.about(seed, perturbation))
    return [tally.perturbed() for tally in tallies]


def about(source: PageFiles, output: Path, perturbation: Perturbation) -> dict[str, Any]:
    """The published part of a perturbed folder's metadata.json; folders are named beside each other."""
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
    """What is known of one perturbed folder; its metadata.json comes last, since it says that the folder is whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources, self.files = hashlib.sha256(), hashlib.sha256()
        self.pages = self.made = self.size_bytes = 0
        try:
            (folder / METADATA).unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"can't write in {folder}: {error.strerror}", hint="choose another --output") from None

    def add(self, source_sha256: bytes, form: Form) -> None:
        self.sources.update(source_sha256)
        self.files.update(form.sha256)
        self.pages += 1
        self.made += form.is_new
        self.size_bytes += form.size_bytes

    def about(self, seed: int, perturbation: Perturbation) -> dict[str, Any]:
        """Our part of metadata.json; a digest is that of the files' SHA-256 digests, in natural order of the names."""
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
