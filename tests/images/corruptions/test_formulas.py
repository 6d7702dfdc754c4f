"""Each corruption against the formula that defines it."""

import math
from typing import Any

import cv2
import numpy as np
import pytest
import scipy
from PIL import Image

from tests.images.corruptions.drawings import drawn, flat
from vqa_client.images.corruptions.codec import corrupt, generator
from vqa_client.images.corruptions.formulas import disk_kernel
from vqa_client.images.corruptions.physical import motion_blur, motion_kernel
from vqa_client.images.corruptions.pixels import zoom_crop, zoomed
from vqa_client.images.corruptions.table import CORRUPTIONS

LEVELS = range(1, 6)
SEED = 11


def made(value: int, name: str, level: int, **options: Any) -> Any:
    return corrupt(flat(value), name, level, seed=SEED, **options).astype(float)


@pytest.mark.parametrize("level", LEVELS)
def test_gaussian_noise_has_its_sigma(level: int) -> None:
    sigma = 255 * (0.08, 0.12, 0.18, 0.26, 0.38)[level - 1]
    off = made(128, "gaussian_noise", level) - 128
    expected = np.clip(np.rint(128 + generator(0).normal(0, sigma, off.shape)), 0, 255) - 128
    assert off.std() == pytest.approx(expected.std(), rel=0.01)
    assert off.mean() == pytest.approx(expected.mean(), abs=0.6)
    assert np.abs(np.corrcoef(off.reshape(-1, 3).T) - np.eye(3)).max() < 0.02


@pytest.mark.parametrize("level", LEVELS)
def test_speckle_noise_grows_with_the_brightness(level: int) -> None:
    c = (0.15, 0.2, 0.35, 0.45, 0.6)[level - 1]
    assert made(60, "speckle_noise", level).std() == pytest.approx(
        np.clip(60 + 60 * generator(0).normal(0, c, 200_000), 0, 255).std(), rel=0.02
    )
    assert (made(0, "speckle_noise", level) == 0).all()


@pytest.mark.parametrize("level", LEVELS)
def test_the_benchmark_s_shot_noise_whitens_its_share_of_values(level: int) -> None:
    rate = (0.08, 0.2, 0.5, 0.8, 1.2)[level - 1]
    values = made(100, "shot_noise", level)
    assert set(np.unique(values)) == {100, 255}
    assert (values == 255).mean() == pytest.approx(1 - math.exp(-rate), abs=0.005)


@pytest.mark.parametrize("level", LEVELS)
def test_imagenet_c_s_shot_noise_counts_photons(level: int) -> None:
    photons = (60, 25, 12, 5, 3)[level - 1]
    values = made(64, "shot_noise", level, profile="imagenet-c")
    counts = values * photons / 255
    assert np.abs(counts - np.rint(counts)).max() <= photons / 255
    expected = np.clip(generator(0).poisson(64 / 255 * photons, 200_000) / photons, 0, 1) * 255
    assert values.mean() == pytest.approx(expected.mean(), rel=0.01)
    assert values.std() == pytest.approx(expected.std(), rel=0.02)


@pytest.mark.parametrize("level", LEVELS)
def test_impulse_noise_is_as_much_salt_as_pepper(level: int) -> None:
    amount = (0.03, 0.06, 0.09, 0.17, 0.27)[level - 1]
    values = made(100, "impulse_noise", level)
    assert (values == 255).mean() == pytest.approx(amount / 2, abs=0.003)
    assert (values == 0).mean() == pytest.approx(amount / 2, abs=0.003)
    assert set(np.unique(values)) == {0, 100, 255}


@pytest.mark.parametrize(("level", "light"), [(1, 1.0), (2, 1.0), (3, 1.0), (4, 1.013), (5, 1.011)])
def test_a_defocused_picture_keeps_its_light(level: int, light: float) -> None:
    radius, softness = CORRUPTIONS["defocus_blur"].ways["vqa-vrb"].levels[level - 1]
    kernel = disk_kernel(radius, softness)
    assert kernel.sum() == pytest.approx(light, abs=0.0005)
    assert (kernel >= 0).all()
    assert (kernel[kernel.shape[0] // 2] > 1e-4).sum() in (2 * radius + 1, 2 * radius + 3)


@pytest.mark.parametrize("level", LEVELS)
def test_zoom_blur_is_the_mean_of_enlargements(level: int) -> None:
    stop, step = CORRUPTIONS["zoom_blur"].ways["vqa-vrb"].levels[level - 1]
    picture = drawn(101, 76).astype(float)
    total, factors = picture.copy(), np.arange(1, stop, step)
    for zoom in factors:
        total += by_scipy(picture, zoom)
    assert np.abs(corrupt(drawn(101, 76), "zoom_blur", level, seed=0) - total / (len(factors) + 1)).max() <= 0.51


def by_scipy(picture: Any, zoom: float) -> Any:
    """The middle of the picture, enlarged to its size."""
    height, width = picture.shape[:2]
    rows, columns = zoom_crop(height, zoom), zoom_crop(width, zoom)
    top, left = (height - rows) // 2, (width - columns) // 2
    large = scipy.ndimage.zoom(picture[top : top + rows, left : left + columns], (zoom, zoom, 1), order=1)
    top, left = (large.shape[0] - height) // 2, (large.shape[1] - width) // 2
    return large[top : top + height, left : left + width]


@pytest.mark.parametrize("zoom", [1.0, 1.07, 2, 2.5, 3, 4, 4.5])
def test_an_enlargement_is_scipy_s(zoom: float) -> None:
    picture = drawn(53, 37).astype(np.float32)
    rows, columns = zoom_crop(37, zoom), zoom_crop(53, zoom)
    top, left = (37 - rows) // 2, (53 - columns) // 2
    ours = zoomed(picture[top : top + rows, left : left + columns], zoom, 37, 53)
    assert np.abs(ours - by_scipy(picture, zoom)).max() < 0.01


@pytest.mark.parametrize("angle", [-135.0, -100.3, -90.0, -71.2, -45.0, 0.0, 30.0, 180.0])
@pytest.mark.parametrize(("radius", "sigma"), [(10, 4), (12, 8), (12, 12)])
def test_motion_blur_adds_up_the_pixels_along_a_line(radius: int, sigma: float, angle: float) -> None:
    kernel, _ = motion_kernel(radius, sigma, angle)
    assert kernel.sum() == pytest.approx(1, abs=1e-12)
    grey = drawn(61, 43)[..., 0].copy()
    weights = [math.exp(-(i**2) / (2 * sigma**2)) for i in range(2 * radius + 1)]
    y, x = np.mgrid[0:43, 0:61]
    total = np.zeros(grey.shape)
    for i, weight in enumerate(weights):  # ImageMagick's motion blur, in its own order
        along_x = math.ceil(i * math.cos(math.radians(angle)) - 0.5)
        along_y = math.ceil(i * math.sin(math.radians(angle)) - 0.5)
        total += weight / sum(weights) * grey[np.clip(y + along_y, 0, 42), np.clip(x + along_x, 0, 60)]
    assert np.abs(motion_blur(grey, radius, sigma, angle) - total).max() <= 0.51


@pytest.mark.parametrize("level", LEVELS)
def test_elastic_is_an_affine_jolt_and_a_blurred_field(level: int) -> None:
    strength, sigma, jolt = CORRUPTIONS["elastic"].ways["vqa-vrb"].levels[level - 1]
    random, (height, width) = generator(SEED), (144, 180)
    picture = drawn(width, height).astype(np.float32)
    middle, reach = np.float32([height, width]) // 2, height // 3
    points = np.float32([middle + reach, [middle[0] + reach, middle[1] - reach], middle - reach])
    moved = points + random.uniform(-jolt, jolt, (3, 2)).astype(np.float32)
    jolted = cv2.warpAffine(
        picture, cv2.getAffineTransform(points, moved), (width, height), borderMode=cv2.BORDER_REFLECT_101
    )
    field_x, field_y = (
        scipy.ndimage.gaussian_filter(
            random.random((height, width), dtype=np.float32).astype(float) * 2 - 1, sigma, truncate=3
        )
        * strength
        for _ in "xy"
    )
    y, x = np.mgrid[0:height, 0:width]
    expected = np.stack(
        [
            scipy.ndimage.map_coordinates(jolted[..., c], (y + field_y, x + field_x), order=1, mode="reflect")
            for c in range(3)
        ],
        axis=2,
    )
    off = np.abs(corrupt(drawn(width, height), "elastic", level, seed=SEED) - expected)
    # Level 1's field, smooth over the whole picture, is made on a coarser grid.
    assert (off > 1).mean() < (0.02 if level == 1 else 1e-3)


@pytest.mark.parametrize("level", LEVELS)
def test_contrast_is_taken_around_each_channel_s_mean(level: int) -> None:
    kept = (0.4, 0.3, 0.2, 0.1, 0.05)[level - 1]
    means = drawn().mean(axis=(0, 1))
    expected = np.clip((drawn() - means) * kept + means, 0, 255)
    assert np.abs(corrupt(drawn(), "contrast", level, seed=0) - expected).max() <= 0.501


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["brightness", "saturation"])
def test_one_of_hue_saturation_and_value_changes(name: str, level: int) -> None:
    hsv = cv2.cvtColor(drawn().astype(np.float32) / 255, cv2.COLOR_RGB2HSV)
    if name == "brightness":
        hsv[..., 2] = np.clip(hsv[..., 2] + level / 10, 0, 1)
    else:
        factor, offset = ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2))[level - 1]
        hsv[..., 1] = np.clip(hsv[..., 1] * factor + offset, 0, 1)
    expected = cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB) * 255
    assert np.abs(corrupt(drawn(), name, level, seed=0) - expected).max() <= 0.51


@pytest.mark.parametrize("level", LEVELS)
def test_snow_and_spatter_cover_more_at_higher_levels(level: int) -> None:
    snowed = made(60, "snow", level).mean()
    least = (80, 85, 110, 115, 125)[level - 1]
    assert least < snowed < 215
    drops = (made(120, "spatter", level) != 120).any(axis=2).mean()
    assert (0.005, 0.01, 0.03, 0.05, 0.1)[level - 1] < drops < 0.6


def test_spatter_is_water_and_then_mud() -> None:
    wet, muddy = (made(90, "spatter", level) for level in (3, 5))
    assert (wet >= 90).all()
    assert (wet[..., 1] >= wet[..., 0]).all()
    assert ((muddy >= (63, 42, 20)) & (muddy <= 90)).all()
    assert (muddy < (70, 52, 34)).all(axis=2).mean() > 0.05


@pytest.mark.parametrize("level", LEVELS)
def test_pixelate_shrinks_by_area_or_shows_boxes(level: int) -> None:
    small, boxes = (
        corrupt(drawn(200, 100), "pixelate", level, profile=profile, seed=0) for profile in ("vqa-vrb", "imagenet-c")
    )
    scale = (0.6, 0.5, 0.4, 0.3, 0.15)[level - 1]
    assert small.shape == (int(100 * scale), int(200 * scale), 3)
    assert np.abs(small.mean(axis=(0, 1)) - drawn(200, 100).mean(axis=(0, 1))).max() < 1
    scale = (0.6, 0.5, 0.4, 0.3, 0.25)[level - 1]
    shrunk = Image.fromarray(drawn(200, 100)).resize((int(200 * scale), int(100 * scale)), Image.Resampling.BOX)
    assert (boxes == np.asarray(shrunk.resize((200, 100), Image.Resampling.BOX))).all()


@pytest.mark.parametrize("level", LEVELS)
def test_jpeg_is_what_another_library_makes_of_this_quality(level: int, tmp_path: Any) -> None:
    path = tmp_path / "picture.jpg"
    Image.fromarray(drawn()).save(path, quality=(25, 18, 15, 10, 7)[level - 1])
    with Image.open(path) as picture:
        assert np.abs(corrupt(drawn(), "jpeg_compression", level, seed=0).astype(int) - np.asarray(picture)).max() <= 1


def test_grayscale_is_the_luminance_and_its_negative() -> None:
    grey = corrupt(drawn(), "grayscale", 1, seed=0).astype(int)
    expected = drawn() @ np.array([0.299, 0.587, 0.114])
    assert np.abs(grey - expected[..., np.newaxis]).max() <= 0.51
    assert (corrupt(drawn(), "grayscale_inverse", 1, seed=0) == 255 - grey).all()
