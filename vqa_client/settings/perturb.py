"""Settings of the commands that hide needles, damage pages and look at what became of them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vqa_client.cpus import usable_cpus
from vqa_client.settings.validation import check

SEED = 42
"""The published scripts' default."""
PERTURBATIONS = (
    "dpi:N, fontsize:N and upscale[:DPI] draw the text again; jpeg:QUALITY, webp:QUALITY, binary, "
    "noise[:gaussian|salt_and_pepper[:INTENSITY]], blur[:RADIUS] and resample:METHOD:SCALE change the clean pages. "
    "One or several."
)
_WORKERS = Parameter(help="Processes. Default: one per processor.", show_default=False)
_DRY_RUN = Parameter(negative="", help="Print what would be made; write nothing.")
_DOCUMENTS = "The documents in LongBench-v2's form, or a folder of .txt files."


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, slots=True)
class NeedlesSettings:
    """Settings of `vqa-client needles`."""

    data_json: Annotated[
        Path, Parameter(name=("--data", "-d", "--data_json"), help="Documents in LongBench-v2's form (JSON).")
    ]
    output: Annotated[
        Path, Parameter(alias="-o", help="The data file of the needle questions, such as niah/data.json.")
    ]
    num_secrets: Annotated[int, Parameter(help="Needles in each document, at even depths.")] = 5
    seed: Annotated[int, Parameter(help="Random seed; with a document's id it decides the secrets.")] = SEED
    dry_run: Annotated[bool, _DRY_RUN] = False

    def __post_init__(self) -> None:
        check(self)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, slots=True)
class PerturbSettings:
    """Settings of `vqa-client perturb`."""

    images: Annotated[
        Path, Parameter(alias="-i", help="The clean pages: a folder with images/*.png, or of such files.")
    ]
    output: Annotated[Path, Parameter(alias="-o", help="The folder that gets a folder adv_... for each perturbation.")]
    perturbation: Annotated[
        tuple[str, ...], Parameter(alias="-p", consume_multiple=True, negative="", help=PERTURBATIONS)
    ]
    data_json: Annotated[
        Path | None,
        Parameter(
            name=("--data", "-d", "--data_json"),
            help=f"{_DOCUMENTS} Needed if pages are drawn again, and by --legibility.",
        ),
    ] = None
    seed: Annotated[int, Parameter(help="Random seed; with a page's name it decides the noise.")] = SEED
    legibility: Annotated[
        bool,
        Parameter(
            negative="", help="Also report how much an OCR reader recognises of the clean and the perturbed pages."
        ),
    ] = False
    limit: Annotated[int | None, Parameter(help="--legibility reads the first N documents only.")] = None
    workers: Annotated[int, _WORKERS] = field(default_factory=usable_cpus)
    dry_run: Annotated[bool, _DRY_RUN] = False

    def __post_init__(self) -> None:
        check(self)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, slots=True)
class PagesPreviewSettings:
    """Settings of `vqa-client pages-preview`."""

    images: Annotated[
        tuple[Path, ...],
        Parameter(
            alias="-i", consume_multiple=True, negative="", help="Folders of pages, or a folder of such folders."
        ),
    ]
    output: Annotated[Path, Parameter(alias="-o", help="The contact sheet, a PNG.")]
    page: Annotated[
        tuple[str, ...],
        Parameter(
            consume_multiple=True,
            negative="",
            help="Pages by file name, or by its beginning. Default: some, evenly spread.",
        ),
    ] = ()
    limit: Annotated[int, Parameter(help="How many pages to show if --page names none.")] = 3

    def __post_init__(self) -> None:
        check(self)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, slots=True)
class LegibilitySettings:
    """Settings of `vqa-client legibility`."""

    images: Annotated[
        tuple[Path, ...],
        Parameter(
            alias="-i", consume_multiple=True, negative="", help="Folders of pages, or a folder of such folders."
        ),
    ]
    data_json: Annotated[Path, Parameter(name=("--data", "-d", "--data_json"), help=_DOCUMENTS)]
    limit: Annotated[int | None, Parameter(help="Read the first N documents only.")] = None
    workers: Annotated[int, _WORKERS] = field(default_factory=usable_cpus)
    json: Annotated[bool, Parameter(negative="", help="Print JSON to standard output.")] = False

    def __post_init__(self) -> None:
        check(self)
