"""Against the published code of these corruptions, where it is installed (`pip install imagecorruptions-imaug`).

It has a milder elastic, and its pixelate enlarges another way; these are compared with their formulas instead. Its
random numbers are replaced by ours where they can be, so that pixels can be compared.
"""

import warnings
from typing import Any

import numpy as np
import pytest

from tests.images.corruptions.drawings import drawn
from vqa_client.images.corruptions.codec import corrupt, generator
from vqa_client.images.corruptions.pixels import zoom_crop
from vqa_client.images.corruptions.table import CORRUPTIONS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    published: Any = pytest.importorskip("imagecorruptions", reason="needs imagecorruptions-imaug: the published code")

LEVELS = range(1, 6)
SEED = 20
THEIR_NAMES = {"saturation": "saturate"}
EXACT = ("brightness", "contrast", "saturation", "defocus_blur", "zoom_blur", "jpeg_compression")
PICTURE = drawn(180, 144)  # their snow has no leftover at the edges to cut off where all sizes of flakes fit in


def theirs(name: str, level: int) -> Any:
    return published.corrupt(PICTURE, level, THEIR_NAMES.get(name, name)).astype(float)


def ours(name: str, level: int) -> Any:
    return corrupt(PICTURE, name, level, profile="imagenet-c", seed=SEED).astype(float)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", EXACT)
def test_what_chance_has_no_part_in_is_the_same_within_a_grey_level(name: str, level: int) -> None:
    assert np.abs(ours(name, level) - theirs(name, level)).max() <= 1.001


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["gaussian_noise", "speckle_noise", "spatter"])
def test_normal_noise_goes_where_theirs_goes(name: str, level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = generator(SEED)

    def normal(loc: float = 0, scale: float = 1, size: Any = None) -> Any:
        return random.standard_normal(size, dtype=np.float32).astype(float) * scale + loc

    monkeypatch.setattr(np.random, "normal", normal)
    off = np.abs(ours(name, level) - theirs(name, level))
    # A drop's edge turns on a threshold: where the noise is a millionth off, a few pixels fall on its other side.
    assert (off > 1.001).mean() < (0.002 if name == "spatter" else 1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_snow_falls_as_theirs(level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = generator(SEED)
    zoom = CORRUPTIONS["snow"].ways["imagenet-c"].levels[level - 1][2]

    def normal(loc: float, scale: float, size: Any) -> Any:
        return _framed(random, size, zoom) * scale + loc

    monkeypatch.setattr(np.random, "normal", normal)
    monkeypatch.setattr(np.random, "uniform", random.uniform)
    off = np.abs(ours("snow", level) - theirs("snow", level))
    assert (off > 2).mean() < 0.002


def _framed(random: np.random.Generator, shape: tuple[int, int], zoom: float) -> Any:
    """The part that is shown, in a frame that is cut away."""
    whole = np.zeros(shape)
    rows, columns = (zoom_crop(length, zoom) for length in shape)
    top, left = (shape[0] - rows) // 2, (shape[1] - columns) // 2
    whole[top : top + rows, left : left + columns] = random.standard_normal((rows, columns), dtype=np.float32)
    return whole


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["shot_noise", "impulse_noise"])
def test_counts_have_the_same_distribution(name: str, level: int) -> None:
    np.random.seed(SEED)
    added, published_added = (np.sort((make(name, level) - PICTURE).ravel()) for make in (ours, theirs))
    assert np.abs(added - published_added).mean() < 1
