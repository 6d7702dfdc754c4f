"""One page, in a worker process: its perturbed forms, made where they are missing or out of date."""

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from vqa_client.errors import DataError, UsageError
from vqa_client.files import replacing
from vqa_client.pages.damage import perturbed
from vqa_client.pages.folders import IMAGES, page_bytes
from vqa_client.pages.perturbations import Perturbation
from vqa_client.pages.pixels import png, read_page, stamp_of

if TYPE_CHECKING:
    from vqa_client.pages.pixels import Pixels

RULES = 1
"""Counts up when the same perturbation of the same page comes to give other pixels."""


class Recipe(Struct, frozen=True, kw_only=True):
    """The folder of clean pages, the perturbations, the folder that gets a folder for each, and what decides chance."""

    source: Path
    output: Path
    perturbations: tuple[Perturbation, ...]
    seed: int


class Form(Struct, frozen=True, kw_only=True):
    """A perturbed form of a page, on disk."""

    sha256: bytes
    size_bytes: int
    is_new: bool


class Page(Struct, frozen=True, kw_only=True):
    """A clean page's digest and its forms, in the order of the perturbations."""

    source_sha256: bytes
    forms: tuple[Form, ...]


def page_name(name: str) -> str:
    """The file name of a page's perturbed forms."""
    return os.path.splitext(name)[0] + ".png"


def make_page(recipe: Recipe, name: str) -> Page:
    """Make what is missing of one page; raises DataError for a page that can't be read, UsageError for the output."""
    path = recipe.source / name
    data = page_bytes(path)
    digest = hashlib.sha256(data)
    pixels: Pixels | None = None
    forms = []
    for perturbation in recipe.perturbations:
        target = recipe.output / perturbation.folder / IMAGES / page_name(name)
        stamp = _stamp(perturbation, recipe.seed, digest.hexdigest())
        made = _finished(target, stamp)
        if is_new := made is None:
            pixels = pixels or read_page(data, os.fspath(path))
            made = png(form(pixels, perturbation, recipe.seed, path), stamp)
            with replacing(target) as file:
                file.write(made)
        forms.append(Form(sha256=hashlib.sha256(made).digest(), size_bytes=len(made), is_new=is_new))
    return Page(source_sha256=digest.digest(), forms=tuple(forms))


def form(pixels: "Pixels", perturbation: Perturbation, seed: int, path: Path) -> "Pixels":
    """Perturb the pixels of a page, whose file's name and the seed decide chance; raises DataError."""
    chance = hashlib.sha256(f"{seed}/{page_name(path.name)}/{perturbation.spec}".encode()).digest()
    try:
        return perturbed(pixels, perturbation, chance)
    except (OSError, ValueError, MemoryError) as error:  # WebP ends at 16,383 pixels
        told = f"{path}: {perturbation.spec} can't be made of {pixels.width}x{pixels.height} pixels: {error}"
        raise DataError(told, hint="render smaller pages, or leave this perturbation out") from None


def _stamp(perturbation: Perturbation, seed: int, source: str) -> str:
    """Everything that decides a form, so that a finished one is known again and an outdated one is made anew."""
    return (
        f"perturbed {RULES}; {perturbation.spec}"
        + (f"; seed {seed}" if perturbation.by_chance else "")
        + f"; of {source}"
    )


def _finished(target: Path, stamp: str) -> bytes | None:
    try:
        data = target.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"can't read {target}: {error.strerror}", hint="choose another --output") from None
    found = stamp_of(data)
    if found is None:
        hint = "move its folder away, or choose another --output"
        raise UsageError(f"{target} is there already, and this command hasn't made it", hint=hint)
    return data if found == stamp else None
