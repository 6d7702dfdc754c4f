"""The style of all figures: how models look, fonts for print, and files with the same bytes each time."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from vqa_client.errors import UsageError
from vqa_client.files import replacing
from vqa_client.shipped import install

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG_DPI = 220
WIDTH_IN = 7.2
"""The width of text on a page."""
NAME_CHARACTERS = 34
CHARACTER_IN = 0.078
"""The width of a letter in a legend."""
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#E69F00", "#56B4E9", "#7A4B9A")
"""Okabe and Ito's colours, distinct for any colour vision; violet replaces their yellow, which is faint on white."""
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES: tuple[Any, ...] = ("-", "--", "-.", (0, (4, 1, 1, 1, 1, 1)), (0, (6, 2)), (0, (1, 1)), (0, (3, 1)), (0, (8, 1)))
_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "oooo", "----")
_SETTINGS: Any = {
    "font.family": "DejaVu Sans",  # part of matplotlib, so the same everywhere
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.labelsize": 8.5,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.2,
    "hatch.linewidth": 0.7,
    "svg.hashsalt": "vqa-client",  # else ids differ from run to run
    "svg.fonttype": "path",
    "axes.unicode_minus": True,
    "text.parse_math": False,  # a name is not a formula
}


class NothingToDraw(Exception):
    """Why a figure would be empty."""


class Look(Struct, frozen=True, kw_only=True):
    """How one model is drawn in every figure: it differs from others in shape and in colour."""

    colour: str
    marker: str
    line: Any
    hatch: str


def look(number: int) -> Look:
    """The look of a model by its place in the pool; the ninth has the first one's colour and another marker."""
    return Look(
        colour=_COLOURS[number % len(_COLOURS)],
        marker=_MARKERS[(number + number // len(_MARKERS)) % len(_MARKERS)],
        line=_LINES[(number + number // len(_LINES)) % len(_LINES)],
        hatch=_HATCHES[(number + number // len(_HATCHES)) % len(_HATCHES)],
    )


def needs_extra() -> None:
    """Raise UsageError if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise UsageError(f"figures need a package that is not installed: {error.name}", hint=install("plots")) from None


@contextmanager
def styled() -> Iterator[None]:
    """Draw with our settings, and restore the caller's; raises UsageError without matplotlib."""
    needs_extra()
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a box replaces it in a model's name
        yield


def figure(width_in: float, height_in: float) -> "Figure":
    """An empty figure, without a window or global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in, height_in), layout="constrained")


def panels(chart: "Figure", number: int, across: int, **options: Any) -> list[Any]:
    """The first panels of a grid with `across` columns; the others in its last row are hidden."""
    every = chart.subplots(-(-number // across), across, squeeze=False, **options).flat
    for panel in every[number:]:
        panel.set_visible(False)
    return list(every[:number])


def save(chart: "Figure", folder: Path, name: str, *, dpi: int = PNG_DPI) -> list[Path]:
    """Write NAME.png and NAME.svg, the same bytes each time; raises OutputError if one can't be written."""
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    metadata: list[dict[str, str | None]] = [{"Software": None}, {"Date": None, "Creator": "vqa-client"}]
    for path, entries in zip(paths, metadata, strict=True):
        with replacing(path) as file:
            chart.savefig(file, format=path.suffix[1:], dpi=dpi, metadata=entries)
    return paths


def shown(name: str, most: int = NAME_CHARACTERS) -> str:
    """The name of a model or question type, cut to the room in a figure."""
    plain = "".join(character if character.isprintable() else "?" for character in name)
    if len(plain) > most:
        half = (most - 3) // 2
        plain = f"{plain[:half]} … {plain[-half:]}"
    return f" {plain}" if plain.startswith("_") else plain  # legends leave out names that begin with "_"


def titled(corruption: str) -> str:
    """A corruption's name for people."""
    return corruption.replace("_", " ").replace("jpeg", "JPEG").capitalize().replace("Jpeg", "JPEG")


def model_lines(models: Iterable[str]) -> tuple[list[Any], list[str]]:
    """The legend's lines of models, and their names."""
    from matplotlib.lines import Line2D

    names = list(map(shown, models))
    styles = [look(number) for number in range(len(names))]
    handles = [Line2D([], [], color=style.colour, marker=style.marker, linestyle=style.line) for style in styles]
    return handles, names


def legend_below(chart: "Figure", handles: Sequence[Any], names: Sequence[str]) -> None:
    """One legend below all panels, in as many columns as fit."""
    column_in = 0.55 + CHARACTER_IN * max(map(len, names))
    columns = max(1, min(len(names), int(chart.get_figwidth() / column_in)))
    chart.legend(handles, names, loc="outside lower center", ncols=columns, frameon=False, handlelength=3.2)
