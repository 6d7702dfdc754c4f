"""The perturbations of pages, and the functions that change their pixels."""

import difflib
import io
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from vqa_client.errors import UsageError, did_you_mean
from vqa_client.shipped import importing

if TYPE_CHECKING:
    from PIL import Image as PillowImage

    Pixels = PillowImage.Image


Value = int | float | str
Damage = Callable[["Pixels", Mapping[str, Value], bytes], "Pixels"]
RESAMPLING = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")
NOISES = ("gaussian", "salt_and_pepper")


class Perturbation(Struct, frozen=True, kw_only=True):
    """One perturbation with its values; `folder` is the published name of its folder."""

    kind: str
    values: Mapping[str, Value]
    folder: str

    @property
    def spec(self) -> str:
        """Its text with every value, such as `noise:gaussian:0.1`."""
        return ":".join((self.kind, *map(_shorten, self.values.values())))

    @property
    def by_rendering(self) -> bool:
        """Whether its pages are drawn again from the text."""
        return _KINDS[self.kind].damage is None

    @property
    def by_chance(self) -> bool:
        """Whether it depends on the seed."""
        return _KINDS[self.kind].by_chance


class _Number(Struct, frozen=True, kw_only=True):
    name: str
    low: float
    high: float
    whole: bool = False
    default: Value | None = None

    @property
    def wanted(self) -> str:
        return f"a {'whole ' if self.whole else ''}number from {_shorten(self.low)} to {_shorten(self.high)}"

    def read(self, word: str) -> Value | None:
        try:
            value = int(word) if self.whole else float(word)
        except ValueError:
            return None
        return value if self.low <= value <= self.high else None


class _Choice(Struct, frozen=True, kw_only=True):
    name: str
    choices: tuple[str, ...]
    default: Value | None = None

    @property
    def wanted(self) -> str:
        return f"one of {', '.join(self.choices)}"

    def read(self, word: str) -> Value | None:
        return word if word in self.choices else None


_Parameter = _Number | _Choice


class _Kind(Struct, frozen=True):
    """The parts of a perturbation's text, and its function on pixels; None if the text is drawn again."""

    parameters: tuple[_Parameter, ...]
    damage: "Damage | None" = None
    by_chance: bool = False


HELP = "dpi:N, fontsize:N, upscale[:DPI], jpeg:Q, webp:Q, binary, noise[:TYPE[:INTENSITY]], blur[:RADIUS] or \
resample:METHOD:SCALE"


def parse(text: str) -> Perturbation:
    """Read `jpeg:10`, `noise:gaussian:0.2`, `blur`; raises UsageError that suggests the nearest or lists all."""
    kind, *words = text.strip().split(":")
    if kind not in _KINDS:
        raise UsageError(f"--perturbation {text!r} is unknown", hint=_nearest(kind))
    parameters = _KINDS[kind].parameters
    if len(words) > len(parameters):
        raise UsageError(f"--perturbation {text!r} has too many values", hint=f"write {_form(kind)}")
    defaults = [parameter.default for parameter in parameters]
    values = [*(_read(text, *pair) for pair in zip(parameters, words, strict=False)), *defaults[len(words) :]]
    missing = next((p for p, value in zip(parameters, values, strict=True) if value is None), None)
    if missing:
        raise UsageError(f"--perturbation {text!r} needs a {missing.name}", hint=f"{missing.name}: {missing.wanted}")
    by_name = {p.name: value for p, value in zip(parameters, values, strict=True) if value is not None}
    suffix = "" if values == defaults else "".join(f"_{_shorten(value)}" for value in by_name.values())
    return Perturbation(kind=kind, values=by_name, folder=f"adv_{kind}{suffix}")


def parse_all(texts: tuple[str, ...]) -> tuple[Perturbation, ...]:
    """Read several; a repeated one is made once."""
    by_folder = {perturbation.folder: perturbation for perturbation in map(parse, texts)}
    return tuple(by_folder.values())


def _read(text: str, parameter: _Parameter, word: str) -> Value:
    value = parameter.read(word)
    if value is None:
        hint = did_you_mean(word, parameter.choices, cutoff=0.4) if isinstance(parameter, _Choice) else ""
        raise UsageError(
            f"--perturbation {text!r}: the {parameter.name} is {word!r}; it must be {parameter.wanted}", hint=hint
        )
    return value


def _nearest(kind: str) -> str:
    near = difflib.get_close_matches(kind, _KINDS, cutoff=0.4)
    return (f"did you mean {_form(near[0])}? " if near else "") + f"it may be {HELP}"


def _form(kind: str) -> str:
    return ":".join((kind, *(parameter.name.upper() for parameter in _KINDS[kind].parameters)))


def _shorten(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}"


THRESHOLD = 128
GAUSSIAN_SPAN = 128
"""The sigma of gaussian noise is this times the intensity."""


def perturbed(pixels: "Pixels", perturbation: Perturbation, digest: bytes) -> "Pixels":
    """Perturb the pixels of a page, grey or RGB with 8 bits.

    `digest` (a multiple of 4 bytes) is the random seed: the same digest gives the same noise.
    Raises UsageError if numpy is missing (noise).
    """
    damage = _KINDS[perturbation.kind].damage
    assert damage, f"{perturbation.spec} is drawn from the text"
    return damage(pixels, perturbation.values, digest)


def _reencoding(kind: str) -> "Damage":
    def reencoded(pixels: "Pixels", values: Mapping[str, Value], digest: bytes) -> "Pixels":
        from PIL import Image

        buffer = io.BytesIO()
        pixels.save(buffer, kind, quality=int(values["quality"]))
        return Image.open(buffer).convert(pixels.mode)  # WebP decodes grey pages to RGB with equal channels

    return reencoded


def _binary(pixels: "Pixels", values: Mapping[str, Value], digest: bytes) -> "Pixels":
    return pixels.convert("L").point([255 * (grey > THRESHOLD) for grey in range(256)], "1")


def _noise(pixels: "Pixels", values: Mapping[str, Value], digest: bytes) -> "Pixels":
    with importing("render", "noise needs numpy"):
        import numpy as np
    from PIL import Image

    # Not default_rng: numpy promises only for RandomState that its numbers stay the same in every version.
    chance = np.random.RandomState(np.frombuffer(digest, np.uint32))
    page, intensity = np.asarray(pixels), float(values["intensity"])
    if values["noise_type"] == "gaussian":
        noisy = page + np.rint(chance.standard_normal(page.shape) * (intensity * GAUSSIAN_SPAN))
        return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))
    drawn = chance.random_sample(page.shape[:2])
    salted = page.copy()
    salted[drawn < intensity / 2] = 0
    salted[drawn >= 1 - intensity / 2] = 255
    return Image.fromarray(salted)


def _blur(pixels: "Pixels", values: Mapping[str, Value], digest: bytes) -> "Pixels":
    from PIL import ImageFilter

    return pixels.filter(ImageFilter.GaussianBlur(float(values["radius"])))


def _resample(pixels: "Pixels", values: Mapping[str, Value], digest: bytes) -> "Pixels":
    from PIL import Image

    method = Image.Resampling[str(values["method"]).upper()]
    width, height = (max(1, math.floor(side * float(values["scale"]))) for side in pixels.size)
    return pixels.resize((width, height), method).resize(pixels.size, method)


def _upscale(pixels: "Pixels", values: Mapping[str, Value], digest: bytes) -> "Pixels":
    from PIL import Image

    scale = float(values["to_dpi"]) / float(values["dpi"])
    width, height = (math.floor(side * scale) for side in pixels.size)
    return pixels.resize((width, height), Image.Resampling.BILINEAR)


_QUALITY = _Number(name="quality", low=1, high=100, whole=True)
_KINDS: dict[str, _Kind] = {
    "dpi": _Kind((_Number(name="dpi", low=8, high=1200, whole=True),)),
    "fontsize": _Kind((_Number(name="font_size", low=2, high=200, whole=True),)),
    "upscale": _Kind((_Number(name="dpi", low=8, high=1200, whole=True, default=48),), _upscale),
    "jpeg": _Kind((_QUALITY,), _reencoding("JPEG")),
    "webp": _Kind((_QUALITY,), _reencoding("WEBP")),
    "binary": _Kind((), _binary),
    "noise": _Kind(
        (
            _Choice(name="noise_type", choices=NOISES, default="gaussian"),
            _Number(name="intensity", low=0.001, high=1, default=0.1),
        ),
        _noise,
        by_chance=True,
    ),
    "blur": _Kind((_Number(name="radius", low=0.01, high=100, default=1.25),), _blur),
    "resample": _Kind(
        (_Choice(name="method", choices=RESAMPLING), _Number(name="scale", low=0.01, high=0.99)), _resample
    ),
}
