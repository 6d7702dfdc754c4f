"""The rows: names, folders, classes and levels, and how people ask for them."""

import subprocess
import sys
from typing import Any

import cv2
import numpy as np
import pytest

from tests.images.corruptions.drawings import drawn
from vqa_client.errors import UsageError
from vqa_client.images.corruptions.codec import corrupt
from vqa_client.images.corruptions.table import CORRUPTIONS, FOURTEEN, PROFILES, Profile, chosen, milder_levels, named
from vqa_client.scoring.robustness import class_of

FOLDERS = (
    *("Shot-noise", "Gaussian-noise", "Impulse-noise", "Speckle-noise", "Defocus-blur", "Zoom-Blur", "Snow"),
    *("Brightness", "Contrast", "Saturation", "Elastic", "Spatter", "Pixelate", "JPEG-compression"),
)
UNLIKE = [
    (name, profile)
    for name in FOURTEEN
    for profile in PROFILES
    if profile == "vqa-vrb" or CORRUPTIONS[name].ways[profile] != CORRUPTIONS[name].ways["vqa-vrb"]
]
"""Every way of every corruption once."""


def test_there_are_fourteen_with_five_levels_and_the_benchmark_s_folders() -> None:
    assert tuple(CORRUPTIONS[name].folder for name in FOURTEEN) == FOLDERS
    assert all(list(CORRUPTIONS[name].levels(profile)) == [1, 2, 3, 4, 5] for name in FOURTEEN for profile in PROFILES)
    assert [row.folder_at(1) for name, row in CORRUPTIONS.items() if name not in FOURTEEN] == [
        "Grayscale",
        "Grayscale-Inverse",
    ]


def test_classes_are_those_that_reports_use() -> None:
    classes = [*["Noise"] * 4, *["Blur"] * 2, "Weather", *["Image Attribute"] * 3, *["Physical"] * 2, *["Digital"] * 2]
    assert [*map(class_of, CORRUPTIONS)] == [*classes, "Other", "Other"]


def test_the_profiles_differ_in_the_levels_of_two_and_in_how_two_round() -> None:
    both = [(name, row.ways["vqa-vrb"], row.ways["imagenet-c"]) for name, row in CORRUPTIONS.items()]
    assert [name for name, one, other in both if one.levels != other.levels] == ["shot_noise", "pixelate"]
    assert [name for name, one, other in both if one.levels == other.levels and one != other] == ["snow", "spatter"]


@pytest.mark.parametrize(("name", "profile"), UNLIKE)
def test_a_level_changes_a_picture_more_than_the_one_before_but_where_the_table_says_so(
    name: str, profile: Profile
) -> None:
    picture = drawn(480, 640)
    changed = [distance(picture, corrupt(picture, name, level, profile=profile, seed=4)) for level in range(1, 6)]
    milder = tuple(level for level in range(2, 6) if changed[level - 1] < 0.95 * changed[level - 2])
    assert milder == CORRUPTIONS[name].ways[profile].milder


def distance(picture: Any, made: Any) -> float:
    whole = cv2.resize(made, picture.shape[1::-1], interpolation=cv2.INTER_LINEAR).astype(float)
    return float(((picture - whole) ** 2).mean())


def test_levels_that_are_not_in_order_are_named_where_both_were_asked() -> None:
    asked = {"gaussian_noise": [1, 2, 3, 4, 5], "saturation": [2, 3], "elastic": [1, 3, 5], "own": [2, 3]}
    note = "published levels that are not in order of severity: saturation 3 is milder than 2"
    assert milder_levels(asked, "vqa-vrb") == [note]
    assert milder_levels({"pixelate": range(6)}, None) == []
    assert "pixelate 4 is milder than 3" in milder_levels({"pixelate": range(6)}, "imagenet-c")[0]


@pytest.mark.parametrize("spelling", ["Zoom-Blur", "zoom_blur", "ZOOM blur", " zoom-blur "])
def test_a_corruption_goes_by_any_usual_spelling(spelling: str) -> None:
    assert named(spelling).name == "zoom_blur"


def test_every_folder_s_name_leads_back_to_its_corruption() -> None:
    assert [named(row.folder) for row in CORRUPTIONS.values()] == list(CORRUPTIONS.values())


def test_choices_come_once_and_in_the_table_s_order() -> None:
    assert [one.folder for one in chosen("snow,Shot-noise, snow", "3,1-2,2")] == [
        *("Shot-noise_L1", "Shot-noise_L2", "Shot-noise_L3", "Snow_L1", "Snow_L2", "Snow_L3"),
    ]
    assert len(chosen("all", "1-5")) == 70
    assert [one.folder for one in chosen("all,grayscale", "4")][-2:] == ["JPEG-compression_L4", "Grayscale"]


@pytest.mark.parametrize("levels", ["0-5", "6", "5-1", "", "1-", "a", "1,,2", "-1", "1.5"])
def test_a_level_that_there_is_not_is_refused(levels: str) -> None:
    with pytest.raises(UsageError) as error:
        chosen("all", levels)
    assert str(error.value) == f"--levels is {levels!r}"
    assert error.value.hint == "levels go from 1 to 5, as in 1-5 or 1,3; level 0 is the original"


@pytest.mark.parametrize(
    ("names", "said", "hint"),
    [
        ("snw", "there is no corruption 'snw'", "did you mean snow?"),
        ("", "--corruptions is ''", f"all, or some of {', '.join(CORRUPTIONS)}"),
        ("frost", "there is no corruption 'frost'", f"one of {', '.join(CORRUPTIONS)}"),
    ],
)
def test_a_corruption_that_there_is_not_is_refused(names: str, said: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        chosen(names, "1-5")
    assert (str(error.value), error.value.hint) == (said, hint)


PIXELS = np.zeros((4, 4, 3), np.uint8)
NOT_MADE: list[tuple[Any, dict[str, Any], str, str]] = [
    (PIXELS, {"profile": "gif"}, "there is no profile 'gif'", f"one of {', '.join(PROFILES)}"),
    (PIXELS, {"level": 6}, "snow has no level 6", "give a level from 0 to 5"),
    (PIXELS[..., 0], {}, "pixels of shape (4, 4) and type uint8; they must be (H, W, 3) uint8", ""),
    (PIXELS[..., :2], {}, "pixels of shape (4, 4, 2) and type uint8; they must be (H, W, 3) uint8", ""),
    (PIXELS / 2, {}, "pixels of shape (4, 4, 3) and type float64; they must be (H, W, 3) uint8", ""),
]


@pytest.mark.parametrize(("pixels", "given", "said", "hint"), NOT_MADE)
def test_pixels_a_level_and_a_profile_that_can_not_be_are_named(
    pixels: Any, given: dict[str, Any], said: str, hint: str
) -> None:
    with pytest.raises(UsageError) as error:
        corrupt(pixels, "snow", **{"level": 1, "profile": PROFILES[0], "seed": 0, **given})
    assert (str(error.value), error.value.hint) == (said, hint)


def test_looking_at_the_table_takes_no_heavy_package() -> None:
    imports = "import sys, vqa_client.images.corruptions.codec"
    code = f"{imports}; print([m for m in ('numpy', 'cv2', 'PIL') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "[]"


SHEET = "contact_sheet(pathlib.Path(sys.executable), pathlib.Path('none'), profile='vqa-vrb', seed=0)"


@pytest.mark.parametrize(
    ("module", "call"),
    [("images.corruptions.codec", "needs_extra()"), ("plots.contact_sheet", SHEET)],
    ids=["run", "sheet"],
)
def test_a_missing_package_is_named_with_the_command_that_brings_it(module: str, call: str) -> None:
    code = (
        f"import sys, pathlib\nsys.modules['cv2'] = None\nfrom vqa_client.{module} import *\n"
        f"try:\n    {call}\nexcept Exception as error:\n    print(type(error).__name__, error, error.hint)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    said, hint = "UsageError corruptions need a package that is not installed: cv2 ", done.stdout.strip()
    assert hint.startswith(said)
    assert hint.endswith(" -m pip install 'vqa-client[robustness]'")
