"""One image under every corruption at every level, as a run would send it."""

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vqa_client.errors import reading
from vqa_client.images.corruptions.codec import AppliedCorruption, corrupted, decoded, needs_extra
from vqa_client.images.corruptions.table import CORRUPTIONS, FOURTEEN, Profile
from vqa_client.plots.style import WIDTH_IN, figure, save, styled, titled
from vqa_client.tables.inside import open_image

if TYPE_CHECKING:
    from vqa_client.images.corruptions.pixels import Pixels

CONTACT_SHEET = "contact_sheet"
THUMB_PX = 240
GAP_PX = 6
LABEL_IN, HEAD_IN, EDGE_IN = 1.2, 0.3, 0.05
"""Room for the names of corruptions and levels."""
WHITE = 255
_LEVELS = range(6)


def contact_sheet(image: Path, folder: Path, *, profile: Profile, seed: int) -> list[Path]:
    """Draw the sheet and give its files; the image is corrupted at full size and then reduced.

    Raises DataError if the file can't be read, QuestionFailed if it is not an image, UsageError if a package is
    missing, OutputError if a file can't be written.
    """
    with reading(image, "give another --image"), open_image(str(image)) as file:
        data = file.read()
    needs_extra()
    with styled():
        sheet, tile = _sheet(data, profile=profile, seed=seed, path=str(image))
        height, width = sheet.shape[:2]
        shown_in = WIDTH_IN - LABEL_IN - EDGE_IN
        height_in = shown_in * height / width
        tall_in = height_in + HEAD_IN + EDGE_IN
        chart = figure(WIDTH_IN, tall_in)
        chart.set_layout_engine("none")
        panel = chart.add_axes((LABEL_IN / WIDTH_IN, EDGE_IN / tall_in, shown_in / WIDTH_IN, height_in / tall_in))
        panel.imshow(sheet, interpolation="none")
        panel.grid(False)
        panel.spines[:].set_visible(False)
        panel.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
        step_down, step_across = tile[0] + GAP_PX, tile[1] + GAP_PX
        panel.set_xticks([step_across * level + tile[1] / 2 for level in _LEVELS], ["clean", *map(str, _LEVELS[1:])])
        panel.set_yticks(
            [step_down * row + tile[0] / 2 for row in range(len(FOURTEEN))], [titled(name) for name in FOURTEEN]
        )
        return save(chart, folder, CONTACT_SHEET, dpi=round(width / shown_in))


def _sheet(data: bytes, *, profile: Profile, seed: int, path: str) -> tuple["Pixels", tuple[int, int]]:
    """The sheet, and the height and width of a tile in pixels."""
    import numpy as np

    pixels, digest = decoded(data, path), sha256(data).hexdigest()
    height, width = pixels.shape[:2]
    scale = THUMB_PX / max(height, width)
    tile = max(1, round(height * scale)), max(1, round(width * scale))
    down, across = len(FOURTEEN), len(_LEVELS)
    sheet = np.full((down * (tile[0] + GAP_PX) - GAP_PX, across * (tile[1] + GAP_PX) - GAP_PX, 3), WHITE, np.uint8)
    for row, name in enumerate(FOURTEEN):
        for level in (0, *CORRUPTIONS[name].levels(profile)):
            corruption = AppliedCorruption(name=name, level=level, profile=profile, seed=seed)
            image = corrupted(pixels, corruption, digest=digest, path=path)
            top, left = row * (tile[0] + GAP_PX), level * (tile[1] + GAP_PX)
            sheet[top : top + tile[0], left : left + tile[1]] = _resized(image, tile)
    return sheet, tile


def _resized(pixels: "Pixels", tile: tuple[int, int]) -> Any:
    """The picture at the size of a tile; one that a corruption made smaller is enlarged with visible pixels."""
    import numpy as np
    from PIL import Image

    height, width = tile
    way = Image.Resampling.LANCZOS if pixels.shape[0] > height else Image.Resampling.NEAREST
    return np.asarray(Image.fromarray(pixels).resize((width, height), way))
