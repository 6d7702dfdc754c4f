"""Fourteen image corruptions at five levels. The same image, corruption, level and seed always give the same bytes.

This is true for one version of numpy, OpenCV and Pillow. On another kind of processor, rounding of floating-point sums
changes a few pixels of elastic and snow: at most 16 of 929,000 values were measured, by one grey level.
"""

from vqa_client.images.corruptions.codec import corrupt, image_seed, needs_extra
from vqa_client.images.corruptions.table import (
    CORRUPTIONS,
    FOURTEEN,
    PROFILES,
    Corruption,
    Profile,
    Variant,
    chosen,
    named,
)

__all__ = [
    "CORRUPTIONS",
    "FOURTEEN",
    "PROFILES",
    "Corruption",
    "Profile",
    "Variant",
    "chosen",
    "corrupt",
    "image_seed",
    "named",
    "needs_extra",
]
