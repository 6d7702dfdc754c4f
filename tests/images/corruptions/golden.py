"""What every corruption made of one drawing when it was last looked at; `python -m tests.images.corruptions.golden`."""

import hashlib
import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from tests.images.corruptions.drawings import drawn
from vqa_client.images.corruptions.codec import corrupt, image_seed
from vqa_client.images.corruptions.table import CORRUPTIONS, PROFILES, Profile

PATH = Path(__file__).with_name("golden.json")
DRAWING = "a drawing"  # in place of a file's digest
EXACT = frozenset(
    {
        *("gaussian_noise", "impulse_noise", "speckle_noise", "brightness", "contrast", "saturation"),
        *("grayscale", "grayscale_inverse"),
    }
)
"""Made by numpy one value at a time, or by integers: the same bytes on every machine."""


def described(pixels: Any, *, exact: bool) -> Any:
    """A digest, or the means of the three channels in six parts of the picture."""
    if exact:
        return hashlib.sha256(pixels.tobytes()).hexdigest()[:16]
    parts = cv2.resize(pixels.astype(np.float32), (3, 2), interpolation=cv2.INTER_AREA)
    return [round(float(value), 1) for value in parts.ravel()]


def is_exact(profile: Profile, name: str) -> bool:
    return name in EXACT or (profile, name) == ("vqa-vrb", "shot_noise")


def all_described() -> dict[str, Any]:
    constants = {
        f"{profile}/{name}/{level}: constants": np.ravel(row.ways[profile].levels[level - 1]).tolist()
        for profile in PROFILES
        for name, row in CORRUPTIONS.items()
        for level in row.levels(profile)
    }
    return constants | {
        f"{profile}/{name}/{level}": described(
            corrupt(drawn(), name, level, profile=profile, seed=image_seed(7, DRAWING, name, level)),
            exact=is_exact(profile, name),
        )
        for profile in PROFILES
        for name, row in CORRUPTIONS.items()
        for level in row.levels(profile)
    }


if __name__ == "__main__":
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in all_described().items())
    PATH.write_text(f"{{\n{lines}\n}}\n")
