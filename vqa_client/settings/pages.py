"""Settings of the commands that make documents and page images."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from vqa_client.cpus import usable_cpus
from vqa_client.errors import UsageError
from vqa_client.settings.validation import AtLeast, CheckedSettings, Several, Switch, Workers, check

DATA = Parameter(group=Group("Data", sort_key=0))
STYLE = Parameter(group=Group("Style", sort_key=1))
RUN = Parameter(group=Group("Run", sort_key=2))
_AS_DATA = Parameter(name=("--data", "-d", "--data_json"))

PAPERS_PT = {"a4": (595.0, 842.0), "letter": (612.0, 792.0)}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)[x,](\d+(?:\.\d+)?)")
_LEAST_PT = 3.0
MOST_MEGAPIXELS = 150
"""A4 at 1,200 dpi; each process needs 5 bytes per pixel."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderSettings(CheckedSettings):
    """Settings of `vqa-client render`: documents drawn as page images."""

    data_json: Annotated[Path | None, DATA, _AS_DATA] = None
    """Documents: a file in LongBench-v2's or the needle form, or a folder of .txt files."""
    pdf: Annotated[Path | None, DATA] = None
    """A PDF file, or a folder of them, to draw as they are, instead of --data."""
    output: Annotated[Path, DATA, Parameter(alias="-o")]
    """Folder for images/{_id}_page_{NNN}.png and metadata.json."""
    line_bbox: Annotated[Switch, DATA] = False
    """Also write line_bbox.jsonl: the place of each line, in pixels."""
    dpi: Annotated[int, AtLeast(20), STYLE] = 96
    """Pixels per inch."""
    font: Annotated[Path | None, STYLE] = None
    """A .ttf or .otf file. Default: Noto Sans, and other free fonts for letters it lacks."""
    font_size: Annotated[float, AtLeast(1), STYLE] = 11.0
    """Type size in points."""
    line_height: Annotated[float | None, AtLeast(1), STYLE] = None
    """Points from line to line. Default: the type size plus 1."""
    page_size: Annotated[str, STYLE] = "a4"
    """a4, letter, or WIDTHxHEIGHT in points."""
    margins: Annotated[str, STYLE] = "10"
    """In points: one number, or SIDESxTOP_AND_BOTTOM."""
    crop: Annotated[Literal["both", "width", "last_page", "none"], STYLE] = "both"
    """White to cut away: to the right of each page's text, below the text of a document's last page."""
    remove_line_breaks: Annotated[Switch, STYLE] = False
    """Join each document into one paragraph."""
    max_pages: Annotated[int | None, AtLeast(1), STYLE] = None
    """Draw only the first N pages of a document."""
    legibility: Annotated[Switch, RUN] = False
    """Also report how many words an OCR reader recognises; `vqa-client legibility --limit N` reads a part."""
    workers: Annotated[Workers, RUN] = field(default_factory=usable_cpus)
    dry_run: Annotated[Switch, RUN] = False
    """Print the expected number of pages, megabytes and image tokens."""

    def __post_init__(self) -> None:
        check(self)
        if (self.data_json is None) == (self.pdf is None):
            many = "--data and --pdf can't be combined" if self.pdf else "--data or --pdf is missing"
            raise UsageError(many, hint="--data takes a data file or a folder of .txt files, --pdf PDF files")
        (width_pt, height_pt), (x_pt, y_pt) = self.page_size_pt, self.margins_pt
        least_pt = max(_LEAST_PT, 2 * self.font_size)
        if width_pt - 2 * x_pt < least_pt or height_pt - 2 * y_pt < least_pt:
            raise UsageError(
                f"--page_size {self.page_size} leaves no room for text of {self.font_size:g} points between "
                f"--margins {self.margins}",
                hint="give a larger page, smaller margins or a smaller --font_size",
            )
        if (megapixels := width_pt * height_pt * (self.dpi / 72) ** 2 / 1e6) > MOST_MEGAPIXELS:
            raise UsageError(
                f"--page_size {self.page_size} at --dpi {self.dpi} is {megapixels:,.0f} megapixels a page",
                hint=f"give a smaller --dpi: {MOST_MEGAPIXELS} megapixels are the most",
            )

    @property
    def page_size_pt(self) -> tuple[float, float]:
        """Width and height in points; raises UsageError."""
        return PAPERS_PT.get(self.page_size.lower()) or _pair("page_size", self.page_size, "a4, letter or 595x842")

    @property
    def margins_pt(self) -> tuple[float, float]:
        """The margins at the sides, and at top and bottom, in points; raises UsageError."""
        return _pair("margins", self.margins, "10 or 10x20", also=f"{self.margins}x{self.margins}")

    @property
    def line_height_pt(self) -> float:
        """The line height in points."""
        return self.font_size + 1 if self.line_height is None else self.line_height


def _pair(name: str, value: str, example: str, also: str = "") -> tuple[float, float]:
    match = _SIZE.fullmatch(value) or _SIZE.fullmatch(also)
    if not match:
        raise UsageError(f"--{name} is {value!r}; it must be like {example}")
    return float(match[1]), float(match[2])


SEED = 42
"""The published scripts' default."""
PERTURBATIONS = (
    "dpi:N, fontsize:N and upscale[:DPI] draw the text again; jpeg:QUALITY, webp:QUALITY, binary, "
    "noise[:gaussian|salt_and_pepper[:INTENSITY]], blur[:RADIUS] and resample:METHOD:SCALE change the clean pages. "
    "One or several."
)
_DryRun = Annotated[Switch, Parameter(help="Print what would be made; write nothing.")]
_PageFolders = Annotated[
    Several[Path], Parameter(help="Folders of pages, or a folder of such folders.", alias="-i", consume_multiple=True)
]
_DOCUMENTS = "The documents in LongBench-v2's form, or a folder of .txt files."


@dataclass(frozen=True, kw_only=True, slots=True)
class NeedlesSettings(CheckedSettings):
    """Settings of `vqa-client needles`."""

    data_json: Annotated[Path, _AS_DATA]
    """Documents in LongBench-v2's form (JSON)."""
    output: Annotated[Path, Parameter(alias="-o")]
    """The data file of the needle questions, such as niah/data.json."""
    num_secrets: Annotated[int, AtLeast(1)] = 5
    """Needles in each document, at even depths."""
    seed: int = SEED
    """Random seed; with a document's id it decides the secrets."""
    dry_run: _DryRun = False


@dataclass(frozen=True, kw_only=True, slots=True)
class PerturbSettings(CheckedSettings):
    """Settings of `vqa-client perturb`."""

    images: Annotated[Path, Parameter(alias="-i")]
    """The clean pages: a folder with images/*.png, or of such files."""
    output: Annotated[Path, Parameter(alias="-o")]
    """The folder that gets a folder adv_... for each perturbation."""
    perturbation: Annotated[Several[str], Parameter(help=PERTURBATIONS, alias="-p", consume_multiple=True)]
    data_json: Annotated[
        Path | None, Parameter(help=f"{_DOCUMENTS} Needed if pages are drawn again, and by --legibility."), _AS_DATA
    ] = None
    seed: int = SEED
    """Random seed; with a page's name it decides the noise."""
    legibility: Switch = False
    """Also report how much an OCR reader recognises of the clean and the perturbed pages."""
    limit: Annotated[int | None, AtLeast(0)] = None
    """--legibility reads the first N documents only."""
    workers: Workers = field(default_factory=usable_cpus)
    dry_run: _DryRun = False


@dataclass(frozen=True, kw_only=True, slots=True)
class PagesPreviewSettings(CheckedSettings):
    """Settings of `vqa-client pages-preview`."""

    images: _PageFolders
    output: Annotated[Path, Parameter(alias="-o")]
    """The contact sheet, a PNG."""
    page: Annotated[Several[str], Parameter(consume_multiple=True)] = ()
    """Pages by file name, or by its beginning. Default: some, evenly spread."""
    limit: Annotated[int, AtLeast(0)] = 3
    """How many pages to show if --page names none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LegibilitySettings(CheckedSettings):
    """Settings of `vqa-client legibility`."""

    images: _PageFolders
    data_json: Annotated[Path, Parameter(help=_DOCUMENTS), _AS_DATA]
    limit: Annotated[int | None, AtLeast(0)] = None
    """Read the first N documents only."""
    workers: Workers = field(default_factory=usable_cpus)
    json: Switch = False
    """Print JSON to standard output."""
