"""What a set of perturbations asks for: which folders are drawn from the text, which are made of which pages."""

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.errors import UsageError
from vqa_client.pages.documents import Shown, shown
from vqa_client.pages.folders import PageFiles
from vqa_client.pages.perturbations import Perturbation, parse, parse_all
from vqa_client.pages.rerender import clean_style


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
