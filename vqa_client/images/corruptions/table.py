"""The table of corruptions with their levels, and the choice from it."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, get_args

from msgspec import Struct

from vqa_client.errors import UsageError, did_you_mean
from vqa_client.images.corruptions import formulas, physical
from vqa_client.scoring.robustness import known_name

Profile = Literal["vqa-vrb", "imagenet-c"]
PROFILES: tuple[Profile, ...] = get_args(Profile)
"""Sets of constants: of the Visual Robustness Benchmark for VQA, or of ImageNet-C. Two rows differ; two more round
differently."""


class Way(Struct, frozen=True):
    """A function (pixels, constants, random) -> pixels, and its constants from level 1 on.

    `milder` are the published levels that change an image less than the level before.
    """

    function: Callable[..., Any]
    levels: tuple[Any, ...]
    milder: tuple[int, ...] = ()


class Corruption(Struct, frozen=True):
    """One row: the name, the name of its folder, and the functions."""

    name: str
    folder: str
    ways: dict[Profile, Way]

    def levels(self, profile: Profile = "vqa-vrb") -> range:
        """The levels, from 1; level 0 is the clean image."""
        return range(1, len(self.ways[profile].levels) + 1)

    def folder_at(self, level: int) -> str:
        """The folder's name at a level, such as "Snow_L3"; without a level if there is only one."""
        return f"{self.folder}_L{level}" if len(self.levels()) > 1 else self.folder


def _both(
    function: Callable[..., Any],
    *levels: Any,
    milder: tuple[int, ...] = (),
    imagenet_c: Callable[..., Any] | None = None,
) -> dict[Profile, Way]:
    """The same levels for both profiles; `imagenet_c` is the function if ImageNet-C's script rounds differently."""
    return {"vqa-vrb": Way(function, levels, milder), "imagenet-c": Way(imagenet_c or function, levels, milder)}


_ELASTIC = tuple(
    (244 * strength, 244 * sigma, 244 * jolt)
    for strength, sigma, jolt in (
        (2, 0.7, 0.1),
        (2, 0.08, 0.2),
        (0.05, 0.01, 0.02),
        (0.07, 0.01, 0.02),
        (0.12, 0.01, 0.02),
    )
)
_ROWS = (
    Corruption(
        "shot_noise",
        "Shot-noise",
        {
            "vqa-vrb": Way(formulas.shot_noise_added, (0.08, 0.2, 0.5, 0.8, 1.2)),
            "imagenet-c": Way(formulas.shot_noise, (60, 25, 12, 5, 3)),
        },
    ),
    Corruption("gaussian_noise", "Gaussian-noise", _both(formulas.gaussian_noise, 0.08, 0.12, 0.18, 0.26, 0.38)),
    Corruption("impulse_noise", "Impulse-noise", _both(formulas.impulse_noise, 0.03, 0.06, 0.09, 0.17, 0.27)),
    Corruption("speckle_noise", "Speckle-noise", _both(formulas.speckle_noise, 0.15, 0.2, 0.35, 0.45, 0.6)),
    Corruption(
        "defocus_blur",
        "Defocus-blur",
        _both(formulas.defocus_blur, (3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)),
    ),
    Corruption(
        "zoom_blur",
        "Zoom-Blur",
        _both(formulas.zoom_blur, (1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)),
    ),
    Corruption(
        "snow",
        "Snow",
        _both(
            physical.snow,
            (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
            (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
            (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
            (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
            (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
            imagenet_c=physical.snow_cut,
        ),
    ),
    Corruption("brightness", "Brightness", _both(formulas.brightness, 0.1, 0.2, 0.3, 0.4, 0.5)),
    Corruption("contrast", "Contrast", _both(formulas.contrast, 0.4, 0.3, 0.2, 0.1, 0.05)),
    Corruption(
        "saturation",
        "Saturation",
        _both(formulas.saturation, (0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2), milder=(3,)),
    ),
    Corruption("elastic", "Elastic", _both(physical.elastic, *_ELASTIC, milder=(3,))),
    Corruption(
        "spatter",
        "Spatter",
        _both(
            physical.spatter,
            (0.65, 0.3, 4, 0.69, 0.6, 0),
            (0.65, 0.3, 3, 0.68, 0.6, 0),
            (0.65, 0.3, 2, 0.68, 0.5, 0),
            (0.65, 0.3, 1, 0.65, 1.5, 1),
            (0.67, 0.4, 1, 0.65, 1.5, 1),
            imagenet_c=physical.spatter_cut,
        ),
    ),
    Corruption(
        "pixelate",
        "Pixelate",
        {
            "vqa-vrb": Way(formulas.pixelate_smaller, (0.6, 0.5, 0.4, 0.3, 0.15)),
            "imagenet-c": Way(formulas.pixelate, (0.6, 0.5, 0.4, 0.3, 0.25), milder=(4,)),
        },
    ),
    Corruption("jpeg_compression", "JPEG-compression", _both(formulas.jpeg_compression, 25, 18, 15, 10, 7)),
    Corruption("grayscale", "Grayscale", _both(formulas.grayscale, None)),
    Corruption("grayscale_inverse", "Grayscale-Inverse", _both(formulas.grayscale_inverse, None)),
)
CORRUPTIONS: dict[str, Corruption] = {row.name: row for row in _ROWS}
FOURTEEN: tuple[str, ...] = tuple(row.name for row in _ROWS if len(row.levels()) > 1)
"""The corruptions of the benchmark; the two grayscales, which have one level, are made only if named."""


def named(name: str) -> Corruption:
    """Find a corruption in any usual spelling or by its folder's name; raises UsageError that suggests the nearest."""
    key = known_name(name)
    if key in CORRUPTIONS:
        return CORRUPTIONS[key]
    hint = did_you_mean(key, CORRUPTIONS) or f"one of {', '.join(CORRUPTIONS)}"
    raise UsageError(f"there is no corruption {name!r}", hint=hint)


def milder_levels(asked: Mapping[str, Collection[int]], profile: str | None) -> list[str]:
    """A note that names the levels that are not in order of severity; empty if all are."""
    milder = [
        f"{name} {level} is milder than {level - 1}"
        for name, levels in asked.items()
        if name in CORRUPTIONS
        for level in CORRUPTIONS[name].ways["imagenet-c" if profile == "imagenet-c" else "vqa-vrb"].milder
        if {level - 1, level} <= set(levels)
    ]
    return [f"published levels that are not in order of severity: {', '.join(milder)}"] if milder else []


_LEVELS = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_MOST = 5


class Variant(Struct, frozen=True, kw_only=True):
    """A corruption at a level, and the folder of its pictures."""

    name: str
    level: int
    folder: str


def chosen(corruptions: str, levels: str) -> tuple[Variant, ...]:
    """Return every named corruption at every named level, each once, in the order of the table.

    "all" means the fourteen with five levels. A corruption with one level, such as grayscale, ignores `levels`.
    Raises UsageError for an unknown name or level.
    """
    wanted_levels = numbers(levels)
    names = {part.strip() for part in corruptions.split(",") if part.strip()}
    chosen_names = {named(name).name for name in names - {"all"}} | {name for name in FOURTEEN if "all" in names}
    if not chosen_names:
        raise UsageError(f"--corruptions is {corruptions!r}", hint=f"all, or some of {', '.join(CORRUPTIONS)}")
    return tuple(
        Variant(name=name, level=level, folder=row.folder_at(level))
        for name, row in CORRUPTIONS.items()
        if name in chosen_names
        for level in (wanted_levels if len(row.levels()) > 1 else (1,))
    )


def numbers(text: str, *, least: int = 1) -> tuple[int, ...]:
    """Read levels such as "1-5" or "1,3"; raises UsageError."""
    levels: set[int] = set()
    for part in text.split(","):
        bounds = _LEVELS.fullmatch(part.strip())
        first, last = (int(bounds[1]), int(bounds[2] or bounds[1])) if bounds else (-1, -1)
        if not least <= first <= last <= _MOST:
            raise UsageError(
                f"--levels is {text!r}",
                hint=f"levels go from {least} to {_MOST}, as in {least}-5 or 1,3; level 0 is the original",
            )
        levels.update(range(first, last + 1))
    return tuple(sorted(levels))
